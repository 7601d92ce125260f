"""A response as it came, out of the journal: nothing else keeps its text."""

from contextlib import closing
from typing import Any

import orjson

from varvite.disk.files import Folder
from varvite.errors import CorruptError
from varvite.graph.contents import seq_of
from varvite.session import parts
from varvite.session.kind import Read

STREAM = "responses"


def response(folder: Folder, response_id: str, read: Read) -> dict[str, Any]:
    """The record of a response, its text in `raw`.

    Reads the part of the journal that holds it, and checks what lies before it there.

    Raises:
        RecordNotFoundError: there is no such response.
        CorruptError
    """
    seq = seq_of(STREAM, response_id, read)
    with closing(parts.batches(folder, seq - 1)) as found:
        batch = next(found, None)
    lines = batch.lines() if batch else []
    place = seq - batch.commit.first if batch else 0
    record: dict[str, Any] = orjson.loads(lines[place]) if 0 <= place < len(lines) else {}
    if (record.get("seq"), record.get("id")) == (seq, response_id):
        return record
    file = folder.where(parts.ACTIVE)
    raise CorruptError(
        f"{file} and the parts before it have no response {response_id} at seq {seq}",
        hint="`varvite rebuild` makes the index anew from the journal",
        file=file,
        offset=0,
    )
