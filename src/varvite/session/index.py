"""The continuation index: RocksDB, exact at one cursor, never the truth.

One write batch per commit holds the entries and the cursor they bring it to, so
the index is always exact at some cursor, and the journal from there on is its
write-ahead log. Keys are hashes, so an index is small and has no order.
"""

import shutil
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

import orjson

from varvite.disk.files import Folder
from varvite.errors import CorruptError, ForeignIndexError
from varvite.session.journal import Level, Position

FOLDER = "index"
KEY_BYTES = 16
WRITE_BUFFER_BYTES = 4 << 20
_APPLIED = b"applied\0" + bytes(8)


class Applied(NamedTuple):
    """How far an index is, and whose it is."""

    uid: str
    seq: int
    batch: int
    crc: int
    level: Level


def key_bytes(table: str, key: str) -> bytes:
    return blake2b(f"{table}\0{key}".encode(), digest_size=KEY_BYTES).digest()


class Index:
    """An open index. `get` costs one lookup of one key, whatever the history."""

    def __init__(self, folder: Folder, name: str = FOLDER, *, read_only: bool = False) -> None:
        """Open the index below a session's `folder`; created where it is missing.

        Raises:
            CorruptError: RocksDB cannot open it.
            FileNotFoundError: read-only, and there is none.
        """
        from rocksdict import AccessType, Rdict

        self.path = folder.where(name)
        if read_only and folder.stat(name) is None:
            raise FileNotFoundError(self.path)
        if folder.stat(name) is None:
            folder.make(name)
        access = AccessType.read_only() if read_only else AccessType.read_write()
        try:
            self._db = Rdict(self.path, _options(), access_type=access)
        except Exception as error:
            raise CorruptError(
                f"{self.path} cannot be opened: {error}",
                hint="`varvite rebuild` makes it anew from the journal",
                file=self.path,
                offset=0,
            ) from error

    def get(self, table: str, key: str) -> bytes | None:
        value: bytes | None = self._db.get(key_bytes(table, key))
        return value

    def get_many(self, keys: list[bytes]) -> list[bytes | None]:
        """The values of several `key_bytes`, in their order."""
        values: list[bytes | None] = self._db.get(keys) if keys else []
        return values

    def applied(self) -> Applied | None:
        """How far the index is; None where nothing was applied yet.

        Raises:
            CorruptError
        """
        value = self._db.get(_APPLIED)
        if value is None:
            return None
        try:
            return Applied(*orjson.loads(value))
        except (orjson.JSONDecodeError, TypeError) as error:
            raise CorruptError(f"{self.path} is damaged", file=self.path, offset=0) from error

    def apply(self, entries: Mapping[bytes, bytes], applied: Applied) -> None:
        """Put the entries and the cursor in one write, not synced."""
        from rocksdict import WriteBatch

        batch = WriteBatch(raw_mode=True)
        for key, value in entries.items():
            batch.put(key, value)
        batch.put(_APPLIED, orjson.dumps(list(applied)))
        self._db.write(batch)

    def sync(self) -> None:
        self._db.flush_wal(sync=True)

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """All entries, for comparing two indexes whole."""
        yield from self._db.items()

    def close(self) -> None:
        self._db.close()


def check(applied: Applied | None, uid: str, at: Position, path: str) -> None:
    """Refuse an index of another session, or of another history of this one.

    Raises:
        ForeignIndexError
    """
    if applied and applied.uid != uid:
        raise ForeignIndexError(f"{path} belongs to another session", file=path)
    if applied and applied.seq == at.seq and (applied.batch, applied.crc) != (at.batch, at.crc):
        raise ForeignIndexError(f"{path} was made from another history", file=path)


def remove(folder: Folder, name: str = FOLDER) -> None:
    if folder.stat(name) is not None:
        shutil.rmtree(folder.where(name))


def _options() -> Any:
    from rocksdict import Options

    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_write_buffer_size(WRITE_BUFFER_BYTES)
    options.set_max_write_buffer_number(2)
    options.set_keep_log_file_num(1)
    options.set_max_log_file_size(1 << 20)
    options.set_stats_dump_period_sec(0)
    options.set_stats_persist_period_sec(0)
    options.set_max_open_files(64)
    return options
