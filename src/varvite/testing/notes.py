"""The smallest kind of session, for tests of the kernel: notes, counted by stream and by writer."""

import os
from collections.abc import Iterable, Sequence
from typing import Any

from varvite.disk.files import Files, Folder
from varvite.session import identity, parts
from varvite.session import rebuild as rebuilding
from varvite.session.index import Index
from varvite.session.kind import Entry, Kind, Read
from varvite.session.rebuild import Rebuilt
from varvite.session.writer import Writer

SESSION = "s"
HIDDEN = "hidden"


def fold(records: Sequence[dict[str, Any]], read: Read) -> Iterable[Entry]:
    """How many records a stream has, and the last that each actor wrote."""
    for record in records:
        stream = record["stream"]
        count = int(read("count", stream) or b"0") + 1
        yield "count", stream, b"%d" % count
        yield "last", record["actor"], record["id"].encode()


def summary(read: Read) -> dict[str, Any]:
    return {"notes": int(read("count", "notes") or b"0")}


NOTES = Kind(
    name="notes",
    streams=("notes",),
    private=frozenset({HIDDEN}),
    fold=fold,
    summary=summary,
    acts={
        "note": lambda payload, now: [note(one, at_cursor=now.cursor) for one in payload["notes"]]
    },
)


def note(value: Any, **fields: Any) -> dict[str, Any]:
    return {"stream": "notes", "value": value} | fields


def store(path: str | os.PathLike[str], files: Files | None = None) -> Folder:
    """The store at `path`, made with one session where it is missing."""
    made = not os.path.isdir(path)
    if made:
        os.mkdir(path)
    folder = Folder(files or Files(), os.fspath(path))
    if made:
        identity.create(folder, SESSION, NOTES, parameters={})
    return folder


def writer(folder: Folder, **options: Any) -> Writer:
    return Writer(folder, SESSION, NOTES, **options)


def journal(folder: Folder) -> list[tuple[int, list[Any]]]:
    """What is committed: first seq and values of each batch, as the verified journal has it."""
    import orjson

    with folder.folder(SESSION) as session:
        return [
            (batch.commit.first, [orjson.loads(line)["value"] for line in batch.lines()])
            for batch in parts.batches(session)
        ]


def index_items(folder: Folder) -> dict[bytes, bytes]:
    """Every entry of the session's index, its cursor too. Nobody may have it open."""
    with folder.folder(SESSION) as session:
        index = Index(session)
        try:
            return dict(index.items())
        finally:
            index.close()


def abandon(held: Writer) -> None:
    """Let go of a writer as the end of its process would: nothing more is written."""
    held._held.close()  # noqa: SLF001  (a kill, which no handle offers)


def rebuild(folder: Folder) -> Rebuilt:
    return rebuilding.rebuild(folder, SESSION, NOTES)
