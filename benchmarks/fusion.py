"""The peer: Fusion's SQLite schema of experiment sessions, as the mission gives it."""

import os
import sqlite3
from collections.abc import Iterable
from typing import Any, Literal

import orjson

SCHEMA = """
create table experiment_sessions (
    id text primary key, name text not null, projectId text, status text not null,
    metric text not null, currentSegment integer not null default 1, maxIterations integer,
    workingDir text, baselineRunId text, bestRunId text, keptRunIds text not null default '[]',
    tags text not null default '[]', metadata text
);
create table experiment_session_records (
    id text primary key,
    sessionId text not null references experiment_sessions(id) on delete cascade,
    segment integer not null, seq integer not null, type text not null,
    payload text not null, createdAt text not null, unique (sessionId, seq)
);
create index by_segment on experiment_session_records (sessionId, segment, seq);
create index by_type on experiment_session_records (sessionId, type);
insert into experiment_sessions (id, name, status, metric) values ('s', 's', 'active', '{}');
"""
_NEXT = "select coalesce(max(seq), 0) + 1 from experiment_session_records where sessionId = 's'"
_INSERT = "insert into experiment_session_records values (?, 's', 1, ?, 'run', ?, ?)"
_AT = "2026-01-01T00:00:00Z"

Synchronous = Literal["FULL", "NORMAL"]


class Fusion:
    """One session in a database in WAL mode."""

    def __init__(self, file: str, synchronous: Synchronous = "FULL") -> None:
        self.db = sqlite3.connect(file, isolation_level=None)
        self.db.execute("pragma journal_mode = wal")
        self.db.execute(f"pragma synchronous = {synchronous}")
        self.db.execute("pragma foreign_keys = on")
        if not self.db.execute("select 1 from sqlite_master").fetchone():
            self.db.executescript(SCHEMA)

    def append(self, records: Iterable[dict[str, Any]]) -> None:
        """Append in one transaction, seq allocated inside it."""
        self.db.execute("begin immediate")
        (seq,) = self.db.execute(_NEXT).fetchone()
        rows = [
            (os.urandom(16).hex(), number, orjson.dumps(record).decode(), _AT)
            for number, record in enumerate(records, seq)
        ]
        self.db.executemany(_INSERT, rows)
        self.db.execute("commit")

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        return self.db.execute(sql).fetchall()

    def close(self) -> None:
        self.db.close()
