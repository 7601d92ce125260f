"""Seeded stores of any size, made once below a temporary folder and copied for each use."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import varvite
from varvite.bench.seeding import copy
from varvite.store import Store
from varvite.testing import growing

SESSION = "history"
GROW: dict[str, Callable[[Store, str, int], None]] = {
    "graph": growing.graph,
    "experiment": growing.experiment,
    "revised": growing.revised,
    "opposed": growing.opposed,
}


def default_folder() -> str:
    return os.path.join(tempfile.gettempdir(), "varvite-benchmarks")


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure: histories in records, rounds a case, and where the stores lie."""

    sizes: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    rounds: int = 31
    folder: str = field(default_factory=default_folder)

    @property
    def rounds_few(self) -> int:
        """For calls of a good fraction of a second."""
        return max(1, self.rounds // 3)


def seeded(plan: Plan, kind: str, records: int, *, compacted: bool = False) -> str:
    """The path of a store whose one session has this history; it must not be changed."""
    path = os.path.join(plan.folder, f"{kind}-{records}{'-compacted' * compacted}")
    if not os.path.isdir(path):
        with scratch(plan) as folder:
            made = f"{folder}/store"
            if compacted:
                copy(seeded(plan, kind, records), made)
                varvite.open(made).compact()
            else:
                GROW[kind](varvite.open(made), SESSION, records)
            with suppress(OSError):  # another run was faster
                os.rename(made, path)
    return path


def forget(plan: Plan) -> None:
    """Remove the seeded stores; what other runs have copied of them stays theirs."""
    for name in os.listdir(plan.folder) if os.path.isdir(plan.folder) else ():
        if name.split("-")[0] in GROW:
            shutil.rmtree(os.path.join(plan.folder, name))


@contextmanager
def copied(plan: Plan, kind: str, records: int, *, compacted: bool = False) -> Iterator[str]:
    """A copy of a seeded store, for the length of the block."""
    source = seeded(plan, kind, records, compacted=compacted)
    with scratch(plan) as folder:
        copy(source, f"{folder}/store")
        yield f"{folder}/store"


@contextmanager
def scratch(plan: Plan) -> Iterator[str]:
    os.makedirs(plan.folder, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=plan.folder, prefix="scratch-") as folder:
        yield folder
