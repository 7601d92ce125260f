"""What is to become visible in Gaia: planned here in a step, done when someone asks for it.

A projection is a record at each of its states. Those that are planned wait in one lane,
those that failed and may be tried again in another; those that were begun are at hand,
so that what a crash cut off is found without looking for it.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson

from varvite import ids
from varvite.errors import RecordNotFoundError, StateConflictError
from varvite.graph.batch import Batch
from varvite.graph.landscape_index import NODE, WHOLE
from varvite.graph.lane import Lane
from varvite.graph.port import SHARD_CLAIMS_MAX, Whole
from varvite.graph.table import Record, Spread, Table, kept, listed, state
from varvite.session.kind import Read

PROJECTION, BEGUN, ALL = "projection", "projection_begun", "all"
NODE_PROJECTION, SHARD, OPEN_IN_GAIA = "node_projection", "shard", "obligations_in_gaia"
PLANNED, RETRY = "planned", "retry"
MATERIALISE = "materialise"
ATTEMPTS_MAX = 5
OPEN_IN_GAIA_MAX = 256
"""Open obligations that Gaia's inquiry state is given; the others stay with the session."""

STATES: dict[str, frozenset[str]] = {
    "planned": frozenset({"applying", "abandoned"}),
    "applying": frozenset({"applied", "failed"}),
    "applied": frozenset({"verified", "failed"}),
    "failed": frozenset({"applying", "abandoned"}),
    "verified": frozenset(),
    "abandoned": frozenset(),
}


def _waits(projection: Record) -> bool:
    if projection["lane"] == PLANNED:
        return bool(projection["state"] == "planned")
    return bool(projection["state"] == "failed" and projection["retryable"])


WAITING = Lane("outbox", "projections", PROJECTION, _waits)


def plan(
    batch: Batch,
    kind: str,
    subject_id: str,
    payload: Record,
    *,
    rev: str = "0",
    began: bool = False,
) -> str:
    """Plan a projection; returns its id. The same one again adds nothing.

    began: whoever plans it does it at once.
    """
    own = ids.derived("projection", kind, subject_id, rev)
    if state(batch.read, PROJECTION, own) is None:
        fields = {
            "kind": kind,
            "subject_id": subject_id,
            "state": "applying" if began else "planned",
            "lane": PLANNED,
            "place": WAITING.next_place(batch.read, PLANNED),
            "attempts": int(began),
            "payload": payload,
        }
        batch.add("projections", own, fields)
    return own


def accept(batch: Batch, node_ids: Iterable[str]) -> list[str]:
    """Plan nodes into source packages; returns the projections. Nodes that are there stay.

    Two reads for each node. A package is filled before the next one is begun, and never
    comes back to what is full.
    """
    fresh = [one for one in dict.fromkeys(node_ids) if not _is_planned(batch.read, one)]
    made = []
    while fresh:
        number, filled = shard(batch.read)
        taken, fresh = fresh[: SHARD_CLAIMS_MAX - filled], fresh[SHARD_CLAIMS_MAX - filled :]
        payload = {"shard": number, "filled": filled + len(taken), "node_ids": taken}
        made.append(plan(batch, "add_package", f"shard-{number}", payload, rev=str(filled)))
    return made


def accept_known(batch: Batch, node_ids: Sequence[str]) -> list[str]:
    """The same for nodes that somebody names.

    Raises:
        RecordNotFoundError: there is no such variable.
    """
    for node_id in node_ids:
        if not node_id.startswith("variable_") or batch.read(NODE, node_id) is None:
            raise RecordNotFoundError(
                f"no variable {node_id[:80]!r}",
                hint="it is named by the `node_id` of a packet's evidence",
            )
    return accept(batch, node_ids)


def accept_whole(batch: Batch, kind: Whole, node_id: str) -> str | None:
    """Plan a paper with its graph, or a claim with its chains; returns the projection.

    None where it is planned or there already. One that failed for good is planned again
    once another response has it. Four reads.

    Raises:
        RecordNotFoundError: no response has it whole.
    """
    stored = batch.read(WHOLE, node_id)
    if stored is None:
        what = "the graph of paper" if kind == "paper" else "the chains of claim"
        raise RecordNotFoundError(
            f"no response has {what} {node_id[:80]!r}", hint="ask for it, and submit the answer"
        )
    response_id = stored.decode()
    before = state(batch.read, NODE_PROJECTION, _whole_key(kind, node_id))
    if before and (before["waits"] or before["response_id"] == response_id):
        return None
    payload = {"kind": kind, "response_id": response_id}
    return plan(batch, MATERIALISE, node_id, payload, rev=f"{kind}:{response_id}")


def shard(read: Read) -> tuple[int, int]:
    """The number of the shard that is being filled, from 1, and how many nodes it has."""
    number, filled = orjson.loads(read(SHARD, ALL) or b"[1,0]")
    return (number + 1, 0) if filled >= SHARD_CLAIMS_MAX else (number, filled)


def package_ref(read: Read, node_id: str) -> str | None:
    """What Gaia calls the node; None until it is there."""
    found = state(read, NODE_PROJECTION, node_id)
    return None if found is None else found["ref"]


def has_room(read: Read) -> bool:
    """Whether another open obligation goes to Gaia at once."""
    return int(read(OPEN_IN_GAIA, ALL) or b"0") < OPEN_IN_GAIA_MAX


def open_obligation(batch: Batch, obligation_id: str, fields: Record) -> None:
    """Plan an obligation into Gaia."""
    payload = {name: fields[name] for name in ("target_id", "content", "diagnostic_kind")}
    rev = opening(fields)
    plan(batch, "obligation_open", obligation_id, payload | {"opening": rev}, rev=rev)


def close_obligation(batch: Batch, obligation_id: str, fields: Record) -> bool:
    """Plan it out of Gaia, where it was planned into it; whether that makes room."""
    rev = opening(fields)
    opened = ids.derived("projection", "obligation_open", obligation_id, rev)
    if state(batch.read, PROJECTION, opened) is None:
        return False
    plan(batch, "obligation_close", obligation_id, {"opening": rev}, rev=rev)
    return True


def opening(obligation: Record) -> str:
    """Which of its openings an obligation is in."""
    times = obligation.get("opened_times", 1)
    return f"{obligation['opened_step']}" + (f":{times}" if times > 1 else "")


def step_to(batch: Batch, projection_id: str, to: str, **fields: Any) -> Record:
    """Bring a projection to its next state; returns it as it is then.

    Raises:
        RecordNotFoundError
        StateConflictError: the table has no such step.
    """
    found = load(batch.read, projection_id)
    _check(projection_id, found, to)
    made = found | {name: value for name, value in fields.items() if value is not None}
    made |= {"state": to}
    if to == "applying":
        made["attempts"] = found["attempts"] + 1
    if to == "failed":
        made["retryable"] = bool(fields.get("retryable")) and made["attempts"] < ATTEMPTS_MAX
    if made.get("retryable") and to == "failed":
        made |= {"lane": RETRY, "place": WAITING.next_place(batch.read, RETRY)}
    batch.add("projections", projection_id, made)
    return made


def try_again(batch: Batch, projection_id: str) -> None:
    """Give one that failed for good as many attempts as a new one has.

    Raises:
        RecordNotFoundError
        StateConflictError: it has not failed, is tried again anyway, or was a decision.
    """
    found = load(batch.read, projection_id)
    if found["kind"] in {"promotion", "demotion"}:
        raise StateConflictError(f"{projection_id} was a decision", hint="decide again")
    if found["state"] != "failed" or found["retryable"]:
        raise StateConflictError(
            f"projection {projection_id} is {found['state']}, and not for good",
            hint="`project` does what waits",
        )
    place = {"lane": RETRY, "place": WAITING.next_place(batch.read, RETRY)}
    batch.add("projections", projection_id, found | place | {"retryable": True, "attempts": 0})


def abandon(batch: Batch, projection_id: str) -> None:
    """Give a projection up, where there is one that nobody has begun, or that failed."""
    found = state(batch.read, PROJECTION, projection_id)
    if found is not None and "abandoned" in STATES[found["state"]]:
        step_to(batch, projection_id, "abandoned")


def _check(projection_id: str, found: Record, to: str) -> None:
    now = found["state"]
    if to not in STATES[now] or (now == "failed" and to == "applying" and not found["retryable"]):
        raise StateConflictError(
            f"projection {projection_id} is {now} and cannot become {to}",
            hint=f"from {now} it can become {', '.join(sorted(STATES[now])) or 'nothing'}",
        )


def load(read: Read, projection_id: str) -> Record:
    """A projection as it stands.

    Raises:
        RecordNotFoundError
    """
    found = state(read, PROJECTION, projection_id)
    if found is None:
        raise RecordNotFoundError(
            f"no projection {projection_id[:80]!r}", hint="the view `projections` has all of them"
        )
    return found


def begun(read: Read) -> list[str]:
    """Projections whose end nobody has seen."""
    return listed(read, BEGUN, ALL)


def waiting(read: Read) -> Iterator[tuple[str, Record]]:
    """What waits to be done, planned ones first; two reads for each that is asked for."""
    for lane in (PLANNED, RETRY):
        yield from WAITING.waiting(read, lane)


def counts(read: Read) -> dict[str, int]:
    return {
        "planned": WAITING.length(read, PLANNED),
        "to_retry": WAITING.length(read, RETRY),
        "begun": len(begun(read)),
    }


def _is_planned(read: Read, node_id: str) -> bool:
    found = state(read, NODE_PROJECTION, node_id)
    return found is not None and found["state"] != "abandoned"


def _nodes(projection: Record, read: Read) -> Iterable[tuple[str, bytes]]:
    """A ref that a node has stays, wherever else the node comes to lie."""
    payload = projection["payload"]
    if projection["kind"] == MATERIALISE:
        gone = projection["state"] in {"failed", "abandoned"} and not projection.get("retryable")
        value = {"waits": not gone, "response_id": payload["response_id"]}
        yield _whole_key(payload["kind"], projection["subject_id"]), orjson.dumps(value)
    if projection["kind"] == "add_package":
        refs = (projection.get("result") or {}).get("refs", {})
        for node_id in payload["node_ids"]:
            ref = package_ref(read, node_id) or refs.get(node_id)
            yield node_id, orjson.dumps({"state": projection["state"], "ref": ref})


def _whole_key(kind: str, node_id: str) -> str:
    """Beside the node's own key: a claim may stand in a shard, and with its chains."""
    return f"{kind}:{node_id}"


def _given(node: Record, _read: Read) -> Iterable[tuple[str, bytes]]:
    """A node that came with its ref is in a package already."""
    if node.get("package_ref") is not None:
        yield node["id"], orjson.dumps({"state": "applied", "ref": node["package_ref"]})


def _shard(projection: Record, read: Read) -> bytes:
    """The furthest that was planned: later states of an earlier part change nothing."""
    known = orjson.loads(read(SHARD, ALL) or b"[1,0]")
    payload = projection["payload"]
    return orjson.dumps(max(known, [payload["shard"], payload["filled"]]))


def _fills(projection: Record) -> Sequence[str]:
    return (ALL,) if projection["kind"] == "add_package" else ()


def _in_gaia(projection: Record, read: Read) -> bytes:
    """One more for each opening that is planned, one less for each closing."""
    count = int(read(OPEN_IN_GAIA, ALL) or b"0")
    fresh = projection["state"] == "planned"
    change = {"obligation_open": 1, "obligation_close": -1}[projection["kind"]] if fresh else 0
    return b"%d" % (count + change)


def _obliges(projection: Record) -> Sequence[str]:
    return (ALL,) if projection["kind"].startswith("obligation_") else ()


def _begun(projection: Record, read: Read) -> bytes:
    others = [one for one in begun(read) if one != projection["id"]]
    return orjson.dumps(
        [*others, projection["id"]] if projection["state"] == "applying" else others
    )


TABLES = (
    kept(PROJECTION, "projections"),
    WAITING.table(),
    Table(BEGUN, "projections", lambda _projection: (ALL,), _begun),
    Spread(NODE_PROJECTION, "projections", _nodes),
    Spread(NODE_PROJECTION, "nodes", _given),
    Table(SHARD, "projections", _fills, _shard),
    Table(OPEN_IN_GAIA, "projections", _obliges, _in_gaia),
)
