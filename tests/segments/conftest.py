import shutil
from contextlib import closing
from datetime import datetime

import orjson
import pytest

from varvite.disk.files import Files, Folder
from varvite.records.contracts import stream_columns, stream_json
from varvite.segments import manifest as manifests
from varvite.segments import scan
from varvite.session import identity, parts
from varvite.session.kind import Kind
from varvite.session.writer import Writer

KIND = Kind("graph", ("nodes", "edges"), frozenset({"responses"}), lambda *_: (), lambda _: {})


class Cut(BaseException):
    """The moment at which a process is gone."""


class CrashingFiles(Files):
    """Files of which the nth change of the disk, and every later one, does not happen."""

    def __init__(self, allowed):
        super().__init__()
        self.allowed, self.changes = allowed, 0

    def _change(self):
        self.changes += 1
        if self.changes > self.allowed:
            raise Cut

    def write(self, fd, data):
        self._change()
        return super().write(fd, data)

    def truncate(self, fd, size):
        self._change()
        super().truncate(fd, size)

    def sync(self, fd):
        self._change()
        super().sync(fd)

    def sync_data(self, fd):
        self._change()
        super().sync_data(fd)

    def rename(self, old, new, **dirs):
        self._change()
        super().rename(old, new, **dirs)

    def link(self, old, new, **dirs):
        self._change()
        super().link(old, new, **dirs)

    def unlink(self, name, **dirs):
        self._change()
        super().unlink(name, **dirs)

    def mkdir(self, name, **dirs):
        self._change()
        super().mkdir(name, **dirs)


class Lab:
    """A store in a temporary folder, with what tests do to it."""

    crashing = CrashingFiles
    Cut = Cut
    kind = KIND

    def __init__(self, path):
        self.path = path
        self.store = Folder(Files(), str(path))

    def fresh(self, files=None):
        return Folder(files or Files(), str(self.path))

    def create(self, name, records=(), *, batch=100, **options):
        identity.create(self.store, name, KIND, parameters={})
        self.append(name, records, batch=batch, **options)

    def append(self, name, records, *, batch=100, **options):
        with Writer(self.store, name, KIND, **{"level": "fast"} | options) as writer:
            for begin in range(0, len(records), batch):
                writer.append(records[begin : begin + batch])

    def uid(self, name):
        with self.store.folder(name) as session:
            return identity.read(session).uid

    def put_back(self, copy):
        shutil.rmtree(self.path)
        shutil.copytree(copy, self.path)
        self.store.close()
        self.store = self.fresh()

    def file_of(self, segment):
        return self.path / "_lake" / segment.path

    def flip(self, segment, *, byte, bit=0):
        data = bytearray(self.file_of(segment).read_bytes())
        data[byte] ^= 1 << bit
        self.file_of(segment).write_bytes(data)

    def lines(self, name):
        with self.store.folder(name) as session:
            return [line for batch in parts.batches(session) for line in batch.lines()]

    def journal_rows(self):
        """All rows that the journals of the store must give, by stream, in plain Python."""
        rows = {}
        for name in sorted(self.path.iterdir()):
            if (name / "session.json").is_file():
                owner = orjson.loads((name / "session.json").read_bytes())
                for line in self.lines(name.name):
                    record = orjson.loads(line)
                    rows.setdefault(record["stream"], []).append(plain(owner, record))
        return rows

    def segment_rows(self, manifest=None):
        """All rows that segments hold, by stream, as DuckDB reads them."""
        manifest = manifest or manifests.load(self.store)
        rows = {}
        with closing(scan.connect()) as con:
            for segment in manifest.segments:
                path = manifests.path_of(self.store, segment)
                found = con.sql(f"select * from read_parquet('{path}')")
                names = found.columns
                rows.setdefault(segment.stream, []).extend(
                    decoded(segment.stream, dict(zip(names, row, strict=True)))
                    for row in found.fetchall()
                    if row[1] not in manifest.deleted
                )
        return {stream: sorted(found, key=place) for stream, found in rows.items() if found}


def place(row):
    return (row["session_id"], row["session_uid"], row["seq"])


def plain(owner, record):
    kinds = stream_columns(record["stream"])
    row = {"session_id": owner["id"], "session_uid": owner["uid"]}
    for name, kind in kinds.items():
        value = record.get(name)
        if value is not None and kind == "TIMESTAMPTZ":
            value = datetime.fromisoformat(value)
        row[name] = float(value) if value is not None and kind == "DOUBLE" else value
    rest = {name: value for name, value in record.items() if name not in kinds}
    return row | {"body": rest or None}


def decoded(stream, row):
    texts = stream_json(stream) | {"body"}
    return {
        name: orjson.loads(value) if name in texts and value is not None else value
        for name, value in row.items()
    }


@pytest.fixture
def lab(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "store"
    path.mkdir()
    return Lab(path)


def node(number, **fields):
    base = {"stream": "nodes", "id": f"n{number}", "node_kind": "variable", "score": number / 7}
    return base | fields


@pytest.fixture
def nodes():
    return lambda count, **fields: [node(number, **fields) for number in range(count)]
