"""Appending plain records and runs, against the floor and against Fusion's SQLite schema."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from typing import Any

import varvite
from benchmarks import seeding
from benchmarks.floor import Floor, last_block, noise
from benchmarks.fusion import Fusion
from benchmarks.measuring import Case, interleaved
from benchmarks.rows import Row
from benchmarks.seeding import SESSION, Plan
from varvite.experiment.session import ExperimentSession
from varvite.testing import growing

BATCH = 100
TARGETS = {1: 1.6, BATCH: 2.6}
FUSION_TARGET = 5.0
_seeds = count(1_000)


def hooks(size: int) -> list[dict[str, Any]]:
    """Plain records: validated, numbered, and nothing is computed from them."""
    payload = {"stage": "after", "ok": True, "notes": "x" * 200}
    return [{"type": "hook", "payload": payload | {"step": number}} for number in range(size)]


def runs(size: int) -> list[dict[str, Any]]:
    return list(growing.runs(next(_seeds), size))


def rows(plan: Plan) -> Iterator[Row]:
    for records in plan.sizes:
        with seeding.copied(plan, "experiment", records) as store:
            with varvite.open(store).experiment(SESSION) as session:
                for size in TARGETS:
                    yield _against_floor(plan, session, store, records, "plain", hooks, size)
                yield _against_floor(plan, session, store, records, "runs", runs, BATCH)
            yield from _against_fusion(plan, store, records)


def _against_floor(
    plan: Plan,
    session: ExperimentSession,
    store: str,
    records: int,
    what: str,
    make: Callable[[int], list[dict[str, Any]]],
    size: int,
) -> Row:
    session.append_records(make(size))
    block = last_block(f"{store}/{SESSION}")
    with Floor(store) as floor:
        case = Case("append", session.append_records, lambda: make(size))
        spent = interleaved([case, *floor.cases(lambda: block)], plan.rounds)
    io = session.append_records(make(size)).io
    return Row(
        f"append {size} {what}",
        records,
        spent["append"],
        "floor",
        spent["floor"],
        TARGETS[size] if what == "plain" else None,
        noise=noise(spent),
        facts={"KB": len(block) / 1e3, "syncs": io["syncs"], "reads": io["reads"]},
    )


def _against_fusion(plan: Plan, store: str, records: int) -> Iterator[Row]:
    with ExitStack() as stack:
        session = stack.enter_context(varvite.open(store).experiment(SESSION))
        full = _fusion(stack, f"{store}/fusion.db", records)
        cases = [
            Case("append", session.append_records, lambda: runs(BATCH)),
            Case("fusion", full.append, lambda: runs(BATCH)),
        ]
        spent = interleaved(cases, plan.rounds)
    what = f"append {BATCH} runs, times faster"
    ours, theirs = spent["append"], spent["fusion"]
    yield Row(what, records, ours, "Fusion FULL", theirs, FUSION_TARGET, at_least=True)


def _fusion(stack: ExitStack, file: str, records: int) -> Fusion:
    fusion = Fusion(file)
    stack.callback(fusion.close)
    for batch in growing.batches(growing.runs(1, records), growing.RECORDS_PER_BATCH):
        fusion.append(batch)
    return fusion
