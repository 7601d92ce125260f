"""An experiment session of any length against pi's reading of a log of the same runs."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import varvite
from benchmarks import pi_reading, seeding
from benchmarks.measuring import Case, interleaved
from benchmarks.rows import Row
from benchmarks.seeding import SESSION, Plan
from varvite.experiment.session import ExperimentSession
from varvite.store import Store
from varvite.testing import growing

RUN = {"type": "run", "status": "discard", "metric": 901.5, "description": "One more run"}
HOOK = {"type": "hook", "payload": {"stage": "after", "exit_code": 0}}
PI_RUN = {"run": 1, "status": "discard", "metric": 901.5, "description": "One more run"}
PI_HOOK = {"type": "hook", "stage": "after", "exit_code": 0}


def rows(plan: Plan) -> Iterator[Row]:
    for records in plan.sizes:
        with seeding.copied(plan, "experiment", records) as folder:
            log = Path(folder) / "log.jsonl"
            pi_reading.write(log, list(growing.runs(1, records - 1)))
            yield from _rows(plan, varvite.open(folder), log, records)


def _rows(plan: Plan, store: Store, log: Path, records: int) -> Iterator[Row]:
    pairs: list[tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = [
        ("resume", lambda _: _opened(store, _brief), lambda _: pi_reading.resume(log)),
        ("append a run", lambda _: _opened(store, _run), lambda _: _pi_run(log)),
        ("append a hook", lambda _: _opened(store, _hook), lambda _: _pi_hook(log)),
        ("brief", lambda _: _opened(store, _brief), lambda _: pi_reading.brief(log)),
    ]
    for what, ours, theirs in pairs:
        cases = [Case(what, ours), Case("pi", theirs)]
        spent = interleaved(cases, plan.rounds_few, warm_up=1)
        before = store.files.io.copy()
        ours(None)
        read = store.files.io.since(before)["bytes_read"]
        facts = {"KB read": read / 1e3, "KB of log": log.stat().st_size / 1e3}
        yield Row(
            f"{what}, opening it, times faster",
            records,
            spent[what],
            "pi's reading",
            spent["pi"],
            at_least=True,
            facts=facts,
        )


def _opened(store: Store, step: Callable[[ExperimentSession], Any]) -> Any:
    with store.experiment(SESSION) as session:
        return step(session)


def _brief(session: ExperimentSession) -> dict[str, Any]:
    return session.brief()


def _run(session: ExperimentSession) -> Any:
    return session.append_record(RUN)


def _hook(session: ExperimentSession) -> Any:
    return session.append_record(HOOK)


def _pi_run(log: Path) -> None:
    """A new process of pi's knows the run's number from its log alone."""
    number = len(pi_reading.resume(log)["runs"]) + 1
    pi_reading.append(log, PI_RUN | {"run": number})


def _pi_hook(log: Path) -> None:
    pi_reading.append_hook(log, PI_HOOK)
