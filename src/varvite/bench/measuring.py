"""Operations measured side by side on histories of several sizes, which take turns."""

import gc
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import count

from varvite.bench import floor
from varvite.bench.counting import Counts, counted
from varvite.bench.figures import Figure, Rounds
from varvite.bench.floor import Floor
from varvite.bench.operations import Operation, Place
from varvite.bench.seeding import Progress
from varvite.bench.watched import Watched
from varvite.session.index import FOLDER as INDEX

WARM_UP = 1
_numbers = count(1)


def measure(
    operations: Sequence[Operation],
    stores: Mapping[int, str],
    rounds: int,
    *,
    progress: Progress | None = None,
) -> Iterator[Figure]:
    """Each operation on each store (by its records, changed by it), each size once a round."""
    steps = len(operations) * (WARM_UP + rounds)
    with ExitStack() as stack:
        floors = {
            size: stack.enter_context(Floor(os.path.dirname(path))) for size, path in stores.items()
        }
        for position, operation in enumerate(operations):
            found = {size: Rounds() for size in stores}
            for number in range(WARM_UP + rounds):
                _round(operation, stores, floors, found, number)
                if progress:
                    progress("measure", position * (WARM_UP + rounds) + number + 1, steps)
            for size, each in found.items():
                yield each.figure(operation.name, size, floor=floor.NAME)


def _round(
    operation: Operation,
    stores: Mapping[int, str],
    floors: Mapping[int, Floor],
    found: Mapping[int, Rounds],
    number: int,
) -> None:
    with _no_collection():
        for size in turned(list(stores), number):
            counts = once(operation, stores[size])
            if number >= WARM_UP:
                _take(found[size], counts, floors[size])


def _take(found: Rounds, counts: Counts, beside: Floor) -> None:
    found.counts.append(counts)
    if counts.bytes_written:
        found.floor_s.append(beside.seconds(counts.bytes_written))


def once(operation: Operation, path: str) -> Counts:
    """One call's cost, made ready for and counted."""
    place = Place.at(path, next(_numbers))
    with operation.ready(place) as call:
        return watched(place, call)


def watched(place: Place, call: Callable[[], object]) -> Counts:
    """A call's cost, with the files that anything opened meanwhile."""
    with Watched(place.path) as watching:
        counts = counted(place.store.files, call)
        opened = watching.opened()
    index = {file for file in opened if f"/{INDEX}/" in file}
    return replace(counts, files_touched=len(opened - index), index_files=len(index))


def turned(sizes: list[int], number: int) -> list[int]:
    """The sizes in an order that begins with another one in each round."""
    at = number % len(sizes)
    return [*sizes[at:], *sizes[:at]]


@contextmanager
def _no_collection() -> Iterator[None]:
    """What was made before is not walked during the call."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
