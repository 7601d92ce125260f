"""METRIC lines in the output of a benchmark, as pi-autoresearch, Fusion or this project read them.

pi and fusion are those tools' own readings, character for character: JavaScript's white
space, line ends and numbers. union, the default, takes what either of them takes, save for
numbers that are no decimals, and warns of each METRIC line that it cannot read.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

Flavour = Literal["pi", "fusion", "union"]
DENIED = frozenset({"__proto__", "constructor", "prototype"})
WARNINGS_MAX = 100
_SHOWN_CHARS = 80

_SPACE = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_SPACES = _SPACE.replace("\u2000-\u200a", "".join(map(chr, range(0x2000, 0x200B))))
_END = "\n\r\u2028\u2029"
_MICRO, _MU = "\u00b5", "\u03bc"

_DECIMAL = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_JS_DECIMAL = re.compile(rf"[+-]?{_DECIMAL}")
_JS_RADIX = re.compile(r"0(?:[xX][0-9a-fA-F]+|[bB][01]+|[oO][0-7]+)")
_RADIX = {"x": 16, "b": 2, "o": 8}

_PI = re.compile(
    rf"(?<![^{_END}])METRIC[{_SPACE}]+([A-Za-z0-9_.{_MICRO}]+)=([^{_SPACE}]+)[{_SPACE}]*(?![^{_END}])"
)
_FUSION_HEAD = rf"METRIC[{_SPACE}]+([A-Za-z_][A-Za-z0-9_.-]*)[{_SPACE}]*=[{_SPACE}]*"
_FUSION = re.compile(
    rf"{_FUSION_HEAD}(-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)[{_SPACE}]*(?:\(([^)]+)\))?"
)
_FUSION_LOOSE = re.compile(rf"{_FUSION_HEAD}([^{_SPACE}(]+)[^{_END}]*")
_UNION = re.compile(
    rf"METRIC[{_SPACE}]+([A-Za-z0-9_.{_MICRO}{_MU}][A-Za-z0-9_.{_MICRO}{_MU}-]*)[{_SPACE}]*="
    rf"[{_SPACE}]*([+-]?{_DECIMAL})[{_SPACE}]*(?:\(([^()]+)\))?"
)
_UNION_LOOSE = re.compile(rf"METRIC[{_SPACE}]")


@dataclass(slots=True)
class Reading:
    """Metrics by name in the order of first appearance, each with its last value; all finite.

    units: those that a line named in parentheses. warnings: at most WARNINGS_MAX.
    """

    metrics: dict[str, float] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def put(self, name: str, value: float | None, raw: str, unit: str | None) -> None:
        if name in DENIED:
            self.warn(f"Ignored denylisted metric name: {name}")
        elif value is None:
            self.refuse(name, raw)
        else:
            self.metrics[name] = value
            self._put_unit(name, (unit or "").strip(_SPACES))

    def refuse(self, name: str, raw: str) -> None:
        self.warn(f"Ignored non-finite metric value for {name}: {raw[:_SHOWN_CHARS]}")

    def _put_unit(self, name: str, unit: str) -> None:
        self.units.pop(name, None)
        if unit:
            self.units[name] = unit

    def warn(self, text: str) -> None:
        if len(self.warnings) < WARNINGS_MAX:
            self.warnings.append(text)


def parse(text: str, flavour: Flavour = "union") -> Reading:
    """The metrics that a benchmark printed. Linear in the text."""
    reading = Reading()
    _FLAVOURS[flavour](text, reading)
    return reading


def js_number(text: str) -> float | None:
    """What JavaScript's Number makes of a text without white space; None unless finite."""
    if _JS_DECIMAL.fullmatch(text):
        return _finite(float(text))
    if not _JS_RADIX.fullmatch(text):
        return None
    try:
        return float(int(text[2:], _RADIX[text[1].lower()]))
    except OverflowError:
        return None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _read_pi(text: str, reading: Reading) -> None:
    for name, raw in _PI.findall(text):
        value = js_number(raw)
        if name not in DENIED and value is not None:
            reading.metrics[name] = value


def _read_fusion(text: str, reading: Reading) -> None:
    for line in re.split(r"\r?\n", text):
        trimmed = line.strip(_SPACES)
        if match := _FUSION.fullmatch(trimmed):
            name, raw, unit = match.groups()
            reading.put(name, js_number(raw), raw, unit)
        elif (match := _FUSION_LOOSE.fullmatch(trimmed)) and js_number(match[2]) is None:
            reading.refuse(match[1], match[2])


def _read_union(text: str, reading: Reading) -> None:
    for line in re.split(rf"[{_END}]", text):
        trimmed = line.strip(_SPACES)
        if match := _UNION.fullmatch(trimmed):
            name, raw, unit = match.groups()
            reading.put(name.replace(_MU, _MICRO), js_number(raw), raw, unit)
        elif _UNION_LOOSE.match(trimmed):
            reading.warn(f"Not read: {trimmed[:_SHOWN_CHARS]}")


_FLAVOURS: dict[Flavour, Callable[[str, Reading], None]] = {
    "pi": _read_pi,
    "fusion": _read_fusion,
    "union": _read_union,
}
