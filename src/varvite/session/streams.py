"""One file a stream, for people, jq and git diff: the journal's lines, without a sync of their own.

A file is a function of the journal, so its right size is known without reading
it. One that has another size is stale: it is left alone until a rebuild.
"""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack

from varvite.disk.files import Folder, storing, write_all

OPEN_FILES_MAX = 16
_STREAM_KEY = b'"stream":"'


def by_stream(lines: Iterable[bytes]) -> dict[str, list[bytes]]:
    """Record lines (without or with newline), as our encoder writes them, by stream, in order."""
    groups: dict[bytes, list[bytes]] = {}
    size = len(_STREAM_KEY)
    for line in lines:
        begin = line.index(_STREAM_KEY) + size
        groups.setdefault(line[begin : line.index(b'"', begin)], []).append(line)
    return {stream.decode(): found for stream, found in groups.items()}


class Streams:
    """The stream files of one session. `sizes` maps a stream to its records and bytes so far."""

    def __init__(
        self, folder: Folder, private: frozenset[str], sizes: Mapping[str, tuple[int, int]]
    ) -> None:
        self._folder, self._private = folder, private
        self.sizes = dict(sizes)
        self.stale: set[str] = set()
        self._unsynced: set[str] = set()
        self._created = False
        self._fds: dict[str, int] = {}

    def find_stale(self) -> None:
        """Mark the files whose size is not what the journal says. One stat a file."""
        for stream, (_, size) in self.sizes.items():
            status = self._folder.stat(f"{stream}.jsonl")
            if stream not in self._private and (status.st_size if status else 0) != size:
                self.stale.add(stream)

    def cut_back(self, named: Iterable[str] = ()) -> None:
        """Cut each file, those of `named` streams too, to its size here; mark shorter ones."""
        for stream in named:
            self.sizes.setdefault(stream, (0, 0))
        for stream, (_, size) in self.sizes.items():
            status = self._folder.stat(f"{stream}.jsonl")
            if stream in self._private or (size == 0 and status is None):
                continue
            if status is None or status.st_size < size:
                self.stale.add(stream)
            elif status.st_size > size:
                self._unsynced.add(stream)
                self._folder.files.truncate(self._open(stream), size)

    def count(self, groups: Mapping[str, list[bytes]]) -> None:
        """Take the lines into the sizes, written or not."""
        for stream, lines in groups.items():
            records, size = self.sizes.get(stream, (0, 0))
            added = sum(map(len, lines))
            self.sizes[stream] = (records + len(lines), size + added)

    def append(self, groups: Mapping[str, list[bytes]]) -> None:
        """Write the lines (each with its newline) behind each file's end.

        Raises:
            StorageError: a file may then hold part of a line; `cut_back` and go on.
        """
        for stream, lines in groups.items():
            if stream in self._private or stream in self.stale:
                continue
            self._unsynced.add(stream)
            with storing(f"writing {self._folder.where(stream)}.jsonl"):
                write_all(self._folder.files, self._open(stream), b"".join(lines))

    def sync(self) -> None:
        """Sync what was written and made since the last call. A failure ends the writer."""
        for stream in sorted(self._unsynced - self.stale):
            self._folder.files.sync_data(self._open(stream))
        if self._created:
            self._folder.sync()
        self._unsynced.clear()
        self._created = False

    def close(self) -> None:
        with ExitStack() as closing:
            while self._fds:
                closing.callback(self._folder.files.close, self._fds.popitem()[1])

    def _open(self, stream: str) -> int:
        if stream in self._fds:
            return self._fds[stream]
        if len(self._fds) >= OPEN_FILES_MAX:
            self._folder.files.close(self._fds.pop(next(iter(self._fds))))
        name = f"{stream}.jsonl"
        exists = self._folder.stat(name) is not None
        self._created |= not exists
        fd = self._folder.open_append(name) if exists else self._folder.create(name)
        self._fds[stream] = fd
        return fd
