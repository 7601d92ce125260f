"""What a fresh process costs, resuming or listing, against `python -c pass`."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

from benchmarks import seeding
from benchmarks.measuring import Case, Ran, interleaved, run
from benchmarks.rows import Row
from benchmarks.seeding import SESSION, Plan

BATCH = 100
RESUME_MS = 400
_RESUME = """
import sys, varvite
records = [{"type": "hook", "payload": {"step": number, "notes": "x" * 200}}
           for number in range(int(sys.argv[3]))]
with varvite.open(sys.argv[1]).experiment(sys.argv[2]) as session:
    session.append_records(records)
"""


class _Process:
    """A command, and the largest memory that it was seen to take."""

    def __init__(self, *command: str) -> None:
        self._command = [sys.executable, *command]
        self.peak = 0

    def __call__(self, _: object = None) -> Ran:
        ran = run(self._command)
        self.peak = max(self.peak, ran.peak)
        return ran


def rows(plan: Plan) -> Iterator[Row]:
    with ExitStack() as stack:
        yield from _resumes(plan, stack)
        yield from _commands(plan, stack)


def _resumes(plan: Plan, stack: ExitStack) -> Iterator[Row]:
    stores = {
        records: stack.enter_context(seeding.copied(plan, "experiment", records))
        for records in plan.sizes
    }
    resumes = {
        str(records): _Process("-c", _RESUME, store, SESSION, str(BATCH))
        for records, store in stores.items()
    }
    yield from _against_python(
        plan, resumes, lambda name: f"fresh process appends {BATCH}", int, RESUME_MS
    )


def _commands(plan: Plan, stack: ExitStack) -> Iterator[Row]:
    records = max(plan.sizes)
    store = stack.enter_context(seeding.copied(plan, "graph", records))
    commands: dict[str, Sequence[str]] = {
        "varvite --help": ("--help",),
        "varvite sessions": ("sessions", "--store", store),
        "varvite graph status": ("graph", "status", SESSION, "--store", store),
    }
    processes = {name: _Process("-m", "varvite.cli", *given) for name, given in commands.items()}
    yield from _against_python(plan, processes, lambda name: name, lambda _: records, None)


def _against_python(
    plan: Plan,
    processes: dict[str, _Process],
    what: Callable[[str], str],
    records: Callable[[str], int],
    target_ms: float | None,
) -> Iterator[Row]:
    cases = [Case("pass", _Process("-c", "pass"))]
    cases += [Case(name, process) for name, process in processes.items()]
    spent = interleaved(cases, plan.rounds_few)
    base = spent["pass"]
    for name, process in processes.items():
        target = None if target_ms is None else 1 + target_ms / 1e3 / base.wall_s
        over = spent[name].wall_s - base.wall_s
        facts = {"ms over python": over * 1e3, "MB peak": process.peak / 1e6}
        yield Row(
            what(name), records(name), spent[name], "python -c pass", base, target, facts=facts
        )
