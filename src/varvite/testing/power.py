"""What a power cut may leave: a log of operations, replayed with the unsynced ones in doubt.

A model below every real file system: data is sure after a sync of its file, a name
after a sync of its directory, and nothing else is.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from varvite.disk.files import Files

Data = Literal["dropped", "kept", "half", "nul", "hole", "garbage"]
DATA: tuple[Data, ...] = ("dropped", "kept", "half", "nul", "hole", "garbage")
ROOT = 0


@dataclass(frozen=True, slots=True)
class Put:
    """Bytes written at `offset` of a file."""

    node: int
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Cut:
    """A file cut to `size`."""

    node: int
    size: int


@dataclass(frozen=True, slots=True)
class Name:
    """A name set to a node, or taken away; a rename does both at once."""

    folder: int
    name: str
    node: int | None
    also: "Name | None" = None


@dataclass(frozen=True, slots=True)
class Sync:
    node: int


@dataclass(frozen=True, slots=True)
class Mark:
    """What had been acknowledged by then."""

    acknowledged: int


Operation = Put | Cut | Name | Sync | Mark
Tree = tuple[tuple[str, bytes | None], ...]
"""Path and content, None for a directory, parents first."""


@dataclass(frozen=True, slots=True)
class State:
    """One possible disk after a power cut; `acknowledged` is the last mark before it."""

    tree: Tree
    acknowledged: int
    told: str

    def lay_down(self, path: str) -> None:
        """Make the tree below the new directory `path`."""
        os.mkdir(path)
        for name, content in self.tree:
            place = os.path.join(path, name)
            if content is None:
                os.mkdir(place)
            else:
                with open(place, "wb") as file:
                    file.write(content)


class Recorder(Files):
    """Files that log what changes the disk. The store below `root` must be opened through it.

    What `root` holds at the beginning counts as synced. Directories named in `unseen`
    are made by somebody else below and come back empty.
    """

    def __init__(self, root: str, *, unseen: frozenset[str] = frozenset()) -> None:
        super().__init__()
        self.root = os.path.abspath(root)
        self.operations: list[Operation] = []
        self.unseen = unseen
        self._names: dict[int, dict[str, int]] = {}
        self._sizes: dict[int, int] = {}
        self._fds: dict[int, int] = {}
        self._last = ROOT
        self.start = _Disk()
        self._take(self.root, ROOT)

    def _take(self, path: str, node: int) -> None:
        self.start.directories.add(node)
        self._names[node] = self.start.folders[node] = {}
        for name in sorted(os.listdir(path)):
            below, child = os.path.join(path, name), self._new()
            self._names[node][name] = child
            if os.path.isdir(below):
                self._take(below, child)
            else:
                with open(below, "rb") as file:
                    self.start.files[child] = file.read()
                self._sizes[child] = len(self.start.files[child])
        self._names[node] = dict(self.start.folders[node])

    def _new(self) -> int:
        self._last += 1
        return self._last

    def mark(self, acknowledged: int) -> None:
        self.operations.append(Mark(acknowledged))

    def _set(self, folder: int, name: str, node: int | None, also: Name | None = None) -> None:
        if node is None:
            self._names[folder].pop(name, None)
        else:
            self._names[folder][name] = node
        self.operations.append(Name(folder, name, node, also))

    def open(self, name: str, flags: int, *, dir_fd: int | None = None) -> int:
        fd = super().open(name, flags, dir_fd=dir_fd)
        if dir_fd is None:
            self._fds[fd] = ROOT
            return fd
        folder = self._fds[dir_fd]
        if name not in self._names[folder]:
            node = self._new()
            self._sizes[node] = 0
            self._set(folder, name, node)
        self._fds[fd] = self._names[folder][name]
        return fd

    def write(self, fd: int, data: bytes | memoryview) -> int:
        written = super().write(fd, data)
        node = self._fds[fd]
        self.operations.append(Put(node, self._sizes[node], bytes(data[:written])))
        self._sizes[node] += written
        return written

    def truncate(self, fd: int, size: int) -> None:
        super().truncate(fd, size)
        self._sizes[self._fds[fd]] = size
        self.operations.append(Cut(self._fds[fd], size))

    def sync_data(self, fd: int) -> None:
        super().sync_data(fd)
        self.operations.append(Sync(self._fds[fd]))

    def sync(self, fd: int) -> None:
        super().sync(fd)
        self.operations.append(Sync(self._fds[fd]))

    def rename(self, old: str, new: str, *, old_dir: int, new_dir: int) -> None:
        super().rename(old, new, old_dir=old_dir, new_dir=new_dir)
        source, target = self._fds[old_dir], self._fds[new_dir]
        node = self._names[source].pop(old)
        self._set(target, new, node, Name(source, old, None))

    def link(self, old: str, new: str, *, old_dir: int, new_dir: int) -> None:
        super().link(old, new, old_dir=old_dir, new_dir=new_dir)
        self._set(self._fds[new_dir], new, self._names[self._fds[old_dir]][old])

    def unlink(self, name: str, *, dir_fd: int) -> None:
        super().unlink(name, dir_fd=dir_fd)
        self._set(self._fds[dir_fd], name, None)

    def mkdir(self, name: str, *, dir_fd: int) -> None:
        super().mkdir(name, dir_fd=dir_fd)
        node = self._new()
        self._names[node] = {}
        self.start.directories.add(node)
        self._set(self._fds[dir_fd], name, node)

    def rmdir(self, name: str, *, dir_fd: int) -> None:
        super().rmdir(name, dir_fd=dir_fd)
        self._set(self._fds[dir_fd], name, None)

    def states(self) -> Iterator[State]:
        """Every distinct disk that a power cut may leave, for each prefix of the log.

        For each: the unsynced data in each way of DATA, with the unsynced names kept
        and dropped; then each name dropped alone, and each kept alone; then the data of
        each file kept alone.
        """
        told: set[tuple[Tree, int]] = set()
        for length in range(len(self.operations) + 1):
            for state in self._states(length):
                key = (state.tree, state.acknowledged)
                if key not in told:
                    told.add(key)
                    yield state

    def _states(self, length: int) -> Iterator[State]:
        disk, acknowledged = self._replay(self.operations[:length])
        everything, nothing = range(len(disk.names)), range(0)
        for data in DATA:
            for names, word in ((everything, "kept"), (nothing, "dropped")):
                yield self._state(disk, acknowledged, data, names, f"{length} {data} {word}")
        for one in everything:
            others = [number for number in everything if number != one]
            yield self._state(disk, acknowledged, "kept", others, f"{length} without name {one}")
            yield self._state(disk, acknowledged, "dropped", [one], f"{length} only name {one}")
        for one in disk.data if len(disk.data) > 1 else ():
            told = f"{length} only data {one}"
            yield self._state(disk, acknowledged, "kept", everything, told, only=one)

    def _state(
        self,
        disk: "_Disk",
        acknowledged: int,
        data: Data,
        names: Sequence[int],
        told: str,
        *,
        only: int | None = None,
    ) -> State:
        return State(disk.tree(data, names, self.unseen, only), acknowledged, told)

    def _replay(self, operations: Sequence[Operation]) -> tuple["_Disk", int]:
        disk, acknowledged = self.start.copy(), 0
        for operation in operations:
            if isinstance(operation, Mark):
                acknowledged = operation.acknowledged
            else:
                disk.do(operation)
        return disk, acknowledged


@dataclass(slots=True)
class _Disk:
    """Synced content and names, and what is not synced yet, in order."""

    files: dict[int, bytes] = field(default_factory=dict)
    folders: dict[int, dict[str, int]] = field(default_factory=dict)
    data: dict[int, list[Put | Cut]] = field(default_factory=dict)
    names: list[Name] = field(default_factory=list)
    directories: set[int] = field(default_factory=set)

    def copy(self) -> "_Disk":
        folders = {node: dict(names) for node, names in self.folders.items()}
        return _Disk(dict(self.files), folders, directories=self.directories)

    def do(self, operation: Put | Cut | Name | Sync) -> None:
        if isinstance(operation, Put | Cut):
            self.data.setdefault(operation.node, []).append(operation)
        elif isinstance(operation, Name):
            self.names.append(operation)
        else:
            self._sync(operation.node)

    def _sync(self, node: int) -> None:
        if node in self.data:
            self.files[node] = _content(self.files.get(node, b""), self.data.pop(node), "kept")
        for name in self.names:
            if name.folder == node:
                _enter(self.folders, name)
        self.names = [name for name in self.names if name.folder != node]

    def tree(
        self, data: Data, kept: Sequence[int], unseen: frozenset[str], only: int | None
    ) -> Tree:
        folders = {node: dict(names) for node, names in self.folders.items()}
        for number in kept:
            _enter(folders, self.names[number])
        files = dict(self.files)
        for node, operations in self.data.items():
            mode = data if only in {None, node} else "dropped"
            files[node] = _content(self.files.get(node, b""), operations, mode)
        return tuple(_walk(folders, files, ROOT, "", unseen, self.directories))


def _enter(folders: dict[int, dict[str, int]], name: Name | None) -> None:
    while name is not None:
        inside = folders.setdefault(name.folder, {})
        if name.node is None:
            inside.pop(name.name, None)
        else:
            inside[name.name] = name.node
        name = name.also


def _walk(
    folders: dict[int, dict[str, int]],
    files: dict[int, bytes],
    node: int,
    path: str,
    unseen: frozenset[str],
    directories: set[int],
) -> Iterator[tuple[str, bytes | None]]:
    for name, child in sorted(folders.get(node, {}).items()):
        below = os.path.join(path, name)
        if name in unseen:
            continue
        if child in directories:
            yield below, None
            yield from _walk(folders, files, child, below, unseen, directories)
        else:
            yield below, files.get(child, b"")


def _content(base: bytes, operations: Sequence[Put | Cut], mode: Data) -> bytes:
    if mode == "dropped":
        return base
    content = bytearray(base)
    for operation in operations:
        if isinstance(operation, Cut):
            content = content[: operation.size].ljust(operation.size, b"\0")
        else:
            data = _torn(operation.data, mode, base, last=operation is operations[-1])
            content[operation.offset : operation.offset + len(data)] = data
    return bytes(content)


def _torn(data: bytes, mode: Data, base: bytes, *, last: bool) -> bytes:
    if mode == "half" and last:
        return data[: len(data) // 2]
    if mode == "nul":
        return bytes(len(data))
    if mode == "hole":
        return bytes(len(data) // 2) + data[len(data) // 2 :]
    if mode == "garbage":
        return (base * (len(data) // max(len(base), 1) + 1) + bytes(len(data)))[: len(data)]
    return data
