"""The demo's experiment: ways to sort, really timed, kept or discarded."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from varvite.cli.answer import Answer
from varvite.cli.demo import sorts
from varvite.cli.demo.folder import EXPERIMENT
from varvite.cli.demo.stage import Stage
from varvite.experiment.session import ExperimentSession, Metric
from varvite.store import Store

METRIC = Metric("total_ms", "ms", "minimize")
TITLE = f"Sample experiment: sorting {sorts.SIZE} numbers"
_PREFIX = f"METRIC {METRIC.name}="
_COLUMNS = ("ordinal", "description", "status", METRIC.name)


def measure(stage: Stage, store: Store, seed: int) -> None:
    """Try each way in a process of its own; keep what beats the best so far."""
    rows = []
    with store.experiment(EXPERIMENT, metric=METRIC, create=True, title=TITLE) as session:
        for number, record in enumerate(_tried(session, seed), 1):
            session.append_record(record)
            shown = {"ordinal": number, METRIC.name: record["metric"]}
            rows.append(record | shown)
        best = session.best()
    stage.show(Answer.many(rows, _COLUMNS))
    if best:
        stage.say(f"best: run {best.ordinal} with {best.metric} ms, from the index, no log read")


def _tried(session: ExperimentSession, seed: int) -> Iterator[dict[str, Any]]:
    for way in sorts.WAYS:
        metric = _timed(way, seed)
        yield {
            "type": "run",
            "description": f"{way} sort",
            "metric": metric,
            "status": _judged(session, metric),
        }


def _timed(way: str, seed: int) -> float | None:
    command = [sys.executable, "-I", sorts.__file__, way, str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    found = [line for line in done.stdout.splitlines() if line.startswith(_PREFIX)]
    return float(found[0].removeprefix(_PREFIX)) if found and not done.returncode else None


def _judged(session: ExperimentSession, metric: float | None) -> str:
    if metric is None:
        return "checks_failed"
    best = session.best()
    better = best is None or best.metric is None or metric < best.metric
    return "keep" if better else "discard"
