"""A whole run: histories of several sizes are laid down, every operation is measured on each."""

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from varvite.bench import history, measuring, operations, seeding
from varvite.bench.figures import Figure
from varvite.bench.growth import Growth, judge
from varvite.bench.machine import Machine, machine
from varvite.bench.operations import Operation
from varvite.bench.seeding import Progress
from varvite.clock import now
from varvite.disk.files import Files, Folder, remove_all
from varvite.disk.lock import Lock

SEEDS, WORK = "seeds", "work"
ROUNDS = 11
SIZES = (10_000, 100_000, 1_000_000)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure. folder: where seeds, work and results lie. keep: the seeds stay there.

    only: of the continuation, by name; then nothing that may read history is measured.
    """

    folder: str
    sizes: Sequence[int] = SIZES
    rounds: int = ROUNDS
    keep: bool = False
    only: Sequence[str] = ()
    continuation: Sequence[Operation] = field(default_factory=lambda: operations.CONTINUATION)


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run found. at: when it began, UTC. load: of the machine, before it and after.

    left_out: operations that could not be done here, and why.
    """

    at: str
    sizes: tuple[int, ...]
    rounds: int
    seconds: float
    load: tuple[float, float]
    machine: Machine
    figures: tuple[Figure, ...]
    growths: tuple[Growth, ...]
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def flat(self) -> bool:
        """Whether no continuation's bytes, files and keys grew with the history."""
        return not any(one.failed for one in self.growths)


def run(plan: Plan, *, progress: Progress | None = None) -> Measured:
    """Measure. Goes on from the seeds that a run before has kept, or was cut short with.

    Raises:
        SessionLockedError: another run is at work in the folder.
    """
    at, began, load = now(), time.monotonic(), os.getloadavg()[0]
    sizes = tuple(sorted(set(plan.sizes)))
    left_out: dict[str, str] = {}
    with _copies(plan.folder, sizes, progress) as stores:
        figures = tuple(_figures(plan, stores, left_out, progress))
        described = machine(plan.folder)
    if not plan.keep:
        shutil.rmtree(os.path.join(plan.folder, SEEDS))
    return Measured(
        at,
        sizes,
        plan.rounds,
        time.monotonic() - began,
        (load, os.getloadavg()[0]),
        described,
        figures,
        tuple(judge(figures)),
        left_out,
    )


def _figures(
    plan: Plan, stores: dict[int, str], left_out: dict[str, str], progress: Progress | None
) -> list[Figure]:
    """History is compacted first, as a long one is; then continuation goes on from there."""
    if plan.only:
        chosen = [one for one in plan.continuation if one.name in plan.only]
        return [*measuring.measure(chosen, stores, plan.rounds, progress=progress)]
    few = max(1, plan.rounds // 3)
    compacted = [*history.compacting(stores, progress=progress)]
    asked = [*history.asking(stores, few)]
    jobs = [*history.checkpointing(stores, left_out, progress=progress)]
    going_on = [*measuring.measure(plan.continuation, stores, plan.rounds, progress=progress)]
    return [*going_on, *compacted, *asked, *jobs]


@contextmanager
def _copies(
    folder: str, sizes: Sequence[int], progress: Progress | None
) -> Iterator[dict[int, str]]:
    """A copy of each size's store, which may be changed; what a killed run left goes first."""
    seeds, work = os.path.join(folder, SEEDS), os.path.join(folder, WORK)
    with _alone(folder):
        remove_all(work)
        os.mkdir(work)
        try:
            copies = {size: os.path.join(work, str(size)) for size in sizes}
            for size, path in copies.items():
                seeding.copy(seeding.seeded(seeds, size, progress=progress), path)
            yield copies
        finally:
            shutil.rmtree(work)


@contextmanager
def _alone(folder: str) -> Iterator[None]:
    """The folder's lock.

    Raises:
        SessionLockedError: another run is at work there.
    """
    os.makedirs(os.path.join(folder, SEEDS), exist_ok=True)
    with Folder(Files(), folder) as held:
        lock = Lock.acquire(held, what=folder)
        try:
            yield
        finally:
            lock.release()
