"""What continues a session: each operation gets a store ready, then hands out its call."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import orjson

from varvite.bench.counting import Counts
from varvite.bench.hits import hits
from varvite.bench.seeding import SESSION
from varvite.disk.files import Files, Folder
from varvite.graph import payloads
from varvite.graph.payloads import Payload
from varvite.session.reader import Reader
from varvite.store import Store

HITS = 100
HITS_POLLED = 2
"""Few, so that what a poll reads differs by the digits of a few numbers."""

Call = Callable[[], object]


class Place(NamedTuple):
    """A store that may be changed, and the number that makes this round's input new."""

    path: str
    number: int
    store: Store

    @classmethod
    def at(cls, path: str, number: int) -> "Place":
        """With a count of its own of what goes through `Files`."""
        return cls(path, number, Store(path, files=Files()))

    def payload(self, size: int = HITS) -> Payload:
        nodes = os.path.join(self.path, SESSION, "nodes.jsonl")
        name = f"bench_{self.number}.json"
        return payloads.from_hits(hits(nodes, self.number, size), query="bench", file=name)


@dataclass(frozen=True, slots=True)
class Operation:
    """ready: what is done before the call and after it, which is not measured."""

    name: str
    ready: Callable[[Place], AbstractContextManager[Call]]


@contextmanager
def _open(place: Place) -> Iterator[Call]:
    yield lambda: place.store.graph(SESSION).close()


@contextmanager
def _submit(place: Place) -> Iterator[Call]:
    with place.store.graph(SESSION) as session:
        payload = place.payload()
        yield lambda: session.submit([payload])


@contextmanager
def _resume(place: Place) -> Iterator[Call]:
    """A process that has only just begun opens, submits and ends; it counts for itself."""
    payload = place.payload()
    given = orjson.dumps({"path": place.path, "raw": payload.raw, "file": payload.file})
    command = [sys.executable, "-m", "varvite.bench.resuming"]

    def call() -> Counts:
        done = subprocess.run(command, input=given, check=True, stdout=subprocess.PIPE)  # noqa: S603
        return Counts(**orjson.loads(done.stdout))

    yield call


@contextmanager
def _list(place: Place) -> Iterator[Call]:
    yield place.store.sessions


@contextmanager
def _poll(place: Place) -> Iterator[Call]:
    payload = place.payload(HITS_POLLED)
    with Folder(place.store.files, place.path) as folder, Reader(folder, SESSION) as reader:
        with Store(place.path).graph(SESSION) as session:
            session.submit([payload])
        yield reader.poll


@contextmanager
def _brief(place: Place) -> Iterator[Call]:
    def call() -> object:
        with place.store.looking(SESSION) as looking:
            return looking.brief()

    yield call


CONTINUATION = (
    Operation("open", _open),
    Operation("submit", _submit),
    Operation("resume", _resume),
    Operation("list", _list),
    Operation("poll", _poll),
    Operation("brief", _brief),
)
