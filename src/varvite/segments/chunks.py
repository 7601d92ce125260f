"""A chunk: what one publication adds. Gathered from journals, written as one segment a stream."""

from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa

from varvite.disk.files import Folder, storing
from varvite.errors import CorruptError, VarviteError
from varvite.records.contracts import CONTRACTS
from varvite.segments import ends, proving, scan
from varvite.segments.gathering import Gathered, Gathering
from varvite.segments.manifest import Manifest, Segment, Through
from varvite.segments.plan import Range
from varvite.segments.scan import Owner
from varvite.segments.writing import Draft, row_groups, schema
from varvite.session.parts import Batch

CHUNK_BYTES = 64 << 20


@dataclass(slots=True)
class Chunk:
    """Lines of several streams, and how far they bring each session, by uid."""

    gathering: Gathering = field(default_factory=Gathering)
    after: dict[str, int] = field(default_factory=dict)
    through: dict[str, Through] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return sum(one.rows for one in self.gathering.streams.values())


def chunks(
    store: Folder,
    manifest: Manifest,
    ranges: Iterable[Range],
    names: Mapping[str, str],
    faults: list[VarviteError],
) -> Generator[Chunk, None, None]:
    """The batches of the ranges, in the order of session and seq, cut into chunks.

    `names` gives each uid's directory. What is wrong with a session goes to `faults`
    and ends that session's part, not the others'. Each chunk is the caller's to close.
    """
    chunk = Chunk()
    try:
        for one in ranges:
            try:
                for batch in _batches(store, manifest, one, names[one.uid]):
                    _add(chunk, one, batch)
                    if chunk.gathering.bytes >= CHUNK_BYTES:
                        full, chunk = chunk, Chunk()
                        yield full
            except VarviteError as error:
                faults.append(error)
        if chunk.through:
            full, chunk = chunk, Chunk()
            yield full
    finally:
        chunk.gathering.close()


def _batches(store: Folder, manifest: Manifest, one: Range, name: str) -> Iterator[Batch]:
    try:
        session = store.folder(name)
    except FileNotFoundError:
        return  # deleted meanwhile
    with session:
        ends.harden(session)
        yield from ends.batches_between(session, manifest.sessions.get(one.uid), one.upto)


def _add(chunk: Chunk, one: Range, batch: Batch) -> None:
    commit = batch.commit
    chunk.gathering.add(Owner(one.id, one.uid), batch)
    chunk.after.setdefault(one.uid, commit.first - 1)
    chunk.through[one.uid] = Through(one.id, one.kind, commit.last, commit.batch, commit.crc)


def write(
    lake: Folder,
    gathering: Gathering,
    connection: duckdb.DuckDBPyConnection,
    generation: int,
    *,
    tier: int = 0,
) -> list[Segment]:
    """Write a segment a stream, each proved against its lines; nothing is published yet.

    Raises:
        CorruptError, StorageError
    """
    made = []
    with storing(f"writing segments below {lake.path}"):
        for number, stream in enumerate(sorted(gathering.streams)):
            gathered = gathering.streams[stream]
            table = scanned(connection, gathered)
            proving.prove(table, gathered)
            made.append(_write(lake, gathered, table, generation, number, tier))
    return made


def scanned(connection: duckdb.DuckDBPyConnection, gathered: Gathered) -> pa.Table:
    """The rows of a stream's lines, by session and seq.

    Raises:
        CorruptError: a value is not of its contract's type.
    """
    stream, path = gathered.stream, gathered.spool.path
    try:
        extra = stream not in CONTRACTS or scan.has_extra(connection, stream, path)
        text = scan.select(stream, path, extra=extra)
        if extra:
            text = f"select * from ({text}) order by session_id, session_uid, seq"  # noqa: S608
        return connection.sql(text).to_arrow_table().cast(schema(stream))
    except duckdb.Error as error:
        raise CorruptError(
            f"{stream}: a record does not fit its contract: {str(error)[:400]}",
            hint="it was appended by another version, or changed since",
            file=None,
            offset=None,
        ) from error


def _write(
    lake: Folder, gathered: Gathered, table: pa.Table, generation: int, number: int, tier: int
) -> Segment:
    draft = Draft(lake, gathered.stream)
    try:
        groups = list(row_groups([table]))
        draft.write(groups)
        draft.finish(groups)
        return draft.publish(generation, number, tier, gathered.spans)
    finally:
        draft.close()
