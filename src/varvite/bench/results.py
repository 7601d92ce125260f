"""A run's results: as JSON, as a record of an experiment session, as rows, against earlier ones."""

import json
import os
from collections.abc import Iterator
from typing import Any

from varvite.bench import figures, growth
from varvite.bench.growth import Growth
from varvite.bench.running import Measured
from varvite.errors import MalformedInputError
from varvite.experiment.session import Metric
from varvite.store import Store

FORMAT = 1
FILE = "results.json"
STORE, SESSION = "results", "bench"
METRIC = Metric("growth", "of the allowed", "minimize")
"""The largest growth of what decides, as a share of what is allowed: flat up to 1."""

SHOWN = {
    "seconds": ("ms", 1e3),
    "noise": ("noise, %", 100),
    "ratio": ("times the floor", 1),
    "bytes_read": ("bytes read", 1),
    "bytes_read_outside": ("bytes read, outside", 1),
    "files_opened": ("files opened", 1),
    "files_touched": ("files opened, outside", 1),
    "keys": ("index keys", 1),
    "index_files": ("index files", 1),
    "bytes_written": ("bytes written", 1),
}
"""What the table shows of each operation: its name there, and the factor."""

DIGITS = 3


def document(measured: Measured) -> dict[str, Any]:
    """All that a run found, for JSON."""
    kept = ("at", "rounds", "seconds", "flat", "left_out")
    return (
        {"format": FORMAT}
        | {name: getattr(measured, name) for name in kept}
        | {
            "sizes": list(measured.sizes),
            "load": list(measured.load),
            "machine": measured.machine.as_dict(),
            "figures": [figures.as_dict(one) for one in measured.figures],
            "growth": [growth.as_dict(one) for one in measured.growths],
        }
    )


def write(measured: Measured, folder: str) -> str:
    """Write the results into the folder, and add them to its session; the JSON file's path."""
    file = os.path.join(folder, FILE)
    with open(file, "w", encoding="utf-8") as stream:
        json.dump(document(measured), stream, indent=1)
        stream.write("\n")
    record(measured, folder)
    return file


def read(file: str) -> dict[str, Any]:
    """An earlier run's document.

    Raises:
        MalformedInputError: it is none.
    """
    with open(file, "rb") as stream:
        data = stream.read()
    try:
        found = json.loads(data)
        if found["format"] == FORMAT:
            return dict(found)
    except (ValueError, KeyError, TypeError):
        pass
    raise MalformedInputError(f"{file} holds no results of format {FORMAT}", file=file)


def record(measured: Measured, folder: str) -> str:
    """Add the run to the experiment session that holds them all; the store's path."""
    store = Store(os.path.join(folder, STORE))
    with store.experiment(SESSION, metric=METRIC, create=not store.exists(SESSION)) as session:
        session.append_record(_run(measured))
    return store.path


def _run(measured: Measured) -> dict[str, Any]:
    whole = document(measured)
    sizes = ", ".join(f"{size:,}" for size in measured.sizes)
    return {
        "type": "run",
        "status": "keep" if measured.flat else "discard",
        "metric": max((one.share for one in measured.growths), default=0),
        "metrics": dict(_metrics(measured)),
        "description": f"histories of {sizes} records",
        "payload": {name: whole[name] for name in ("at", "rounds", "load", "machine", "growth")},
    }


def _metrics(measured: Measured) -> Iterator[tuple[str, float]]:
    for one in measured.figures:
        yield f"{one.operation}/{one.records}/seconds", one.seconds
        for name, value in one.counts.items():
            yield f"{one.operation}/{one.records}/{name}", value


def columns(measured: Measured, old: dict[str, Any] | None) -> list[str]:
    sizes = [f"{size:,}" for size in measured.sizes]
    compared = ["than before"] if old else []
    return ["operation", "what", *sizes, "slope", "grown", "allowed", "verdict", *compared]


def rows(measured: Measured, old: dict[str, Any] | None = None) -> Iterator[dict[str, Any]]:
    """The table: a row a cost of an operation, a column a history.

    than before: how many times what `old` had on the largest history of both.
    """
    known = old["growth"] if old else []
    before = {(one["operation"], one["what"]): one["by_records"] for one in known}
    for one in measured.growths:
        if one.what in SHOWN:
            yield _row(one) | {"than before": _than(before, one)}


def _row(one: Growth) -> dict[str, Any]:
    name, factor = SHOWN[one.what]
    by_size = {f"{size:,}": _rounded(value * factor) for size, value in one.by_records.items()}
    return {
        "operation": one.operation,
        "what": name,
        **by_size,
        "slope": None if one.slope is None else round(one.slope, 2),
        "grown": _rounded(one.grown * factor),
        "allowed": _rounded(one.allowed) if one.decides and one.allowed is not None else None,
        "verdict": ("grows" if one.failed else "flat") if one.decides else None,
    }


def _rounded(value: float) -> float:
    return int(value) if value == int(value) else float(f"{value:.{DIGITS}g}")


def _than(before: dict[tuple[str, str], dict[str, float]], one: Growth) -> float | None:
    old = before.get((one.operation, one.what), {})
    both = [size for size in one.by_records if old.get(str(size))]
    return _rounded(one.by_records[max(both)] / old[str(max(both))]) if both else None
