"""A graph step of 100 hits on histories of any size, against the floor of its own bytes."""

import json
import os
from collections.abc import Callable, Iterator
from itertools import count
from random import Random
from typing import Any

import varvite
from benchmarks import seeding
from benchmarks.floor import Floor, last_block, noise
from benchmarks.measuring import WARM_UP, Case, interleaved
from benchmarks.rows import Row
from benchmarks.seeding import SESSION, Plan
from varvite.graph import payloads
from varvite.graph.payloads import Payload
from varvite.samples import words

HITS = 100
KNOWN_SHARE = 0.6
BUCKETS, BUCKETS_TOUCHED = 200, 20
CONTENT_CHARS = 780
_serial = count(1)


def rows(plan: Plan) -> Iterator[Row]:
    for records in plan.sizes:
        with seeding.copied(plan, "graph", records) as store:
            open_buckets(store)
            yield _step(plan, store, records, "hits, 2 buckets given with each", hits, 5)
            yield _step(plan, store, records, "hits, assigned to buckets by their text", lkm, 9)


def open_buckets(store: str) -> None:
    rng = Random(0)
    with varvite.open(store).graph(SESSION, level="fast") as session:
        for number in range(BUCKETS):
            session.open_bucket(words.title(rng), bucket_id=f"bucket_{number}")


def _step(
    plan: Plan,
    store: str,
    records: int,
    what: str,
    make: Callable[[str], Payload],
    target: float,
) -> Row:
    with varvite.open(store).graph(SESSION) as session, Floor(store) as floor:
        session.submit([make(store)])
        block = last_block(f"{store}/{SESSION}")
        before = session.cursor
        case = Case("step", session.submit, lambda: [make(store)])
        spent = interleaved([case, *floor.cases(lambda: block)], plan.rounds)
        made = (session.cursor - before) / (len(spent["step"].wall) + WARM_UP)
        io = session.submit([make(store)]).io
    facts = {"KB": len(block) / 1e3, "records": made, "syncs": io["syncs"], "reads": io["reads"]}
    return Row(
        f"step of {HITS} {what}",
        records,
        spent["step"],
        "floor",
        spent["floor"],
        target,
        noise=noise(spent),
        facts=facts,
    )


def hits(store: str) -> Payload:
    """Normalised hits; the known ones lie anywhere in the history."""
    number = next(_serial)
    rng = Random(number)
    known, touched = _known(store, rng), rng.sample(range(BUCKETS), BUCKETS_TOUCHED)
    made = [
        {
            **(next(known) if rng.random() < KNOWN_SHARE else _fresh(rng)),
            "score": rng.random(),
            "bucket_ids": [f"bucket_{one}" for one in rng.sample(touched, 2)],
        }
        for _ in range(HITS)
    ]
    return payloads.from_hits(made, query=words.query(rng), file=f"step_{number}.json")


def lkm(store: str) -> Payload:
    """The same kind of hits as one raw response."""
    number = next(_serial)
    rng = Random(number)
    known = _known(store, rng)
    found = [next(known) if rng.random() < KNOWN_SHARE else _fresh(rng) for _ in range(HITS)]
    papers = {f"paper:{hit['paper']['id']}": hit["paper"] for hit in found}
    variables = [_variable(hit, rng) for hit in found]
    data = {"papers": papers, "variables": variables, "new_claim_likely": True}
    raw = json.dumps({"code": 0, "data": data, "trace_id": f"{rng.getrandbits(64):016x}"})
    return Payload(raw, f"step_{number}.json", query=words.query(rng), call=f"step_{number}.json")


def _variable(hit: dict[str, Any], rng: Random) -> dict[str, Any]:
    package = f"paper:{hit['paper']['id']}"
    lcn = {"local_id": f"{package}::P1", "package_id": package, "version": "2.0.0"}
    provenance = {"representative_lcn": lcn, "source_packages": [package]}
    return {
        "id": hit["id"],
        "content": hit["content"],
        "type": "claim",
        "role": "premise",
        "score": rng.random(),
        "provenance": provenance,
    }


def _fresh(rng: Random) -> dict[str, Any]:
    paper = rng.getrandbits(59)
    return {
        "id": f"gcn_{rng.getrandbits(64):016x}",
        "content": words.prose(rng, CONTENT_CHARS),
        "paper": {"id": str(paper), "title": words.title(rng), "doi": f"10.1000/bench.{paper}"},
    }


def _known(store: str, rng: Random) -> Iterator[dict[str, Any]]:
    """Variables with a paper, from random places of the stream file."""
    path = f"{store}/{SESSION}/nodes.jsonl"
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        while True:
            file.seek(rng.randrange(size))
            file.readline()
            line = file.readline()
            node = json.loads(line) if line else {}
            if node.get("node_kind") == "variable" and "paper_key" in node:
                yield {
                    "id": node["source_key"].rpartition(":")[2],
                    "content": node["content"],
                    "paper": {"id": node["paper_key"].rpartition(":")[2]},
                }
