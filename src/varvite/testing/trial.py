"""A workload on a failing disk, and what must hold after it whatever failed."""

import os
from collections.abc import Callable
from typing import Any, Literal

import orjson

from varvite.disk.files import Files, Folder
from varvite.errors import CommitUnknownError, StaleIndexError, VarviteError
from varvite.session import parts
from varvite.session.reader import Reader
from varvite.session.writer import Writer
from varvite.testing import notes
from varvite.testing.faulty import Crash, Faulty

Outcome = Literal["sure", "absent", "unknown"]


class Trial:
    """Batches of one value each, attempted in order on the session at `path`.

    `errors` are the typed ones that were raised; anything else is raised on.
    """

    def __init__(self, path: str, files: Faulty, before: list[Any]) -> None:
        self.path, self.files = path, files
        self.attempts: list[tuple[Any, Outcome]] = [(value, "sure") for value in before]
        self.errors: list[VarviteError] = []
        self.crashed = False
        self.left_open: set[int] = set()
        self.writer: Writer | None = None

    def open(self, store: Folder, **options: Any) -> Writer | None:
        """A writer whose index the end of the process lets go; None where opening failed."""
        self.writer = self.do(lambda: notes.writer(store, **options))
        return self.writer

    def append(self, writer: Writer, value: Any, **options: Any) -> bool:
        """Whether the batch was acknowledged."""
        outcome: Outcome = "unknown"
        try:
            writer.append([notes.note(value), notes.note(value, stream="other")], **options)
            outcome = "sure"
        except VarviteError as error:
            self.errors.append(error)
            outcome = "unknown" if isinstance(error, CommitUnknownError) else "absent"
        finally:
            self.attempts.append((value, outcome))
        return outcome == "sure"

    def do(self, work: Callable[[], Any]) -> Any:
        """What `work` returns; None where it raised a typed error, which is kept."""
        try:
            return work()
        except VarviteError as error:
            self.errors.append(error)
            return None

    def run(self, work: Callable[["Trial"], None]) -> None:
        """Do the work, up to its crash; the process it stands for ends in any case."""
        try:
            work(self)
        except Crash:
            self.crashed = True
        self.left_open = set() if self.crashed else set(self.files.open_now)
        self.end()

    def end(self) -> None:
        """What the end of the process does: nothing is written, everything is let go."""
        self.files.arm(None)
        self.files.abandon()
        if self.writer is not None:
            self.writer.index.close()

    def admits(self, found: list[Any]) -> bool:
        """Whether `found` holds each sure batch in its order, and no absent one."""
        rest = list(found)
        for value, outcome in self.attempts:
            if rest and rest[0] == value and outcome != "absent":
                rest.pop(0)
            elif outcome == "sure":
                return False
        return not rest


def values(path: str) -> list[Any]:
    """The value of each committed batch, which must have all its records, gaplessly numbered."""
    with notes.store(path) as store:
        found = notes.journal(store)
    assert [first for first, _ in found] == list(range(1, 2 * len(found), 2))
    assert all(pair[0] == pair[1] for _, pair in found)
    return [pair[0] for _, pair in found]


def reopened(path: str, *, rebuilds: bool = False, whole: bool = True) -> list[Any]:
    """The values before a writer opened, appended one more and closed, on a sound disk.

    Readers, stream files and index must agree with the journal.
    rebuilds: whether the index may have to be rebuilt first. whole: whether the index is
    compared with a rebuilt one, which takes three times as long.
    """
    before = values(path)
    with notes.store(path, Files()) as store:
        with Reader(store, notes.SESSION) as reader:
            assert reader.cursor == 2 * len(before)
        with _opened(store, rebuilds=rebuilds) as writer:
            writer.append([notes.note("last"), notes.note("last", stream="other")])
            assert writer.read("count", "notes") == b"%d" % (len(before) + 1)
        assert values(path) == [*before, "last"]
        assert rebuilds or not writer.stale_streams
        assert writer.stale_streams or _stream_files(path) == _streams_of_journal(store)
        if whole:
            _rebuild_and_compare(store, path)
    assert not [name for name in os.listdir(f"{path}/s") if name.endswith((".tmp", ".next"))]
    return before


def _rebuild_and_compare(store: Folder, path: str) -> None:
    kept, found = notes.index_items(store), values(path)
    notes.rebuild(store)
    assert notes.index_items(store) == kept
    assert _stream_files(path) == _streams_of_journal(store)
    notes.writer(store).close()
    assert values(path) == found


def _opened(store: Folder, *, rebuilds: bool) -> Writer:
    try:
        return notes.writer(store)
    except StaleIndexError:
        if not rebuilds:
            raise
        notes.rebuild(store)
        return notes.writer(store)


def _stream_files(path: str) -> dict[str, bytes]:
    session = f"{path}/{notes.SESSION}"
    found = {}
    for name in os.listdir(session):
        if name.endswith(".jsonl"):
            with open(f"{session}/{name}", "rb") as file:
                found[name] = file.read()
    return {name: data for name, data in found.items() if data}


def _streams_of_journal(store: Folder) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    with store.folder(notes.SESSION) as session:
        for batch in parts.batches(session):
            for line in batch.lines():
                stream = orjson.loads(line)["stream"]
                if stream != notes.HIDDEN:
                    name = f"{stream}.jsonl"
                    found[name] = found.get(name, b"") + line + b"\n"
    return found
