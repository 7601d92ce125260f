"""A graph step of 100 hits on histories of any size, against the floor of its own bytes,
and against the step of a session that has no buckets, and so no focuses and packets.
"""

import json
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
from varvite.bench.hits import hits as found
from varvite.graph import payloads
from varvite.graph.payloads import Payload
from varvite.samples import words

HITS = 100
BUCKETS, BUCKETS_TOUCHED = 200, 20
_serial = count(1)


def rows(plan: Plan) -> Iterator[Row]:
    for records in plan.sizes:
        with (
            seeding.copied(plan, "graph", records) as store,
            seeding.copied(plan, "graph", records) as bare,
        ):
            open_buckets(store)
            yield from _step(plan, store, bare, records, "hits, 2 buckets given with each", hits, 5)
            yield from _step(
                plan, store, bare, records, "hits, assigned to buckets by their text", lkm, 9
            )


def open_buckets(store: str) -> None:
    rng = Random(0)
    with varvite.open(store).graph(SESSION, level="fast") as session:
        for number in range(BUCKETS):
            session.open_bucket(words.title(rng), bucket_id=f"bucket_{number}")


def _step(
    plan: Plan,
    store: str,
    bare: str,
    records: int,
    what: str,
    make: Callable[[str], Payload],
    target: float,
) -> Iterator[Row]:
    """bare: the same history without buckets, which is given the same kind of hits."""
    with (
        varvite.open(store).graph(SESSION) as session,
        varvite.open(bare).graph(SESSION) as without,
        Floor(store) as floor,
    ):
        session.submit([make(store)])
        block = last_block(f"{store}/{SESSION}")
        before = session.cursor
        cases = [
            Case("step", session.submit, lambda: [make(store)]),
            Case("without", without.submit, lambda: [_without_buckets(make(bare))]),
        ]
        spent = interleaved([*cases, *floor.cases(lambda: block)], plan.rounds)
        made = (session.cursor - before) / (len(spent["step"].wall) + WARM_UP)
        io = session.submit([make(store)]).io
    facts = {"KB": len(block) / 1e3, "records": made, "syncs": io["syncs"], "reads": io["reads"]}
    named, noisy = f"step of {HITS} {what}", noise(spent)
    yield Row(
        named, records, spent["step"], "floor", spent["floor"], target, noise=noisy, facts=facts
    )
    yield Row(named, records, spent["step"], "without buckets", spent["without"], noise=noisy)


def _without_buckets(payload: Payload) -> Payload:
    given = json.loads(payload.raw)
    for hit in given.get("hits", ()):
        del hit["bucket_ids"]
    return payload._replace(raw=json.dumps(given))


def hits(store: str) -> Payload:
    """Normalised hits, two buckets with each."""
    number = next(_serial)
    rng = Random(number)
    touched = rng.sample(range(BUCKETS), BUCKETS_TOUCHED)
    made = [
        hit | {"bucket_ids": [f"bucket_{one}" for one in rng.sample(touched, 2)]}
        for hit in found(f"{store}/{SESSION}/nodes.jsonl", number, HITS)
    ]
    return payloads.from_hits(made, query=words.query(rng), file=f"step_{number}.json")


def lkm(store: str) -> Payload:
    """The same kind of hits as one raw response."""
    number = next(_serial)
    rng = Random(number)
    made = found(f"{store}/{SESSION}/nodes.jsonl", number, HITS)
    papers = {f"paper:{hit['paper']['id']}": hit["paper"] for hit in made}
    variables = [_variable(hit, rng) for hit in made]
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
