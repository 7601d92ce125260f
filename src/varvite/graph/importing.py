"""Decisions that were made elsewhere, taken over as they were: no packet, no gate, no Gaia.

Each line of the log is one batch, and carries the place that it reaches: stopped after
any of them, an import goes on from there.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson

from varvite import ids
from varvite.errors import StateConflictError
from varvite.graph import answering, candidates
from varvite.graph.batch import Batch
from varvite.graph.delta import DEFAULT_INDEX, filled, source_key
from varvite.graph.landscape_index import SEEN_SOURCE
from varvite.graph.table import Record, Table, state
from varvite.records.foreign import LogBatch, LogCursor, Quarantined
from varvite.session.kind import Read

GROWTH = "growth_log"
PREFIX = "growth."
LABEL_CHARS_MAX = 200
_KINDS = ("variable", "factor")


@dataclass(slots=True)
class GrowthReport:
    """What an import read: events by decision, candidates made, promotions taken back.

    unknown: kinds of decision that the table has not; each is kept as an event.
    unmatched: what was removed, and no candidate is known to have made it, or an edge that
    does not go with one of its ends (`FROM KIND TO`). unread: places,
    as LINE:PATH, of what should have been added or removed and has no id; the event has it.
    """

    source: str
    lines: int = 0
    decisions: dict[str, int] = field(default_factory=dict)
    candidates: int = 0
    demotions: int = 0
    unknown: list[str] = field(default_factory=list)
    unmatched: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    quarantined: list[Quarantined] = field(default_factory=list)
    unfinished: int = 0
    cursor: int = 0


def reached(read: Read, source: str) -> LogCursor | None:
    """How far the log was imported."""
    stored = state(read, GROWTH, source)
    return None if stored is None else LogCursor(**stored)


def plan(batch: Batch, source: str, found: LogBatch, report: GrowthReport) -> None:
    """Take over one line.

    Raises:
        StateConflictError: the log was changed below what was imported.
    """
    before = reached(batch.read, source) or LogCursor()
    if found.cursor.generation != before.generation:
        raise StateConflictError(
            f"{source} was rewritten since it was imported",
            hint="import it into a session of its own",
        )
    report.unfinished = found.unfinished
    if found.cursor == before:
        return
    report.lines += found.cursor.lines - before.lines
    report.quarantined += found.quarantined
    for record in found.records:
        if record["stream"] == "growth":
            _event(batch, source, record, asdict(found.cursor), report)
        else:
            own = ids.derived("line", source, str(record["source_line"]), str(record["part"]))
            fields = {name: value for name, value in record.items() if name != "stream"}
            batch.add("quarantine", own, fields)
    if not any(record["stream"] == "growth" for record in found.records):
        payload = {"source": source, "reached": asdict(found.cursor)}
        batch.event(f"{PREFIX}line", payload)


def _event(
    batch: Batch, source: str, record: Record, cursor: dict[str, Any], report: GrowthReport
) -> None:
    made = []
    if record["becomes"] == "candidate":
        made.append(_accept(batch, source, record))
        report.candidates += 1
    undone = _undo(batch, source, record, report)
    report.demotions += len(undone)
    report.unmatched += [
        f"{src} {kind} {dst}"
        for kind, src, dst in record["cut"]
        if not {src, dst} & {*record["removed"]}
    ]
    kind = record["decision"]
    report.decisions[kind] = report.decisions.get(kind, 0) + 1
    report.unread += [f"{record['source_line']}:{path}" for path in record["unread"]]
    if not record["known"] and kind not in report.unknown:
        report.unknown.append(kind)
    payload = {"source": source, "line": record["source_line"], "reached": cursor}
    refs = filled(candidates=made or None, decisions=undone or None, event_id=record["event_id"])
    batch.event(PREFIX + kind, payload | {"event": record["event"]}, refs)


def _accept(batch: Batch, source: str, record: Record) -> str:
    """A candidate that was accepted, and the decision that accepted it."""
    key = (source, str(record["source_line"]))
    own, decision = ids.derived("candidate", *key), ids.derived("decision", *key)
    edges = [_edge(batch, own, edge) for edge in record["edges"]]
    ends = [end for edge in record["edges"] for end in edge[1:]]
    nodes = [node_of(batch.read, one) for one in ends or record["added"]]
    claims = [node for node in nodes if node is not None]
    made = {"source": source, "line": record["source_line"], "subjects": record["added"]}
    fields = {
        "relation_type": record["relation_type"],
        "status": "promoted",
        "validation": "imported",
        "claim": record["claim"],
        "label": record["label"][:LABEL_CHARS_MAX],
        "claim_refs": list(dict.fromkeys(claims)),
        "source_refs": [_ref(batch.read, one) for one in (*record["added"], *dict.fromkeys(ends))],
        "rationale": record["rationale"],
        "decision_id": decision,
        "origin": "import",
        "gaia": made | filled(edges=[edge for edge in edges if edge] or None),
    } | filled(pattern=record["pattern"])
    batch.add("candidates", own, fields)
    batch.add("decisions", decision, _decision(record, own, "promote"))
    return own


def _undo(batch: Batch, source: str, record: Record, report: GrowthReport) -> list[str]:
    """Take back the candidates that made what the event removed; ids of the decisions."""
    undone: list[str] = []
    for subject in record["removed"]:
        own = candidates.imported(batch.read, source, subject)
        found = candidates.load(batch.read, own) if own else None
        if own is None or found is None or found["status"] != "promoted":
            report.unmatched.append(subject)
            continue
        decision = ids.derived("decision", source, str(record["source_line"]), own)
        earlier = {"supersedes": found["decision_id"]}
        batch.add("decisions", decision, _decision(record, own, "demote") | earlier)
        batch.add("candidates", own, found | {"status": "demoted", "decision_id": decision})
        answering.retract(batch, own, found)
        undone.append(decision)
    return undone


def _decision(record: Record, candidate_id: str, action: str) -> Record:
    event = record["event"]
    return {
        "candidate_id": candidate_id,
        "action": action,
        "decided_by": {"kind": "agent", "name": str(event.get("actor") or "unknown")[:200]},
        "rationale": record["rationale"],
        "outcome": "applied",
        "origin": "import",
        "codes": [],
        "label": record["label"][:LABEL_CHARS_MAX],
    } | filled(verb=record["pattern"])


def _edge(batch: Batch, candidate_id: str, edge: Sequence[str]) -> list[Any] | None:
    """Add the edge where both ends are nodes of the session; its id and fields."""
    kind, src, dst = edge[0], node_of(batch.read, edge[1]), node_of(batch.read, edge[2])
    if src is None or dst is None:
        return None
    own = ids.derived("edge", kind, src, dst, candidate_id)
    fields = {
        "edge_kind": kind,
        "src": src,
        "dst": dst,
        "origin": "gaia",
        "status": "active",
        "candidate_id": candidate_id,
    }
    batch.add("edges", own, fields)
    return [own, fields]


def _ref(read: Read, name: str) -> Record:
    """A reference by the log's own name, with the node that it stands for, if it is known."""
    return {"kind": "gaia", "id": name} | filled(node_id=node_of(read, name))


def node_of(read: Read, name: str) -> str | None:
    """The session's node that the log calls by its provider's id."""
    for kind in _KINDS:
        stored = read(SEEN_SOURCE, source_key(DEFAULT_INDEX, kind, name))
        if stored is not None:
            return stored.decode()
    return None


def _sources(event: Record) -> Sequence[str]:
    return (event["payload"]["source"],) if event["type"].startswith(PREFIX) else ()


TABLES = (
    Table(
        GROWTH, "events", _sources, lambda event, _read: orjson.dumps(event["payload"]["reached"])
    ),
)
