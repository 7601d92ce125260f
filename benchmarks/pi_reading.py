"""How pi-autoresearch reads its log: whole, each time that it needs to know anything of it.

A plain reading by the same rules: resume parses every line and rebuilds the state; an
append of a hook's line looks for a config line first, from the beginning.
"""

import json
from pathlib import Path
from typing import Any


def resume(log: Path) -> dict[str, Any]:
    """The state after all lines: segments, runs, baseline, and the best of the last segment."""
    state: dict[str, Any] = {"segment": 0, "runs": [], "higher": False}
    for entry in _entries(log):
        if entry.get("type") == "config":
            state["segment"] += 1 if state["runs"] else 0
            state["higher"] = entry.get("bestDirection") == "higher"
        elif isinstance(entry.get("run"), int | float):
            state["runs"].append(entry | {"segment": state["segment"]})
    of_segment = [run for run in state["runs"] if run["segment"] == state["segment"]]
    kept = [run["metric"] for run in of_segment if run["status"] == "keep"]
    state["baseline"] = of_segment[0]["metric"] if of_segment else None
    state["best"] = (max if state["higher"] else min)(kept, default=None)
    return state


def append_hook(log: Path, entry: dict[str, Any]) -> None:
    if any(one.get("type") == "config" for one in list(_entries(log))):
        append(log, entry)


def append(log: Path, entry: dict[str, Any]) -> None:
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def brief(log: Path) -> list[dict[str, Any]]:
    """What is told after a compaction: the last 50 runs."""
    runs: list[dict[str, Any]] = resume(log)["runs"]
    return runs[-50:]


def _entries(log: Path) -> list[dict[str, Any]]:
    lines = log.read_text(encoding="utf-8").split("\n")
    found = []
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            found.append(entry)
    return found


def line_of(number: int, run: dict[str, Any]) -> dict[str, Any]:
    """A run as pi writes it, of a record as `append_records` takes it."""
    return {
        "run": number,
        "commit": run["commit"],
        "metric": run["metric"] or 0,
        "metrics": run["metrics"],
        "status": run["status"],
        "description": run["description"],
        "timestamp": 1_767_225_600_000 + number,
        "segment": 0,
        "confidence": None,
        "asi": run["payload"]["asi"],
    }


def write(log: Path, runs: list[dict[str, Any]]) -> None:
    config = {"type": "config", "name": "n", "metricName": "total_ms", "bestDirection": "lower"}
    made = [config, *(line_of(number, run) for number, run in enumerate(runs, 1))]
    log.write_text("".join(json.dumps(one) + "\n" for one in made), encoding="utf-8")
