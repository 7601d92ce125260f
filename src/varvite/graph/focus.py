"""Focuses: the questions worked on, rescored only where something they are tied to changed.

A step touches the focuses of the buckets that it touched and of the obligations that
are due at it; each touch names its trigger. Nothing here looks at any other focus.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from varvite import ids
from varvite.errors import InputError, LimitError, RecordNotFoundError
from varvite.graph import bucket, due, packets, queue, scoring
from varvite.graph.batch import Batch
from varvite.graph.changes import BucketChange
from varvite.graph.parameters import Parameters
from varvite.graph.queue import FOCUS
from varvite.graph.table import Record, Spread, kept, state
from varvite.graph.ties import BUCKET_FOCUSES, focuses_of
from varvite.session.kind import Read

COVERAGE, CONTROVERSY, MERGED = "coverage_changed", "controversy", "bucket_merged"
OVERDUE, STRONG = "obligation_overdue", "strong_evidence"
BUCKETS_MAX = 8
"""Buckets that one focus can be tied to."""
OBLIGATION_IDS_MAX = 16
"""Open obligations that a focus names; it counts all."""

PRIORITIES = ("high", "medium", "low")
STATUSES = ("candidate", "accepted", "deferred", "closed")


class FocusPlan(NamedTuple):
    """records: focuses, obligations and packets; touched, packets: their ids, in order."""

    records: list[Record]
    touched: list[str]
    packets: list[str]


@dataclass(slots=True)
class Touch:
    """What one step means for one focus. triggers: (trigger, what it came from)."""

    fields: Record
    triggers: list[tuple[str, str]] = field(default_factory=list)
    nodes: dict[str, Record] = field(default_factory=dict)


def plan(
    changes: Sequence[BucketChange],
    batch: Batch,
    parameters: Parameters,
    at_seq: int,
    *,
    buckets: Iterable[Record] = (),
) -> FocusPlan:
    """Touch the focuses of the changed buckets and of what is overdue.

    A bucket that has no focus gets a candidate one. at_seq: the session's cursor.
    buckets: the step's `buckets` records, for their labels. Reads a bounded number of
    keys for each changed bucket and each focus tied to it.
    """
    labels = {one["id"]: one.get("label") or one["id"] for one in buckets}
    touches: dict[str, Touch] = {}
    for change in changes:
        for focus_id in _tied(change, labels, batch.read, touches):
            _note(touches[focus_id], change)
    for focus_id, obligation_id in due.fall_due(batch, parameters):
        touch = _touch(focus_id, batch.read, touches)
        touch.fields["features"]["overdue"] += 1
        touch.triggers.append((OVERDUE, obligation_id))
    made = [
        (focus_id, rescore(batch, focus_id, touch, parameters, at_seq))
        for focus_id, touch in touches.items()
    ]
    done = [(focus_id, packet_id) for focus_id, packet_id in made if packet_id is not None]
    touched = [focus_id for focus_id, _ in done]
    return FocusPlan(batch.records, touched, [packet_id for _, packet_id in done if packet_id])


def _tied(
    change: BucketChange, labels: Mapping[str, str], read: Read, touches: dict[str, Touch]
) -> list[str]:
    """The focuses of the bucket, each with its touch; a candidate one where it never had any."""
    tied = focuses_of(read, change.bucket_id)
    first = ids.derived("focus", change.bucket_id)
    if not tied and change.after != "out_of_scope" and state(read, FOCUS, first) is None:
        label = labels.get(change.bucket_id, change.bucket_id)
        touches[first] = Touch(_fresh(f"What is established about {label}?", [change.bucket_id]))
        return [first]
    for focus_id in tied:
        _touch(focus_id, read, touches)
    return tied


def _touch(focus_id: str, read: Read, touches: dict[str, Touch]) -> Touch:
    if focus_id not in touches:
        touches[focus_id] = Touch(load(read, focus_id))
    return touches[focus_id]


def _note(touch: Touch, change: BucketChange) -> None:
    features = touch.fields["features"]
    features["coverage"][change.bucket_id] = change.after
    if change.before != change.after:
        touch.triggers.append((COVERAGE, change.bucket_id))
    if change.controversy:
        features["controversy"] = True
        touch.triggers.append((CONTROVERSY, change.bucket_id))
    touch.nodes |= {node["id"]: node for node in change.new}


def rescore(
    batch: Batch, focus_id: str, touch: Touch, parameters: Parameters, at_seq: int
) -> str | None:
    """Add the focus as it is now, and its packet where new evidence entered it.

    Returns the packet's id, empty where there is none, and None where nothing fired:
    then nothing is added.
    """
    focus = touch.fields
    before = packets.latest(batch.read, focus_id)
    shown = before["evidence"] if before else []
    held = packets.window(focus["evidence_refs"], shown, touch.nodes.values(), parameters)
    strong = [
        one["node_id"]
        for one in held.refs
        if one["node_id"] in held.entered and one["score"] >= parameters.strong_score
    ]
    if strong:
        touch.triggers.append((STRONG, strong[0]))
    if not touch.triggers:
        return None
    focus["evidence_refs"] = held.refs
    _settle(focus, touch.triggers, at_seq)
    packet_id = ""
    if held.entered:
        packet_id, packet = packets.record(focus_id, focus, held, before)
        focus |= {"packet_id": packet_id, "packets": packet["number"]}
        batch.add("packets", packet_id, packet)
    queue.admit(batch, focus_id, focus, parameters.queue)
    batch.add("focuses", focus_id, focus)
    return packet_id


def _settle(
    focus: Record,
    triggers: list[tuple[str, str]],
    at_seq: int,
) -> None:
    trigger, ref = triggers[0]
    focus["triggers"] = list(dict.fromkeys(name for name, _ in triggers))
    focus["cause"] = {"trigger": trigger, "ref": ref}
    focus["touched_seq"] = at_seq
    focus["score"] = scoring.score(focus)
    focus["readiness"] = _readiness(focus)


def _readiness(focus: Record) -> str:
    if focus["features"].get("human"):
        return "needs_human_review"
    ready = scoring.fresh(focus) >= scoring.READY_AT
    return "ready_for_assess" if ready else "needs_expand"


def change(
    batch: Batch,
    focus_id: str,
    trigger: str,
    ref: str,
    parameters: Parameters,
    at_seq: int,
    **fields: Any,
) -> Record:
    """Rescore a focus with some of its fields changed; returns it as it is then.

    Raises:
        RecordNotFoundError
        LimitError: it was closed, and its bucket has no room for it.
    """
    focus = load(batch.read, focus_id)
    if focus["status"] == "closed":
        _tie(focus, focus_id, (), batch.read, parameters)
    features = focus["features"] | fields.pop("features", {})
    touch = Touch(focus | fields | {"features": features}, [(trigger, ref)])
    rescore(batch, focus_id, touch, parameters, at_seq)
    return load(batch.read, focus_id)


def open_focus(
    batch: Batch,
    question: str,
    parameters: Parameters,
    at_seq: int,
    *,
    bucket_ids: Sequence[str] = (),
    nodes: Iterable[Record] = (),
    focus_id: str | None = None,
    **fields: Any,
) -> str:
    """Open a focus, or change the one that asks the same; returns its id.

    nodes: evidence that it begins with.

    Raises:
        InputError: no question, or a word that is none.
        RecordNotFoundError: a bucket that is not open.
        LimitError: too many buckets, or a bucket with too many focuses.
    """
    if not question.strip():
        raise InputError("a focus asks a question", path="question")
    own = focus_id or ids.derived("focus", question.strip())
    stored = state(batch.read, FOCUS, own)
    focus = stored or _fresh(question.strip(), [])
    _tie(focus, own, bucket_ids, batch.read, parameters)
    focus |= checked(fields)
    touch = Touch(focus, [("opened", own)], {node["id"]: node for node in nodes})
    rescore(batch, own, touch, parameters, at_seq)
    return own


def follow(batch: Batch, bucket_id: str, into: str, parameters: Parameters, at_seq: int) -> None:
    """Tie the open focuses of a bucket to the one that it is merged into, where there is room."""
    for focus_id in focuses_of(batch.read, bucket_id):
        focus = load(batch.read, focus_id)
        if into not in focus["bucket_ids"]:
            with suppress(LimitError):
                _tie(focus, focus_id, (into,), batch.read, parameters)
                rescore(batch, focus_id, Touch(focus, [(MERGED, into)]), parameters, at_seq)


def _tie(
    focus: Record, focus_id: str, bucket_ids: Sequence[str], read: Read, parameters: Parameters
) -> None:
    tied = [*dict.fromkeys([*focus["bucket_ids"], *bucket_ids])]
    if len(tied) > BUCKETS_MAX:
        raise LimitError(
            f"a focus is tied to {BUCKETS_MAX} buckets at most",
            hint="open one focus for each question",
            path="bucket_ids",
            limit=BUCKETS_MAX,
        )
    for bucket_id in tied:
        others = [one for one in focuses_of(read, bucket_id) if one != focus_id]
        if len(others) >= parameters.focuses_per_bucket:
            raise LimitError(
                f"bucket {bucket_id} has {len(others)} open focuses",
                hint="close one of them",
                path="bucket_ids",
                limit=parameters.focuses_per_bucket,
            )
    focus["bucket_ids"] = tied
    for bucket_id in bucket_ids:
        focus["features"]["coverage"][bucket_id] = face(read, bucket_id)["coverage_status"]


def face(read: Read, bucket_id: str) -> Record:
    """A bucket as it stands.

    Raises:
        RecordNotFoundError
    """
    if read(bucket.BUCKET, bucket_id) is None:
        raise RecordNotFoundError(f"no bucket {bucket_id[:80]!r}", hint="open it first")
    return bucket.face(read, bucket_id)


def checked(fields: Mapping[str, Any]) -> Record:
    """The fields that are given.

    Raises:
        InputError: .path of a word that is none.
    """
    given = {name: value for name, value in fields.items() if value is not None}
    for name, words in (("status", STATUSES), ("priority", PRIORITIES)):
        if given.get(name, words[0]) not in words:
            raise InputError(f"{name}: expected one of {', '.join(words)}", path=name)
    return given


def load(read: Read, focus_id: str) -> Record:
    """A focus as it stands.

    Raises:
        RecordNotFoundError
    """
    found = state(read, FOCUS, focus_id)
    if found is None:
        raise RecordNotFoundError(
            f"no focus {focus_id[:80]!r}", hint="the view `focuses` has all of them"
        )
    return found


def _fresh(question: str, bucket_ids: list[str]) -> Record:
    return {
        "question": question,
        "status": "candidate",
        "priority": "medium",
        "readiness": "needs_expand",
        "score": 0.0,
        "queued": False,
        "bucket_ids": bucket_ids,
        "obligation_ids": [],
        "open_obligations": 0,
        "evidence_refs": [],
        "features": {"coverage": {}, "controversy": False, "overdue": 0},
        "packets": 0,
    }


def _tied_focuses(focus: Record, read: Read) -> Iterable[tuple[str, bytes]]:
    for bucket_id in focus["bucket_ids"]:
        tied = focuses_of(read, bucket_id)
        is_open = focus["status"] != "closed"
        if is_open and focus["id"] not in tied:
            tied.append(focus["id"])
        yield bucket_id, orjson.dumps([one for one in tied if is_open or one != focus["id"]])


TABLES = (Spread(BUCKET_FOCUSES, "focuses", _tied_focuses), kept(FOCUS, "focuses"))
