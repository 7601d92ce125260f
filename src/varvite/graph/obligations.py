"""Opening, deferring and closing what must be answered, with the focus that it presses on."""

from collections.abc import Mapping
from typing import Any

from varvite import ids
from varvite.errors import InputError, RecordNotFoundError, StateConflictError
from varvite.graph import due, focus, outbox, steps
from varvite.graph.batch import Batch
from varvite.graph.parameters import Parameters
from varvite.graph.table import Record, state
from varvite.graph.ties import focuses_of
from varvite.session.kind import Read
from varvite.session.records import seq_of

KINDS = ("prior_hole", "structural_hole", "support_weak", "focus_weakness", "other")
TARGETS = ("focus", "bucket", "node", "gaia_qid")
STEPS: dict[str, frozenset[str]] = {
    "open": frozenset({"deferred", "closed"}),
    "deferred": frozenset({"open", "closed"}),
    "closed": frozenset({"open"}),
}
_WORDS = {"needs_more_evidence": "support_weak", "coverage_gap": "focus_weakness"}


def add(
    batch: Batch,
    content: str,
    parameters: Parameters,
    at_seq: int,
    *,
    target_kind: str,
    target_id: str,
    kind: str = "other",
    actionable: bool = True,
    **fields: Any,
) -> str:
    """Open an obligation, or the same one again; returns its id. One open already stays.

    A bucket's presses on the first focus of that bucket. fields: why, source_refs,
    bucket_id, focus_id. actionable: it is to stand in Gaia's inquiry too.

    Raises:
        InputError: no content, or a word that is none.
        RecordNotFoundError: there is no such focus, bucket or node.
    """
    if not content.strip() or target_kind not in TARGETS or not target_id:
        raise InputError(
            "an obligation has content and a target", hint=f"target kinds: {', '.join(TARGETS)}"
        )
    own = _own_id(target_kind, target_id, content)
    stored = state(batch.read, due.OBLIGATION, own)
    if stored is not None and stored["status"] == "open":
        return own
    _check_target(batch.read, target_kind, target_id)
    made: Record = stored or {
        "target_kind": target_kind,
        "target_id": target_id,
        "content": content.strip(),
        "raw_kind": kind,
        "diagnostic_kind": kind if kind in KINDS else _WORDS.get(kind, "other"),
        "actionable": actionable,
    }
    made |= {name: value for name, value in fields.items() if value is not None}
    made |= _ties(batch, made)
    _open(batch, own, made, parameters, at_seq)
    return own


def _check_target(read: Read, kind: str, target_id: str) -> None:
    """One lookup; what stands under a qid is Gaia's to know, and a focus is read when pressed."""
    if kind == "bucket":
        focus.face(read, target_id)
    if kind == "node" and seq_of(read, "nodes", target_id) is None:
        raise RecordNotFoundError(
            f"no node {target_id[:80]!r}", hint="a packet's evidence and `nodes` have `node_id`s"
        )


def known(read: Read, fields: Mapping[str, Any]) -> bool:
    """Whether `add` made it before, whatever became of it. One read."""
    own = _own_id(fields["target_kind"], fields["target_id"], fields["content"])
    return state(read, due.OBLIGATION, own) is not None


def _own_id(target_kind: str, target_id: str, content: str) -> str:
    return ids.derived("obligation", target_kind, target_id, content.strip())


def step_to(
    batch: Batch, obligation_id: str, to: str, why: str, parameters: Parameters, at_seq: int
) -> Record:
    """Defer, close or open again; returns it as it is then.

    Raises:
        RecordNotFoundError
        StateConflictError: the table has no such step.
    """
    found = due.load(batch.read, obligation_id)
    if to not in STEPS[found["status"]]:
        allowed = ", ".join(sorted(STEPS[found["status"]]))
        raise StateConflictError(
            f"obligation {obligation_id} is {found['status']} and cannot become {to}",
            hint=f"from {found['status']} it can become {allowed}",
        )
    if to == "open":
        _open(batch, obligation_id, found | {"why": why}, parameters, at_seq)
    else:
        made = found | {"status": to, "due_step": None, "overdue": 0}
        made["closed_reason" if to == "closed" else "why"] = why
        batch.add("obligations", obligation_id, made)
        if outbox.close_obligation(batch, obligation_id, made):
            _let_in(batch)
        if found["status"] == "open":
            _press(batch, obligation_id, found, -1, parameters, at_seq)
    return due.load(batch.read, obligation_id)


def _open(
    batch: Batch, obligation_id: str, fields: Record, parameters: Parameters, at_seq: int
) -> None:
    step = steps.count(batch.read)
    made = {name: fields[name] for name in fields if name not in due.WAITS_BY} | {
        "status": "open",
        "opened_step": step,
        "opened_times": fields.get("opened_times", int("opened_step" in fields)) + 1,
        "due_step": due.due_step(batch.read, step + parameters.overdue_after),
        "overdue": 0,
    }
    has_room = outbox.has_room(batch.read)
    if made["actionable"] and not has_room:
        place = due.FOR_GAIA.next_place(batch.read, due.GAIA)
        made |= {"lane": due.GAIA, "place": place, "planned": False}
    batch.add("obligations", obligation_id, made)
    if made["actionable"] and has_room:
        outbox.open_obligation(batch, obligation_id, made)
    _press(batch, obligation_id, made, 1, parameters, at_seq)


def _let_in(batch: Batch) -> None:
    """Plan the one that has waited longest for room in Gaia. A few reads."""
    for obligation_id, found in due.FOR_GAIA.waiting(batch.read, due.GAIA):
        batch.add("obligations", obligation_id, found | {"planned": True})
        outbox.open_obligation(batch, obligation_id, found)
        return


def _ties(batch: Batch, fields: Record) -> Record:
    """The bucket and the focus that it is tied to, by its target where none was given."""
    ties = {}
    kind, target = fields["target_kind"], fields["target_id"]
    if kind in {"focus", "bucket"} and f"{kind}_id" not in fields:
        ties[f"{kind}_id"] = target
    bucket_id = fields.get("bucket_id") or ties.get("bucket_id")
    if bucket_id and "focus_id" not in fields and "focus_id" not in ties:
        tied = focuses_of(batch.read, bucket_id)
        ties |= {"focus_id": tied[0]} if tied else {}
    return ties


def _press(
    batch: Batch,
    obligation_id: str,
    fields: Record,
    more: int,
    parameters: Parameters,
    at_seq: int,
) -> None:
    """Tell the focus that it has one more open, or one less and what that was overdue by."""
    focus_id = fields.get("focus_id")
    if focus_id is None:
        return
    found = focus.load(batch.read, focus_id)
    named = [one for one in found["obligation_ids"] if one != obligation_id]
    if more > 0:
        named.append(obligation_id)
    overdue = found["features"]["overdue"] - (fields["overdue"] if more < 0 else 0)
    focus.change(
        batch,
        focus_id,
        "obligation_opened" if more > 0 else "obligation_closed",
        obligation_id,
        parameters,
        at_seq,
        open_obligations=found["open_obligations"] + more,
        obligation_ids=named[-focus.OBLIGATION_IDS_MAX :],
        features={"overdue": overdue},
    )
