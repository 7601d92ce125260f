"""Text from records, made harmless for a terminal: it may come from anywhere."""

import re

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movements
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|$)"  # OSC and kin
    r"|\x1b[ -/]*[0-~]"
)
_BLANK = re.compile(r"[\t\n\v\f\r\x1c-\x1f\x85\u2028\u2029]+")
_CONTROL = re.compile(rf"[\x00-\x1f\x7f-\x9f{_BIDI}]")
_JSON_ESCAPED = re.compile(rf"[\x7f-\x9f{_BIDI}\u2028\u2029]")


def plain(text: str) -> str:
    """One line without control characters, escape sequences and marks that turn direction."""
    return _CONTROL.sub("", _BLANK.sub(" ", _ESCAPE.sub("", text)))


def escape_json(text: str) -> str:
    r"""The same JSON with what could move a cursor or turn direction as \uXXXX."""
    return _JSON_ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
