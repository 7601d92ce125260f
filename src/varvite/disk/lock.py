"""One writer at a time: flock, which the kernel frees when the process dies.

The owner record inside the file is for the message only, never for the decision.
The file is never unlinked: a second writer could lock its successor.
"""

import fcntl
import os
import platform
import socket
import time
import weakref
from typing import Any

import orjson

from varvite.clock import now
from varvite.disk.files import Folder, let_go, read_all, storing, write_all
from varvite.errors import SessionLockedError

_POLL_S = 0.02
_held: "weakref.WeakSet[Lock]" = weakref.WeakSet()


class Lock:
    """A held lock. `acquire` is the only way to one."""

    def __init__(self, folder: Folder, name: str, fd: int) -> None:
        self._folder, self._name, self._fd = folder, name, fd
        self._inode = folder.files.fstat(fd).st_ino
        _held.add(self)

    @classmethod
    def acquire(cls, folder: Folder, name: str = "lock", *, what: str, wait_s: float = 0) -> "Lock":
        """Take the lock, waiting at most `wait_s` seconds.

        Raises:
            SessionLockedError: .pid .host .since of the holder
            StorageError
        """
        deadline = time.monotonic() + wait_s
        while True:
            with storing(f"locking {folder.path}"):
                lock = cls._try(folder, name)
            if lock:
                return lock
            if time.monotonic() >= deadline:
                raise _locked(owner(folder, name), what)
            time.sleep(_POLL_S)

    @classmethod
    def _try(cls, folder: Folder, name: str) -> "Lock | None":
        fd = folder.files.open(name, os.O_RDWR | os.O_CREAT, dir_fd=folder.fd)
        lock = None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            lock = cls(folder, name, fd)
            if lock.is_ours():
                lock._sign()
                return lock
        except BlockingIOError:
            pass
        except BaseException:
            folder.files.close(lock.take_fd() if lock else fd)
            raise
        folder.files.close(lock.take_fd() if lock else fd)
        return None

    def _sign(self) -> None:
        self.previous_boot = owner(self._folder, self._name).get("boot")
        self._folder.files.truncate(self._fd, 0)
        os.lseek(self._fd, 0, os.SEEK_SET)
        signature = {
            "pid": os.getpid(),
            "host": platform.node() or socket.gethostname(),
            "since": now(),
            "boot": boot_id(),
        }
        write_all(self._folder.files, self._fd, orjson.dumps(signature) + b"\n")

    def is_ours(self) -> bool:
        """Whether the name still means the file that we locked. One stat."""
        status = self._folder.stat(self._name)
        return self._fd >= 0 and status is not None and status.st_ino == self._inode

    def release(self) -> None:
        if self._fd >= 0:
            let_go(self._folder.files, self.take_fd())

    def take_fd(self) -> int:
        """The descriptor, which is the caller's to close."""
        _held.discard(self)
        fd, self._fd = self._fd, -1
        return fd

    def leave_to_parent(self) -> None:
        """In a forked child: close the copy, which would outlive the parent."""
        os.close(self.take_fd())


def owner(folder: Folder, name: str = "lock") -> dict[str, Any]:
    """Who signed the lock last; empty where nobody did, or not legibly."""
    try:
        fd = folder.open(name)
    except OSError:
        return {}
    try:
        values = orjson.loads(read_all(folder.files, fd))
    except (orjson.JSONDecodeError, OSError):
        return {}
    finally:
        let_go(folder.files, fd)
    return values if isinstance(values, dict) else {}


def boot_id() -> str:
    """Which start of this machine it is; empty where the kernel does not say."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def _locked(holder: dict[str, Any], what: str) -> SessionLockedError:
    pid, host, since = (holder.get(key) for key in ("pid", "host", "since"))
    return SessionLockedError(
        f"{what} is being written by pid {pid} on host {host} since {since}",
        hint="reading needs no lock; or wait for it (wait_s=60, --wait 60)",
        pid=pid,
        host=host,
        since=since,
    )


def _leave_all_to_parent() -> None:
    for lock in list(_held):
        lock.leave_to_parent()


os.register_at_fork(after_in_child=_leave_all_to_parent)
