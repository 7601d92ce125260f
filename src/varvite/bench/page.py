"""The page of plots: cost against history, both axes logarithmic, nothing from any network.

A decade is as wide as it is high, so a line at 45 degrees is cost in proportion to history.
"""

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from jinja2 import Environment, PackageLoader

from varvite.bench import results
from varvite.bench.growth import Growth
from varvite.bench.running import Measured

FILE = "report.html"
DECADE = 70
"""Pixels."""

DECADES_MIN = 2
_SHOWN = {"seconds": "ms", "bytes_read_outside": "bytes read"}
_UNITS = {"seconds": 1e3}
_POWERS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

Points = list[tuple[float, float]]


class Tick(NamedTuple):
    """A decade's line. at: pixels."""

    at: float
    label: str


class Line(NamedTuple):
    """kind: cost, floor, allowed or proportional. Points are in pixels."""

    kind: str
    points: Points
    labels: list[str]

    @property
    def path(self) -> str:
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in self.points)


@dataclass(frozen=True, slots=True)
class Plot:
    title: str
    width: float
    height: float
    across: list[Tick]
    upward: list[Tick]
    lines: list[Line]


@dataclass(frozen=True, slots=True)
class Panel:
    """One operation. verdict: flat, grows, or that it may read history."""

    operation: str
    verdict: str
    plots: list[Plot]


def write(measured: Measured, folder: str) -> str:
    """Write the page into the folder; its path."""
    file = os.path.join(folder, FILE)
    with open(file, "w", encoding="utf-8") as stream:
        stream.write(html(measured))
    return file


def html(measured: Measured) -> str:
    templates = Environment(loader=PackageLoader("varvite.bench", "."), autoescape=True)
    columns = results.columns(measured, None)
    rows = [[row.get(name) for name in columns] for row in results.rows(measured)]
    values = {"panels": list(panels(measured)), "columns": columns, "rows": rows}
    return templates.get_template("page.html.j2").render(measured=measured, **values)


def panels(measured: Measured) -> Iterator[Panel]:
    for operation, group in groupby(measured.growths, key=lambda one: one.operation):
        by_name = {one.what: one for one in group}
        judged = [one for one in by_name.values() if one.decides]
        verdict = "grows" if any(one.failed for one in judged) else "flat"
        floors = {"seconds": _floor(by_name)}
        plots = [plot(by_name[name], floors.get(name, {})) for name in _SHOWN]
        yield Panel(operation, verdict if judged else "may read history", plots)


def _floor(by_name: dict[str, Growth]) -> dict[int, float]:
    seconds, ratio = by_name["seconds"].by_records, by_name.get("ratio")
    return {size: seconds[size] / each for size, each in ratio.by_records.items()} if ratio else {}


def plot(growth: Growth, floor: dict[int, float]) -> Plot:
    """The cost, its floor, how far it may rise, and where it would if it grew with the history."""
    factor = _UNITS.get(growth.what, 1)
    costs = {size: value * factor for size, value in growth.by_records.items() if value > 0}
    floors = {size: value * factor for size, value in floor.items() if value > 0}
    most = _most(growth)
    left, right = _decades(list(costs) or [1], 1)
    shown = [*costs.values(), *floors.values(), *most.values()]
    low, high = _decades(shown or [1], DECADES_MIN)
    place = _Place(left, high, DECADE)
    others = {"floor": floors, "allowed": most}
    lines = [place.line(kind, values) for kind, values in others.items() if values]
    return Plot(
        _SHOWN[growth.what],
        (right - left) * DECADE,
        (high - low) * DECADE,
        [Tick((n - left) * DECADE, _power(n)) for n in range(left, right + 1)],
        [Tick((high - n) * DECADE, _power(n)) for n in range(low, high + 1)],
        [*_proportional(place, costs, right), *lines, place.line("cost", costs)],
    )


def _most(growth: Growth) -> dict[int, float]:
    """The smallest history's cost with all that it may grow by, on every history."""
    first = next(iter(growth.by_records.values()), 0)
    if not growth.decides or growth.allowed is None or not first:
        return {}
    return dict.fromkeys(growth.by_records, first + growth.allowed)


def _proportional(place: "_Place", costs: dict[int, float], right: int) -> list[Line]:
    """From the smallest history's cost at 45 degrees, up to the end of the plot."""
    if not costs:
        return []
    size, cost = next(iter(costs.items()))
    x, y = place.point(size, cost)
    length = min(right * DECADE - math.log10(size) * DECADE, y)
    return [Line("proportional", [(x, y), (x + length, y - length)], [])]


class _Place(NamedTuple):
    """Where a value lies: the decades at the left and at the top, and pixels a decade."""

    left: int
    top: int
    decade: int

    def point(self, size: float, cost: float) -> tuple[float, float]:
        x, y = math.log10(size) - self.left, self.top - math.log10(cost)
        return x * self.decade, y * self.decade

    def line(self, kind: str, costs: dict[int, float]) -> Line:
        points = [self.point(size, cost) for size, cost in costs.items()]
        return Line(kind, points, [_short(cost) for cost in costs.values()])


def _decades(values: Sequence[float], least: int) -> tuple[int, int]:
    low = math.floor(math.log10(min(values)))
    return low, max(math.ceil(math.log10(max(values))), low + least)


def _short(number: float) -> str:
    """Three digits, and k, M or G."""
    for unit in ("", "k", "M"):
        if number < 999.5:  # noqa: PLR2004  (what three digits show as 1000)
            return f"{number:.3g}{unit}"
        number /= 1000
    return f"{number:.3g}G"


def _power(number: int) -> str:
    return f"10{str(number).translate(_POWERS)}"
