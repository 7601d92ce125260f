"""Which names are allowed, and how the ids that we make are made."""

import hashlib
import os
import re
import unicodedata

from varvite.errors import InvalidIdError

SESSION_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
STREAM = re.compile(r"[a-z][a-z0-9_]{0,63}")
RECORD_ID_BYTES_MAX = 256
_DIGEST_CHARS = 16
_UID_BYTES = 16


def session_id(text: str) -> str:
    """Return `text` if it may name a session (and so a directory)."""
    if not SESSION_ID.fullmatch(text):
        raise InvalidIdError(
            f"{text[:80]!r} cannot name a session",
            hint="1 to 64 of a-z, 0-9, _ and -, starting with a letter or digit; titles are data",
        )
    return text


def stream(text: str) -> str:
    if not STREAM.fullmatch(text):
        raise InvalidIdError(
            f"{text[:80]!r} cannot name a stream",
            hint="1 to 64 of a-z, 0-9 and _, the first a letter",
        )
    return text


def record_id(text: str) -> str:
    """Return `text` if it may identify a record: NFC, printable, at most 256 bytes of UTF-8."""
    short = 0 < len(text) <= RECORD_ID_BYTES_MAX
    if short and text.isascii() and text.isprintable():
        return text
    if not (short and text.isprintable() and unicodedata.is_normalized("NFC", text)):
        raise InvalidIdError(f"{text[:80]!r} cannot identify a record", hint="NFC, printable")
    if len(text.encode()) > RECORD_ID_BYTES_MAX:
        raise InvalidIdError(f"{text[:80]!r} is over {RECORD_ID_BYTES_MAX} bytes long")
    return text


def derived(prefix: str, *key: str) -> str:
    """An id that is a function of its key, so that a replay makes the same one."""
    digest = hashlib.sha256("\x1f".join(key).encode()).hexdigest()
    return f"{prefix}_{digest[:_DIGEST_CHARS]}"


def uid() -> str:
    """A new random identity: 32 hex digits."""
    return os.urandom(_UID_BYTES).hex()
