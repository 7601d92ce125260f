"""Runs of the contradictions job, records for it by hand, and its pairs worked out again."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations, product
from typing import Any

import varvite
from varvite.checkpoints.running import Ran
from varvite.samples.tensions import Pair, Record, pair
from varvite.store import Store

JOB = "contradictions"
TABLES = ("subjects", "pairs", "hot_keys", "questions", "tension_pairs", "tensions")
FOR = frozenset({"supports"})
AGAINST = frozenset({"opposes", "undercuts"})
MUTUAL = frozenset({"contradicts", "contradiction", "conflict"})
DEAD = frozenset({"rejected", "demoted"})
Found = tuple[str, str, str, str, int, bool]
"""left_id, right_id, reason, key, seq, live."""


def new(path: Any) -> Store:
    """A store with one empty graph session, `s`."""
    store = varvite.open(path)
    store.graph("s", create=True).close()
    return store


def run(store: Store, *, as_of: int | None = None, apply: bool = False, **parameters: Any) -> Ran:
    (ran,) = store.checkpoint(JOB, "s", as_of=as_of, apply=apply, parameters=parameters)
    return ran


def rows(ran: Ran, table: str) -> list[Record]:
    found: list[Record] = ran.answers.table(table).to_pylist()
    return found


def tables(ran: Ran) -> dict[str, list[Record]]:
    return {name: rows(ran, name) for name in TABLES}


def pairs(ran: Ran, *, live: bool = True) -> set[Pair]:
    return {(one["left_id"], one["right_id"]) for one in rows(ran, "pairs") if one["live"] is live}


def shown(ran: Ran) -> set[Found]:
    names = ("left_id", "right_id", "reason", "key", "seq", "live")
    return {tuple(one[name] for name in names) for one in rows(ran, "pairs")}


def subject(name: str, polarity: str, of: str = "hot") -> Record:
    said = {"subject": of, "polarity": polarity}
    return {"stream": "nodes", "id": name, "node_kind": "variable", "metadata": said}


def edge(name: str, kind: str, src: str, dst: str, **fields: Any) -> Record:
    made = {"stream": "edges", "id": name, "edge_kind": kind, "src": src, "dst": dst}
    return made | {"status": "active"} | fields


def recomputed(records: Iterable[Record], cap: int = 32) -> set[Found]:
    """The pairs of records that were appended one by one, all against all at each key."""
    there: dict[str, dict[str, Record]] = defaultdict(dict)
    for seq, one in enumerate(records, 1):
        there[one["stream"]][one["id"]] = one | {"seq": seq}
    edges = [_with_candidate(one, there["candidates"]) for one in there["edges"].values()]
    nodes, candidates = there["nodes"].values(), there["candidates"].values()
    found = {one for each in candidates for one in _of_candidate(each, cap)}
    for one in edges:
        if one["edge_kind"] in AGAINST | MUTUAL:
            ends = pair(one["src"], one["dst"])
            found.add((*ends, "edge", one["id"], one["seq"], one["live"]))
    return found | set(_of_keys([*_edge_sides(edges), *_subject_sides(nodes)], cap))


def _with_candidate(one: Record, candidates: dict[str, Record]) -> Record:
    candidate = candidates.get(one.get("candidate_id", ""), {})
    live = one["status"] == "active" and candidate.get("status") not in DEAD
    return one | {"live": live, "seq": max(one["seq"], candidate.get("seq", 0))}


def _edge_sides(edges: Iterable[Record]) -> Iterator[tuple[str, str, bool, str, int]]:
    for one in edges:
        kind, src, dst, seq = one["edge_kind"], one["src"], one["dst"], one["seq"]
        if one["live"] and kind in FOR | AGAINST:
            yield "disputed", dst, kind in FOR, src, seq
            yield "evidence", src, kind in FOR, dst, seq


def _subject_sides(nodes: Iterable[Record]) -> Iterator[tuple[str, str, bool, str, int]]:
    for one in nodes:
        said = one.get("metadata") or {}
        if "subject" in said:
            name = " ".join(said["subject"].lower().replace("-", " ").split())
            yield "subject", name, "positive" in said["polarity"].lower(), one["id"], one["seq"]


def _of_keys(sides: Iterable[tuple[str, str, bool, str, int]], cap: int) -> Iterator[Found]:
    claims: dict[tuple[str, str, bool], dict[str, int]] = defaultdict(dict)
    for reason, key, yes, claim, seq in sides:
        side = claims[reason, key, yes]
        side[claim] = max(side.get(claim, 0), seq)
    for reason, key, yes in [one for one in claims if one[2]]:
        both = [_oldest(claims.get((reason, key, one), {}), cap) for one in (yes, False)]
        for (one, at), (other, seq) in product(*both):
            if one != other:
                yield (*pair(one, other), reason, key, max(at, seq), True)


def _oldest(claims: dict[str, int], cap: int) -> list[tuple[str, int]]:
    return sorted(claims.items(), key=lambda item: (item[1], item[0]))[:cap]


def _of_candidate(one: Record, cap: int) -> Iterator[Found]:
    if one["relation_type"] not in AGAINST:
        return
    first, *others = one["claim_refs"]
    among: Iterable[Pair] = [(first, other) for other in others]
    if one.get("pattern") == "exclusive":
        among = combinations(sorted(one["claim_refs"])[:cap], 2)
    for both in among:
        yield (*pair(*both), "candidate", one["id"], one["seq"], one["status"] not in DEAD)
