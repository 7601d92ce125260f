"""Write a golden store: `uv run python -m tests.golden.make tests/golden/v<format>`.

Run it once for a format, when that format is released, and never again: what it
wrote is what later versions must go on reading.
"""

import json
import sys
from pathlib import Path

import varvite
from varvite.adapters.pi_log import PiLog
from varvite.graph.payloads import from_hits
from varvite.samples import experiments, search

SEED = 7
QUESTIONS = {
    "records": "select session_id, stream, count(*), min(seq), max(seq) from records group by all",
    "nodes": "select node_kind, count(*), count(distinct id) from nodes group by all",
    "sightings": 'select count(*), sum(rank)::double, max("count") from sightings',
    "edges": "select edge_kind, count(*) from edges group by all",
    "frontier": "select status, code, count(*) from frontier group by all",
    "runs": "select segment, ordinal, status, metric from runs",
    "best": "select segment, best_ordinal, best_metric, baseline_ordinal from best_runs",
    "unknown": "select stream, body from records where stream in ('plans')",
    "extra": "select id, body from nodes where body is not null",
}


def ask(store):
    return {
        name: sorted(map(list, store.sql(query).rows()), key=repr)
        for name, query in QUESTIONS.items()
    }


def make(folder):
    """A store with a sealed and archived part, segments, a tail, and what no contract knows."""
    store = varvite.open(folder / "store")
    responses = [one.payload() for one in search.responses(SEED, 300)]
    with store.graph("search", create=True, title="Golden", seal_bytes=100_000) as session:
        for payload in responses:
            session.submit([payload])
    log = folder / "log.jsonl"
    log.write_bytes(b"".join(experiments.log(SEED, 40)))
    with store.experiment("loop", create=True) as session:
        session.import_log(PiLog(log))
    log.unlink()
    store.compact()
    with store.graph("search") as session:
        hit = {"id": "late", "content": "It comes after the segments."}
        session.submit([from_hits([hit], query="late")])
        extra = {"stream": "nodes", "id": "odd", "node_kind": "variable", "colour": "red"}
        session._writer.append([extra, {"stream": "plans", "step": {"n": 2**53}, "text": "é"}])
    (folder / "answers.json").write_text(json.dumps(ask(store), indent=1, ensure_ascii=False))


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True)
    make(target)
