"""A small store with something of every kind in it: what every view must answer over."""

import os
import tempfile
from itertools import islice
from typing import Any

import orjson

from varvite.adapters.pi_log import PiLog
from varvite.experiment.session import Metric
from varvite.graph.payloads import Payload
from varvite.graph.session import GRAPH, GraphSession
from varvite.samples import experiments
from varvite.session.writer import Writer
from varvite.store import Store
from varvite.testing import growing

TEXT = "\" ' \\ \n \u2028 \u0001 é 漢 🜁 </script><b>"
INT64_MAX, INT64_MIN = 2**63 - 1, -(2**63)


def fill(store: Store, *, records: int = 300) -> None:
    """Sessions search, odd (unknown streams and fields), speed, tuning, followed, nothing."""
    growing.graph(store, "search", records)
    _work(store)
    odd(store, "odd")
    speed(store, "speed")
    _tuning(store)
    _followed(store)
    store.experiment("nothing", create=True, title="no record").close()


def append(store: Store, session_id: str, batch: list[dict[str, Any]]) -> int:
    """Commit records below what a graph session takes; returns the cursor."""
    with store._folder() as folder, Writer(folder, session_id, GRAPH, level="fast") as writer:  # noqa: SLF001  (the kernel, of which a store shows nothing)
        return writer.append(batch).cursor


def _work(store: Store) -> None:
    """Work on the search: buckets, answers good and bad, obligations, calls, refused decisions."""
    with store.graph("search", level="fast", actor="worker") as session:
        bucket = session.open_bucket("Scaling", terms=["exponent"], required=True)
        for number in range(session.parameters.overdue_after + 1):
            session.submit([_hits(number, bucket)])
            if number == 0:
                _oblige(session, bucket)
        packet = session.packets(1)[0]
        _answer(session, packet.id, [one["id"] for one in packet.evidence])
        session.frontier.add({"text": "scaling exponent"}, priority="high")
        session.frontier.lease(1, for_steps=3)


def _hits(number: int, bucket: str) -> Payload:
    hits = [
        {"id": f"gcn_w{number}{letter}", "variable_type": "claim", "score": 0.5}
        | {"content": f"{TEXT} {letter} {number}", "bucket_ids": [bucket]}
        for letter in "ab"
    ]
    return Payload(orjson.dumps({"query": TEXT, "hits": hits}).decode(), f"worked-{number}")


def _oblige(session: GraphSession, bucket: str) -> None:
    for content in ("left open", TEXT):
        session.obligations.open(content, target_kind="bucket", target_id=bucket, why=TEXT)


def _answer(session: GraphSession, packet_id: str, refs: list[str]) -> None:
    good = {"type": "opposes", "claim": TEXT, "source_refs": refs[:1], "claim_refs": refs[:2]}
    bad = good | {"claim": "not grounded", "source_refs": ["item_1", "gcn_none"]}
    made = session.assess(packet_id, [good, bad])
    mended = good | {"claim": "grounded", "repairs": made.repairs[0]["id"]}
    more = session.assess(packet_id, [mended])
    session.promote(made.candidates[0], decided_by="human:somebody", why=TEXT)
    session.reject(more.candidates[0], decided_by="policy:none", why="the same again")


def odd(store: Store, session_id: str) -> None:
    """A graph session of revisions, unknown streams, unknown fields, and hard values."""
    store.graph(session_id, create=True, title=TEXT).close()
    node = {"stream": "nodes", "id": "n1", "node_kind": "variable", "content": TEXT}
    batches: list[list[dict[str, Any]]] = [
        [node | {"score": 5e-324, "unknown": {"deep": [1, None, {"x": INT64_MAX}], "text": TEXT}}],
        [
            node | {"score": 1.7976931348623157e308, "bucket_ids": [], "Score": "another field"},
            node | {"bucket_ids": ["b", TEXT], "metadata": {"big": INT64_MIN, "null": None}},
        ],
        [
            {"stream": "weather", "id": "w1", "seen": True, "nothing": None},
            {"stream": "weather", "id": "w1", "seen": 1.5},
            {"stream": "weather", "list": [[], {}], "session_id": "not ours", TEXT: TEXT},
        ],
        [
            {"stream": "edges", "id": "e1", "edge_kind": "in_paper", "src": "n1", "dst": "p"},
            {"stream": "frontier", "id": "c1", "item_kind": "query", "status": "pending"},
        ],
        [
            {"stream": "edges", "id": "e1", "edge_kind": "in_paper", "src": "n1", "dst": "p"}
            | {"status": "retracted", "evidence_refs": [{"ref": 1}]},
            {"stream": "frontier", "id": "c1", "item_kind": "query", "status": "skipped"},
            {"stream": "all_records", "note": "a stream may have any name"},
            {"stream": "events", "type": "noted", "payload": [1, 2], "refs": {"ids": ["n1"]}},
        ],
    ]
    with store._folder() as folder, Writer(folder, session_id, GRAPH, level="fast") as writer:  # noqa: SLF001  (as in `append`)
        for batch in batches:
            writer.append(batch)


def speed(store: Store, session_id: str) -> None:
    """An experiment session of every record type, bad numbers and ties, that is finalized."""
    metric = Metric("total_ms", "ms")
    with store.experiment(session_id, metric=metric, create=True, level="fast") as session:
        for value in (10, 9.5, float("nan"), None, float("inf"), "fast", 9.5, -0.0, 0.0):
            session.append_record({"type": "run", "status": "keep", "metric": value})
        session.append_record({"type": "run", "status": "crash", "metric": -1})
        session.append_record({"type": "hook", "payload": {"name": "after", "metric": [1]}})
        session.append_record({"type": "hook", "payload": ["a list"], "took_s": 1.5})
        session.start(Metric("score", "", "maximize"), name="second", tags=["x"], working_dir="/w")
        run: dict[str, Any] = {"type": "run", "metrics": {"wall_s": 1}}
        outcomes = (("discard", 5), ("keep", 1e300), ("keep", 1e300))
        session.append_records([run | {"status": one, "metric": value} for one, value in outcomes])
        session.append_record({"type": "finalize", "payload": {"branch": "best"}})
        for status in ("finalizing", "finalized"):
            session.transition(status)


def _tuning(store: Store) -> None:
    """An experiment session that measured its noise, tried ideas again, and got no further."""
    told: dict[str, Any] = {"benchmark_hash": "b1", "environment": "two cores", "seed": 7}
    ideas = ("Merge sorted halves", "Skip the sorted tail", "Skip the SORTED tail!", "Swap less")
    with store.experiment("tuning", create=True, level="fast") as session:
        session.start(Metric("comparisons"), **told)
        same = [(100.0, "keep", "c0"), (101.0, "confirm", "c0"), (99.5, "confirm", "c0")]
        for value, status, code in (*same, (60.0, "keep", "c1")):
            made: dict[str, Any] = {"status": status}
            told = {"code": code, "replicates": [value - 1, value + 1]}
            session.append_record({"type": "run", "metric": value, "payload": told} | made)
        for number in range(14):
            told = {"change": f"change{number % 13}", "asi": {"assumption": "input is random"}}
            made = {"status": "discard", "description": ideas[number % 4], "payload": told}
            session.append_record({"type": "run", "metric": 70.0 + number} | made)
        told = {"change": "change3", "asi": {"overturns": "Input is random."}}
        made = {"status": "keep", "description": "Swap even less", "payload": told}
        session.append_record({"type": "run", "metric": 59.0} | made)


def _followed(store: Store) -> None:
    """A log that is followed, and then rewritten shorter, with lines that cannot be read."""
    lines = list(experiments.log(seed=3, runs=40))
    with (
        tempfile.TemporaryDirectory() as folder,
        store.experiment("followed", create=True, level="fast") as session,
    ):
        path = os.path.join(folder, "log.jsonl")
        for data in ([*lines, b"{broken\n"], [*islice(lines, 25), b"[]\n"]):
            with open(path, "wb") as log:
                log.write(b"".join(data))
            session.import_log(PiLog(path))
