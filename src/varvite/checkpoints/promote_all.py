"""The promotion gate for all candidates of a session that may become stable, one by one.

Each promotion is a decision of the session, written before and after Gaia's own, so the
job opens the session when it is told to apply, and waits for nobody.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from varvite.checkpoints.job import Acting, Job, Parameter, Stage
from varvite.checkpoints.run import Run
from varvite.checkpoints.tables import Answers
from varvite.graph import candidates, promotion
from varvite.graph.draining import LIMIT_MAX
from varvite.graph.session import GraphSession
from varvite.session.writer import Writer

_FIELDS = pa.schema(
    [
        ("candidate_id", pa.string()),
        ("seq", pa.int64()),
        ("relation_type", pa.string()),
        ("verb", pa.string()),
        ("label", pa.string()),
        ("claim", pa.string()),
        ("claims", pa.int64()),
        ("ready", pa.bool_()),
        ("waits_for", pa.list_(pa.string())),
    ]
)


def _list(run: Run) -> dict[str, Any]:
    rows = [_row(one) for one in run.ask("open_candidates").to_pylist()]
    run.put("promotable", pa.Table.from_pylist(rows, _FIELDS))
    return {"open": len(rows), "ready": sum(row["ready"] for row in rows)}


def _row(found: dict[str, Any]) -> dict[str, Any]:
    """waits_for: the gate's own codes, as far as the records say."""
    verb = promotion.verb_of(found, None)
    codes = list(_codes(found, verb))
    return {name: found.get(name) for name in _FIELDS.names} | {
        "verb": verb,
        "ready": not codes,
        "waits_for": codes,
    }


def _codes(found: dict[str, Any], verb: str | None) -> Iterator[str]:
    if not found["projected"]:
        yield "not_projected"
    if verb == promotion.SCAFFOLD:
        yield "verb_not_stable"
    if found["claims"] < promotion.RELATED:
        yield "refs_lt_2"
    if found["distinct_claims"] < found["claims"]:
        yield "refs_not_distinct"
    if verb == "contradict" and found["claims"] > promotion.RELATED:
        yield "contradict_needs_2"
    if found["in_gaia"] < found["claims"]:
        yield "target_unknown"
    if verb == "infer":
        yield "probability"


def _promote(acting: Acting) -> dict[str, int]:
    """Bring what is planned into Gaia, then ask the gate for each candidate that is open still.

    Raises:
        SessionLockedError: somebody writes in the session.
        SessionStatusError: it is paused.
    """
    receipt = acting.answers.receipt
    name = receipt.session_id or ""
    outcomes: Counter[str] = Counter()
    with Writer(acting.store, name, acting.kind_of("graph")) as writer:
        session = GraphSession(writer, gaia=acting.gaia)
        _drain(session)
        waiting = list(_asked(acting.answers, session))
        for done, row in enumerate(waiting, 1):
            decision = session.promote(
                row["candidate_id"],
                decided_by=receipt.parameters["decided_by"],
                why=receipt.parameters["why"],
                verb=row["verb"],
            )
            outcomes[decision["outcome"]] += 1
            acting.report("promoting", done, len(waiting))
    return dict(outcomes)


def _asked(answers: Answers, session: GraphSession) -> Iterator[dict[str, Any]]:
    """The first so many candidates that can be asked for and that nobody decided meanwhile."""
    rows = answers.table("promotable").to_pylist()
    fixed = {"not_projected", "target_unknown"}
    able = [row for row in rows if set(row["waits_for"]) <= fixed]
    for row in able[: answers.receipt.parameters["limit"]]:
        if candidates.load(session.look, row["candidate_id"])["status"] == "candidate":
            yield row


def _drain(session: GraphSession) -> None:
    """Until nothing that waits moves any more."""
    while (done := session.project(limit=LIMIT_MAX)).left and done.applied:
        pass


JOB = Job(
    "promote-all",
    "Which candidates may become stable, and what does each of the others wait for?",
    stages=(Stage("list", _list, ("promotable",)),),
    kind="graph",
    parameters={
        "decided_by": Parameter("policy:promote-all", "who decides: KIND:NAME"),
        "why": Parameter("Every candidate that passes the gate.", "the reason of each decision"),
        "limit": Parameter(1000, "the most candidates to ask for", 1, 100_000),
    },
    act=_promote,
)
