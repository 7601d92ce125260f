"""A graph session that someone worked in, and its records found the plain way."""

from random import Random
from typing import Any

import orjson

from varvite.graph.payloads import Payload
from varvite.graph.session import GraphSession
from varvite.samples import words
from varvite.session.reader import Reader
from varvite.store import Store
from varvite.testing import growing


def fill(store: Store, seed: int = 1, *, steps: int = 30, buckets: int = 6) -> Store:
    """Session `s`: buckets of all kinds, answers, disputes, obligations open, overdue, closed."""
    rng = Random(seed)  # noqa: S311  (samples, not secrets)
    growing.graph(store, "s", 200, seed=seed)
    with store.graph("s", level="fast") as session:
        own = [
            session.open_bucket(
                f"Part {n}", bucket_id=f"b{n}", required=n % 3 == 0, terms=[f"t{n}"]
            )
            for n in range(buckets)
        ]
        own.append(session.open_bucket("Elsewhere", bucket_id="b_out", role="out_of_scope"))
        session.open_bucket("Nothing yet", bucket_id="b_none", required=True)
        session.open_focus("What ties two together?", bucket_ids=["b0", "b1"], status="accepted")
        session.open_focus("What is put off?", bucket_ids=["b2"], status="deferred")
        session.open_focus("What has no bucket?", priority="high")
        for number in range(steps):
            session.submit([_hits(rng, number, own)])
            _act(session, rng, number)
    return store


def _hits(rng: Random, number: int, buckets: list[str]) -> Payload:
    made = [
        {"id": f"gcn_{number}_{at}", "variable_type": "claim", "content": words.sentence(rng)}
        | {"bucket_ids": rng.sample(buckets, rng.choice((1, 2)))}
        for at in range(rng.randrange(1, 6))
    ]
    return Payload(orjson.dumps({"query": "q", "hits": made}).decode(), f"answer {number}")


def _act(session: GraphSession, rng: Random, number: int) -> None:
    packets = session.packets(3)
    if packets and rng.random() < 0.4:  # noqa: PLR2004
        _answer(session, rng, number, rng.choice(packets))
    if rng.random() < 0.3:  # noqa: PLR2004
        bucket = f"b{rng.randrange(4)}"
        one = session.obligations.open(f"show {number}", target_kind="bucket", target_id=bucket)
        if rng.random() < 0.3:  # noqa: PLR2004
            session.obligations.close(one, "shown")
    if number == 20:  # noqa: PLR2004
        session.set_focus(session.brief()["focuses"][0]["id"], status="closed")


def _answer(session: GraphSession, rng: Random, number: int, packet: Any) -> None:
    refs = [one["id"] for one in packet.evidence]
    draft = {"type": "opposes", "claim": f"not both {number}", "source_refs": refs[:1]}
    drafts = [draft | {"claim_refs": refs[:2]}] if len(refs) > 1 and rng.random() < 0.5 else []  # noqa: PLR2004
    made = session.assess(packet.id, drafts)
    if made.candidates and rng.random() < 0.5:  # noqa: PLR2004
        session.reject(made.candidates[0], decided_by="human:a", why="looked at")


def latest(store: Store, stream: str, cursor: int | None = None) -> list[dict[str, Any]]:
    """Each record of a stream of `s` as it stands, read line by line from the journal."""
    found = {}
    with store._folder() as folder, Reader(folder, "s") as reader:  # noqa: SLF001  (as growing does)
        for batch in reader.batches():
            for line in batch.lines():
                record = orjson.loads(line)
                if record["stream"] == stream and record["seq"] <= (cursor or record["seq"]):
                    found[record["id"]] = record
    return list(found.values())
