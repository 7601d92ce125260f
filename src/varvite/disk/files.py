"""The few file operations everything durable is built from.

Nothing above this module calls open, rename or fsync, so a test that swaps
`Files` sees, counts and can fail every one that matters. Names are resolved
from the descriptor of an open directory, and symbolic links are not followed.
"""

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from itertools import count
from typing import Self

from varvite.errors import DiskFullError, StorageError

DIR_MODE = 0o700
FILE_MODE = 0o600
PIECE_BYTES = 1 << 20
ABSENT = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENXIO, errno.ESPIPE}
)
"""What the kernel says where a name is no file of ours, a symbolic link included."""

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_serial = count()


@dataclass(slots=True)
class IoCount:
    """What went through `Files`: calls and bytes, since the handle was made.

    keys: looked up in an index, whose own files are read past `Files`.
    """

    opens: int = 0
    reads: int = 0
    bytes_read: int = 0
    keys: int = 0
    writes: int = 0
    bytes_written: int = 0
    syncs: int = 0

    def copy(self) -> "IoCount":
        return IoCount(*(getattr(self, field.name) for field in fields(self)))

    def since(self, earlier: "IoCount") -> dict[str, int]:
        return {
            field.name: getattr(self, field.name) - getattr(earlier, field.name)
            for field in fields(self)
        }


class Files:
    """The system calls. Each raises OSError as the kernel does."""

    def __init__(self) -> None:
        self.io = IoCount()

    def open(self, name: str, flags: int, *, dir_fd: int | None = None) -> int:
        self.io.opens += 1
        flags |= os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # a planted FIFO must not hang
        return os.open(name, flags, FILE_MODE, dir_fd=dir_fd)

    def close(self, fd: int) -> None:
        os.close(fd)

    def pread(self, fd: int, size: int, offset: int) -> bytes:
        data = os.pread(fd, size, offset)
        self.io.reads += 1
        self.io.bytes_read += len(data)
        return data

    def write(self, fd: int, data: bytes | memoryview) -> int:
        written = os.write(fd, data)
        self.io.writes += 1
        self.io.bytes_written += written
        return written

    def truncate(self, fd: int, size: int) -> None:
        os.ftruncate(fd, size)

    def sync_data(self, fd: int) -> None:
        self.io.syncs += 1
        os.fdatasync(fd)

    def sync(self, fd: int) -> None:
        self.io.syncs += 1
        os.fsync(fd)

    def rename(self, old: str, new: str, *, old_dir: int, new_dir: int) -> None:
        os.rename(old, new, src_dir_fd=old_dir, dst_dir_fd=new_dir)

    def link(self, old: str, new: str, *, old_dir: int, new_dir: int) -> None:
        os.link(old, new, src_dir_fd=old_dir, dst_dir_fd=new_dir, follow_symlinks=False)

    def unlink(self, name: str, *, dir_fd: int) -> None:
        os.unlink(name, dir_fd=dir_fd)

    def mkdir(self, name: str, *, dir_fd: int) -> None:
        os.mkdir(name, DIR_MODE, dir_fd=dir_fd)

    def rmdir(self, name: str, *, dir_fd: int) -> None:
        os.rmdir(name, dir_fd=dir_fd)

    def names(self, fd: int) -> list[str]:
        return sorted(os.listdir(fd))

    def stat(self, name: str, *, dir_fd: int) -> os.stat_result:
        return os.stat(name, dir_fd=dir_fd, follow_symlinks=False)

    def fstat(self, fd: int) -> os.stat_result:
        return os.fstat(fd)


class Folder:
    """A directory held open; the path is for messages only."""

    def __init__(self, files: Files, path: str, *, parent: "Folder | None" = None) -> None:
        """Open the directory; `path` is one name below `parent` where that is given."""
        self.files = files
        self.path: str = os.path.join(parent.path, path) if parent else os.path.abspath(path)
        self.fd: int = files.open(
            path, os.O_RDONLY | os.O_DIRECTORY, dir_fd=parent.fd if parent else None
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self.fd >= 0:
            fd, self.fd = self.fd, -1
            let_go(self.files, fd)

    def folder(self, name: str) -> "Folder":
        return Folder(self.files, name, parent=self)

    def make(self, name: str) -> None:
        """Make a directory and see that its name lasts."""
        self.files.mkdir(name, dir_fd=self.fd)
        self.sync()

    def names(self) -> list[str]:
        return self.files.names(self.fd)

    def where(self, name: str) -> str:
        return os.path.join(self.path, name)

    def stat(self, name: str) -> os.stat_result | None:
        """The file's status, or None where there is no such name."""
        try:
            return self.files.stat(name, dir_fd=self.fd)
        except FileNotFoundError:
            return None

    def open(self, name: str) -> int:
        return self.files.open(name, os.O_RDONLY, dir_fd=self.fd)

    def open_append(self, name: str) -> int:
        return self.files.open(name, os.O_RDWR | os.O_APPEND, dir_fd=self.fd)

    def create(self, name: str, data: bytes = b"") -> int:
        """Create a file that must not exist, write `data`; return it open for appending."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL
        fd = self.files.open(name, flags, dir_fd=self.fd)
        try:
            write_all(self.files, fd, data)
        except BaseException:
            self.files.close(fd)
            raise
        return fd

    def read(self, name: str, offset: int = 0) -> bytes:
        """The bytes of a file from `offset` to its end.

        Raises:
            FileNotFoundError, OSError
        """
        fd = self.open(name)
        try:
            return read_all(self.files, fd, offset)
        finally:
            let_go(self.files, fd)

    def pieces(self, name: str, upto: int | None = None) -> Iterator[bytes]:
        """The same from its beginning, or its first `upto` bytes, a MB at a time.

        Raises:
            FileNotFoundError, OSError
        """
        fd, offset = self.open(name), 0
        try:
            while upto is None or offset < upto:
                size = PIECE_BYTES if upto is None else min(PIECE_BYTES, upto - offset)
                piece = self.files.pread(fd, size, offset)
                if not piece:
                    return
                yield piece
                offset += len(piece)
        finally:
            let_go(self.files, fd)

    def replace(self, name: str, data: bytes, *, sync: bool) -> None:
        """Put `data` under `name`: readers see the old file or the new one.

        With `sync` a crash leaves one of the two; without it, perhaps an empty file.
        """
        temporary = f"{name}.{os.getpid()}-{next(_serial)}.tmp"
        try:
            self._write_whole(temporary, data, sync=sync)
            self.rename(temporary, name)
        except OSError:
            with suppress(OSError):
                self.remove(temporary)
            raise
        if sync:
            self.sync()

    def _write_whole(self, name: str, data: bytes, *, sync: bool) -> None:
        fd = self.create(name, data)
        try:
            if sync:
                self.files.sync(fd)
        finally:
            self.files.close(fd)

    def rename(self, old: str, new: str, *, to: "Folder | None" = None) -> None:
        self.files.rename(old, new, old_dir=self.fd, new_dir=(to or self).fd)

    def link(self, old: str, new: str, *, to: "Folder") -> None:
        self.files.link(old, new, old_dir=self.fd, new_dir=to.fd)

    def remove(self, name: str) -> bool:
        """Remove a file; whether there was one."""
        try:
            self.files.unlink(name, dir_fd=self.fd)
        except FileNotFoundError:
            return False
        return True

    def sync(self) -> None:
        self.files.sync(self.fd)


def let_go(files: Files, fd: int) -> None:
    """Close a descriptor that nothing was written through: how that ends changes nothing."""
    with suppress(OSError):
        files.close(fd)


def write_all(files: Files, fd: int, data: bytes) -> None:
    """Write all of `data`, going on after short writes."""
    rest = memoryview(data)
    while rest:
        written = files.write(fd, rest)
        if written == 0:
            raise OSError(errno.EIO, "write took no bytes")
        rest = rest[written:]


def read_all(files: Files, fd: int, offset: int = 0) -> bytes:
    """All bytes from `offset` to the end that the file has at this moment."""
    size = files.fstat(fd).st_size
    parts = []
    while offset < size:
        part = files.pread(fd, size - offset, offset)
        if not part:
            break
        parts.append(part)
        offset += len(part)
    return b"".join(parts)


def remove_all(path: str) -> None:
    """Remove a folder with all that is in it, where it is there."""
    with suppress(FileNotFoundError):
        shutil.rmtree(path)


def is_folder(status: os.stat_result | None) -> bool:
    return status is not None and stat.S_ISDIR(status.st_mode)


def storage_error(error: OSError, doing: str) -> StorageError:
    """The typed form of what the kernel said."""
    kind = DiskFullError if error.errno in _FULL else StorageError
    return kind(f"{doing}: {os.strerror(error.errno or 0)}", errno=error.errno)


@contextmanager
def storing(doing: str) -> Iterator[None]:
    """Turn an OSError of the block into a StorageError that says what was being done."""
    try:
        yield
    except OSError as error:
        raise storage_error(error, doing) from error
