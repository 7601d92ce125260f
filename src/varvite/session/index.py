"""The continuation index: RocksDB, exact at one cursor, never the truth.

One write batch per commit holds the entries and the cursor they bring it to, so
the index is always exact at some cursor, and the journal from there on is its
write-ahead log. Keys are hashes, so an index is small and has no order.
"""

import ctypes
import errno
import os
import shutil
import weakref
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import blake2b
from typing import Any, NamedTuple

import orjson

from varvite.disk.files import Folder, is_folder, storage_error
from varvite.errors import CorruptError, ForeignIndexError, SessionLockedError
from varvite.session.journal import Level, Position

FOLDER = "index"
KEY_BYTES = 16
WRITE_BUFFER_BYTES = 4 << 20
CACHE_BYTES = 32 << 20
BLOCK_BYTES = 2 << 10
"""Of a table, what a lookup reads: keys are hashes, so nothing beside a key is wanted."""
FILTER_BITS = 10
"""A key of Bloom filter: an absent key costs a table in a hundred a read."""
TABLE_BYTES = 1 << 40
"""More than any: a merge ends in one table, since each costs reads to open and to ask."""
_DISK_FAULTS = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EIO,
    errno.EMFILE,
    errno.ENFILE,
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
)
_HELD = ("lock hold by current process", os.strerror(errno.EAGAIN))
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
            CorruptError: RocksDB cannot read it.
            StorageError, DiskFullError
            FileNotFoundError: read-only, and there is none.
        """
        self.path, self.failed = folder.where(name), False
        self._io = folder.files.io
        self._access = "read_only" if read_only else "read_write"
        status = folder.stat(name)
        if status is None and read_only:
            raise FileNotFoundError(self.path)
        if status is None:
            folder.make(name)
        elif not is_folder(status):
            raise CorruptError(f"{self.path} is no directory", file=self.path, offset=0)
        self._open()

    def _open(self) -> None:
        from rocksdict import AccessType, Rdict

        access, options = getattr(AccessType, self._access)(), _options()
        families = {"default": options}  # else those of the first open are read back, in part
        try:
            self._db = Rdict(self.path, options, families, access)
        except Exception as error:
            raise _typed(error, self.path) from error
        _open_now.add(self)

    def reopen(self) -> None:
        """Open again after a failed write, which RocksDB never forgets."""
        with suppress(Exception):
            self._db.close()
        self._open()
        self.failed = False

    def get(self, table: str, key: str) -> bytes | None:
        self._io.keys += 1
        try:
            value: bytes | None = self._db.get(key_bytes(table, key))
        except Exception as error:
            raise _typed(error, self.path) from error
        return value

    def get_many(self, keys: list[bytes]) -> list[bytes | None]:
        """The values of several `key_bytes`, in their order."""
        self._io.keys += len(keys)
        try:
            values: list[bytes | None] = self._db.get(keys) if keys else []  # type: ignore[arg-type, assignment]
        except Exception as error:
            raise _typed(error, self.path) from error
        return values

    def applied(self) -> Applied | None:
        """How far the index is; None where nothing was applied yet.

        Raises:
            CorruptError
        """
        (value,) = self.get_many([_APPLIED])
        if value is None:
            return None
        try:
            return Applied(*orjson.loads(value))
        except (orjson.JSONDecodeError, TypeError) as error:
            raise CorruptError(f"{self.path} is damaged", file=self.path, offset=0) from error

    def apply(self, entries: Mapping[bytes, bytes], applied: Applied) -> None:
        """Put the entries and the cursor in one write, not synced.

        Raises:
            DiskFullError, StorageError, CorruptError: `reopen` before the next call.
        """
        from rocksdict import WriteBatch

        batch = WriteBatch(raw_mode=True)
        for key, value in entries.items():
            batch.put(key, value)
        batch.put(_APPLIED, orjson.dumps(list(applied)))
        try:
            self._db.write(batch)
        except Exception as error:
            self.failed = True
            raise _typed(error, self.path) from error

    def sync(self) -> None:
        """See that what was applied is on disk.

        Raises:
            DiskFullError, StorageError, CorruptError: `reopen` before the next call.
        """
        try:
            self._db.flush_wal(sync=True)
        except Exception as error:
            self.failed = True
            raise _typed(error, self.path) from error

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """All entries in the order of their keys, for comparing two indexes whole."""
        yield from self._db.items()

    def close(self) -> None:
        """Let go; nothing is lost where RocksDB cannot write any more, the journal has it."""
        _open_now.discard(self)
        with suppress(Exception):
            self._db.close()

    def leave_to_parent(self) -> None:
        """In a forked child: let RocksDB's destructor, which waits for threads, never run."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._db))


_open_now: "weakref.WeakSet[Index]" = weakref.WeakSet()


def _leave_all_to_parent() -> None:
    for index in list(_open_now):
        index.leave_to_parent()


os.register_at_fork(after_in_child=_leave_all_to_parent)


def _typed(error: Exception, path: str) -> Exception:
    """What RocksDB raised, by its text, which is all that it gives."""
    if isinstance(error, MemoryError):
        return error
    text = str(error)
    if any(words in text for words in _HELD):
        return SessionLockedError(
            f"{path} is open in another writer, whose lock file was taken away",
            hint="end that writer",
            pid=None,
            host=None,
            since=None,
        )
    for code in _DISK_FAULTS:
        if os.strerror(code) in text:
            return storage_error(OSError(code, text), f"writing {path}")
    return CorruptError(
        f"{path} cannot be read: {text}",
        hint="`varvite rebuild` makes it anew from the journal",
        file=path,
        offset=0,
    )


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
    from rocksdict import DBCompactionStyle, Options

    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_write_buffer_size(WRITE_BUFFER_BYTES)
    options.set_max_write_buffer_number(2)
    options.set_keep_log_file_num(1)
    options.set_max_log_file_size(1 << 20)
    options.set_stats_dump_period_sec(0)
    options.set_stats_persist_period_sec(0)
    options.set_max_open_files(-1)  # a table opened later than the index reads its whole filter
    options.set_max_file_opening_threads(1)  # 16 take longer to start than to read
    options.set_skip_stats_update_on_db_open(True)
    options.set_compaction_style(DBCompactionStyle.universal())
    options.set_target_file_size_base(TABLE_BYTES)
    options.set_block_based_table_factory(_tables())
    return options


def _tables() -> Any:
    """Filters and indexes of tables in pages, so that opening and asking read no more
    of a large index than of a small one.
    """
    from rocksdict import BlockBasedIndexType, BlockBasedOptions, Cache

    tables = BlockBasedOptions()
    tables.set_block_cache(Cache(CACHE_BYTES))
    tables.set_block_size(BLOCK_BYTES)
    tables.set_bloom_filter(FILTER_BITS, block_based=False)
    tables.set_index_type(BlockBasedIndexType.two_level_index_search())
    tables.set_partition_filters(True)
    tables.set_cache_index_and_filter_blocks(True)
    tables.set_pin_top_level_index_and_filter(True)
    return tables
