"""What others keep records in, each as its own documentation says, with its own defaults.

`grow` lays history down by the quickest way there is to the same store and is not
measured; `append` commits as the store ships; to open one is to learn where it stands.
"""

import json
import os
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any, ClassVar, Protocol

import orjson

from benchmarks.fusion import Fusion
from benchmarks.seeding import SESSION
from varvite.experiment.session import Metric
from varvite.store import Store

Records = Sequence[dict[str, Any]]


class Peer(Protocol):
    """An open store.

    bytes_written, bytes_held: how many for each record of history, at every append, and in
    memory for as long as it is open. count: of the records that it knew when it was opened.
    """

    name: ClassVar[str]
    bytes_written: ClassVar[int]
    bytes_held: ClassVar[int]
    count: int

    def __init__(self, folder: str) -> None: ...
    def grow(self, records: Records) -> None: ...
    def append(self, records: Records) -> None: ...
    def close(self) -> None: ...


class Varvite:
    name = "varvite"
    bytes_written = bytes_held = 0

    def __init__(self, folder: str) -> None:
        metric = None if os.path.isdir(f"{folder}/{SESSION}") else Metric("total_ms", "ms")
        options = {"metric": metric, "create": True} if metric else {}
        self._session = Store(folder).experiment(SESSION, **options)
        self.count = self._session.cursor

    def grow(self, records: Records) -> None:
        self._session.append_records(list(records))

    append = grow

    def close(self) -> None:
        self._session.close()


class FusionSqlite(Fusion):
    name = "Fusion's SQLite"
    bytes_written = bytes_held = 0
    LAST = "select coalesce(max(seq), 0) from experiment_session_records where sessionId = 's'"

    def __init__(self, folder: str) -> None:
        super().__init__(f"{folder}/fusion.db")
        (self.count,) = self.ask(self.LAST)[0]

    def grow(self, records: Records) -> None:
        """Unsynced, with the pages of its random ids in memory: the same pages in the end."""
        self.db.execute("pragma synchronous = off")
        self.db.execute("pragma cache_size = -1000000")
        self.append(records)


class PiLog:
    """A log that is read whole and folded when it is opened; nothing is synced."""

    name = "pi's log"
    bytes_written, bytes_held = 0, 1_430

    def __init__(self, folder: str) -> None:
        self._file = open(f"{folder}/log.jsonl", "a+b")  # noqa: SIM115  (a handle closes it)
        self._file.seek(0)
        self._runs, self._best = [], None
        for line in self._file:
            self._fold(orjson.loads(line))
        self.count = len(self._runs)

    def _fold(self, run: dict[str, Any]) -> None:
        self._runs.append(run)
        metric = run["metric"]
        if run["status"] == "keep" and (self._best is None or metric < self._best):
            self._best = metric

    def grow(self, records: Records) -> None:
        for record in records:
            self._file.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
        self._file.flush()

    def append(self, records: Records) -> None:
        self.grow(records)
        for record in records:
            self._fold(record)

    def close(self) -> None:
        self._file.close()


class DuckDbFile:
    name = "a DuckDB file"
    bytes_written = bytes_held = 0
    _TABLE = (
        "create table if not exists records (seq bigint, type varchar, status varchar, "
        "metric double, metrics json, commit varchar, description varchar, payload json)"
    )

    def __init__(self, folder: str) -> None:
        import duckdb

        self._db = duckdb.connect(f"{folder}/records.duckdb")
        self._db.execute(self._TABLE)
        self.count = self._db.sql("select coalesce(max(seq), 0) from records").fetchall()[0][0]
        self._seq = self.count

    def append(self, records: Records) -> None:
        batch = arrow(records, self._seq)
        self._seq += len(records)
        self._db.register("batch", batch)
        self._db.execute("insert into records select * from batch")

    grow = append

    def close(self) -> None:
        self._db.close()


class DeltaLake:
    name = "deltalake"
    bytes_written = bytes_held = 0

    def __init__(self, folder: str) -> None:
        from deltalake import DeltaTable

        self._path, self._table, self.count = f"{folder}/delta", None, 0
        if os.path.isdir(self._path):
            self._table = DeltaTable(self._path)
            self.count = max(self._ends())
        self._seq = self.count

    def _ends(self) -> list[int]:
        """The last seq of each file, from the log's statistics."""
        import pyarrow as pa

        added = pa.table(self._table.get_add_actions(flatten=True))
        ends: list[int] = added["max.seq"].to_pylist()
        return ends

    def append(self, records: Records) -> None:
        from deltalake import write_deltalake

        write_deltalake(self._table or self._path, arrow(records, self._seq), mode="append")
        self._seq += len(records)

    grow = append

    def close(self) -> None:
        self._table = None


class LangGraph:
    """One thread whose state is the list of records; each step stores the whole state."""

    name = "LangGraph's SQLite"
    bytes_written, bytes_held = 278, 1_430
    _THREAD: ClassVar[dict[str, Any]] = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}

    def __init__(self, folder: str) -> None:
        from langgraph.checkpoint.sqlite import SqliteSaver

        self._db = sqlite3.connect(f"{folder}/langgraph.db", check_same_thread=False)
        self._saver = SqliteSaver(self._db)
        self._saver.setup()
        found = self._saver.get_tuple(self._THREAD)
        self._at = found.config if found else self._THREAD
        self._state = found.checkpoint["channel_values"]["records"] if found else []
        self.count = len(self._state)
        self._grown = False

    def grow(self, records: Records) -> None:
        self._state.extend(records)
        self._grown = True

    def append(self, records: Records) -> None:
        from langgraph.checkpoint.base import empty_checkpoint

        self._state.extend(records)
        made = empty_checkpoint()
        made["channel_values"] = {"records": self._state}
        made["channel_versions"] = {"records": len(self._state)}
        step = {"source": "loop", "step": len(self._state), "parents": {}}
        self._at = self._saver.put(self._at, made, step, {})

    def close(self) -> None:
        if self._grown:
            self.append([])
        self._db.close()


class MlflowSqlite:
    """A record is a metric at a step of one run: the cheapest thing it keeps; text is left out."""

    name = "MLflow's SQLite"
    bytes_written = bytes_held = 0

    def __init__(self, folder: str) -> None:
        from mlflow import MlflowClient

        self._file = f"{folder}/mlflow.db"
        self._client = MlflowClient(f"sqlite:///{self._file}")
        self._run = self._known(f"{folder}/run_id")
        self._step = time.time_ns() // 1000
        self.count = 0

    def _known(self, file: str) -> str:
        if not os.path.exists(file):
            with open(file, "w", encoding="ascii") as stream:
                stream.write(self._client.create_run("0").info.run_id)
        with open(file, encoding="ascii") as stream:
            return str(self._client.get_run(stream.read()).info.run_id)

    def grow(self, records: Records) -> None:
        rows = [
            ("total_ms", one["metric"] or 0, self._step + number, self._run, self._step + number, 0)
            for number, one in enumerate(records, 1)
        ]
        self._step += len(records)
        sql = "insert into metrics (key, value, timestamp, run_uuid, step, is_nan) values (%s)"
        with closing(sqlite3.connect(self._file)) as db, db:
            db.executemany(sql % ", ".join("?" * 6), rows)

    def append(self, records: Records) -> None:
        from mlflow.entities import Metric as Measured

        made = [
            Measured("total_ms", one["metric"] or 0, self._step + number, self._step + number)
            for number, one in enumerate(records, 1)
        ]
        self._step += len(records)
        self._client.log_batch(self._run, metrics=made)

    def close(self) -> None:
        """Nothing to let go of."""


def arrow(records: Records, seq: int) -> Any:
    import pyarrow as pa

    texts = ("type", "status", "commit", "description")
    columns: dict[str, Any] = {
        "seq": pa.array(range(seq + 1, seq + 1 + len(records)), pa.int64()),
        "metric": pa.array([one["metric"] for one in records], pa.float64()),
    }
    columns |= {name: pa.array([one[name] for one in records], pa.string()) for name in texts}
    for name in ("metrics", "payload"):
        columns[name] = pa.array([json.dumps(one[name]) for one in records], pa.string())
    order = ("seq", "type", "status", "metric", "metrics", "commit", "description", "payload")
    return pa.table({name: columns[name] for name in order})


PEERS: tuple[type[Peer], ...] = (
    *(Varvite, FusionSqlite, PiLog),
    *(DuckDbFile, DeltaLake, LangGraph, MlflowSqlite),
)
NO_INSTALL = (Varvite, FusionSqlite, PiLog, DuckDbFile)
