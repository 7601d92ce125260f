"""Emptying the outbox into Gaia, kind by kind, each part committed before the next.

What is begun is written as such first. Whatever a crash leaves so is done again: the
port says of a thing that is there already that it is.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from varvite.graph import candidates, due, outbox, promotion, sources
from varvite.graph.batch import Batch
from varvite.graph.delta import filled
from varvite.graph.packets import provider_id
from varvite.graph.port import (
    METADATA_KEY,
    ClosedObligation,
    Failure,
    FocusSet,
    GaiaPort,
    OpenObligation,
    Outcome,
    Relation,
    SourceNode,
)
from varvite.graph.table import Record, own
from varvite.session.kind import Read

LIMIT_MAX = 256
_ORDER = (
    "materialise",
    "add_package",
    "obligation",
    "focus_set",
    "candidate",
    "promotion",
    "demotion",
)
"""What comes whole goes first: a shard takes only the claims that nothing else has brought."""
_T = TypeVar("_T")
Item = tuple[str, Record]


class Acting(Protocol):
    """The session, as far as it is needed: it commits what a plan adds."""

    @property
    def id(self) -> str: ...

    @property
    def gaia(self) -> GaiaPort: ...

    def act(self, plan: Callable[[Batch], _T]) -> _T: ...

    def look(self, table: str, key: str) -> bytes | None: ...

    def nodes(self, ids: Iterable[str]) -> list[dict[str, Any]]: ...

    def response(self, response_id: str) -> dict[str, Any]: ...


class Drained(NamedTuple):
    """How many projections went which way; left: those that still wait.

    codes: of failures, and how often. gaia_s: seconds inside Gaia, of `total_s`.
    """

    applied: int = 0
    verified: int = 0
    failed: int = 0
    left: int = 0
    codes: dict[str, int] = {}  # noqa: RUF012  (never changed)
    gaia_s: float = 0.0
    total_s: float = 0.0


def drain(session: Acting, limit: int, *, check: bool = False) -> Drained:
    """Do what was begun and up to `limit` of what waits; check: and verify it.

    Without Gaia nothing is begun, and the answer says why.
    """
    began = time.monotonic()
    closed = session.gaia.probe().failure
    if closed is not None:
        codes = dict.fromkeys((one.code for one in promotion.closed(closed)), 1)
        return Drained(left=_left(session.look), codes=codes)
    work = _Work(session)
    items = session.act(lambda batch: _begin(batch, min(limit, LIMIT_MAX)))
    for kind in _ORDER:
        of_kind = [(one, found) for one, found in items if _group(found) == kind]
        if of_kind:
            work.do(kind, of_kind)
    verified = work.verify() if check and work.applied else 0
    total = time.monotonic() - began
    return Drained(
        len(work.applied) - verified,
        verified,
        sum(work.codes.values()),
        _left(session.look),
        dict(work.codes),
        work.gaia_s,
        total,
    )


def _left(read: Read) -> int:
    counts = outbox.counts(read)
    return counts["planned"] + counts["to_retry"]


def _begin(batch: Batch, limit: int) -> list[Item]:
    """What was begun and not finished, then what waits; all of it is begun afterwards."""
    items = [(one, outbox.load(batch.read, one)) for one in outbox.begun(batch.read)]
    waiting: list[Item] = []
    for item in outbox.waiting(batch.read):
        if len(waiting) >= limit:
            break
        waiting.append(item)
    for projection_id, _ in waiting:
        items.append((projection_id, outbox.step_to(batch, projection_id, "applying")))
    return items


class _Work:
    """One drain."""

    def __init__(self, session: Acting) -> None:
        self._session, self._port = session, session.gaia
        self.applied: list[str] = []
        self.codes: Counter[str] = Counter()
        self.gaia_s = 0.0

    def do(self, kind: str, items: list[Item]) -> None:
        doing: dict[str, Callable[[list[Item]], None]] = {
            "materialise": self._sources,
            "add_package": self._packages,
            "obligation": self._obligations,
            "focus_set": self._focuses,
            "candidate": self._candidates,
            "promotion": self._decisions,
            "demotion": self._decisions,
        }
        doing[kind](items)

    def verify(self) -> int:
        """Check the package, and call what was applied verified where that is well."""
        checked = self._ask(lambda: self._port.check(full=True))
        if not checked.ok:
            self.codes["check_failed"] += 1
            return 0
        done = self.applied
        self._session.act(lambda batch: [outbox.step_to(batch, one, "verified") for one in done])
        return len(done)

    def _ask(self, asking: Callable[[], _T]) -> _T:
        began = time.monotonic()
        try:
            return asking()
        finally:
            self.gaia_s += time.monotonic() - began

    def _packages(self, items: list[Item]) -> None:
        for projection_id, found in items:
            payload, read = found["payload"], self._session.look
            wanted = [one for one in payload["node_ids"] if outbox.package_ref(read, one) is None]
            nodes = self._session.nodes(wanted)
            shard = f"{self._session.id}-{payload['shard']}"
            sources = [_source(self._session.id, node) for node in nodes]
            outcomes = self._ask(lambda: self._port.add_source_shard(shard, sources))  # noqa: B023
            self._settle_package(projection_id, nodes, outcomes)

    def _settle_package(
        self, projection_id: str, nodes: Sequence[Record], outcomes: Sequence[Outcome]
    ) -> None:
        refs = {one.id: one.result["package_ref"] for one in outcomes if one.ok}
        failures = [one.failure for one in outcomes if one.failure is not None]
        whole = Outcome(projection_id, failures[0] if failures else None, result={"refs": refs})

        def plan(batch: Batch) -> None:
            self._settle(batch, projection_id, whole)
            _name_nodes(batch, nodes, refs)

        self._session.act(plan)

    def _sources(self, items: list[Item]) -> None:
        """Papers and chains, each from the response that it was accepted by."""
        for projection_id, found in items:
            source = sources.source(self._session, found)
            outcome = self._ask(lambda: self._port.materialise(source))  # noqa: B023
            refs = sources.refs(self._session.look, source, outcome)
            nodes = self._session.nodes(refs)

            def plan(batch: Batch) -> None:
                self._settle(batch, projection_id, outcome)  # noqa: B023
                _name_nodes(batch, nodes, refs)  # noqa: B023

            self._session.act(plan)

    def _obligations(self, items: list[Item]) -> None:
        """One load and one save of Gaia's state: what is closed makes room for what is opened."""
        closings = [item for item in items if item[1]["kind"] == "obligation_close"]
        closing = {_opening(found) for _, found in closings}
        openings, settled = [], []
        for item in items:
            if item[1]["kind"] == "obligation_open":
                early = self._early(item[1], closing)
                if early is None:
                    openings.append(item)
                else:
                    settled.append((item, early))
        stored = [due.load(self._session.look, found["subject_id"]) for _, found in openings]
        opened = [
            OpenObligation(
                found["subject_id"],
                str(_target(self._session.look, one)),
                one["content"],
                one["diagnostic_kind"],
            )
            for (_, found), one in zip(openings, stored, strict=True)
        ]
        closed = [
            ClosedObligation(subject, due.load(self._session.look, subject).get("gaia_qid"))
            for subject in (found["subject_id"] for _, found in closings)
        ]
        if opened or closed:
            outcomes = self._ask(lambda: self._port.sync_obligations(opened, closed))
            settled += zip([*openings, *closings], outcomes, strict=True)
        self._settle_each(settled, _name_obligation)

    def _early(self, found: Record, closing: set[str]) -> Outcome | None:
        """What becomes of an opening without Gaia being asked; None where it is to be asked."""
        if _opening(found) in closing:
            return Outcome(found["subject_id"], result={"closed": True})
        stored = due.load(self._session.look, found["subject_id"])
        if _target(self._session.look, stored) is None:
            return Outcome(found["subject_id"], _not_there(stored["target_id"]))
        return None

    def _focuses(self, items: list[Item]) -> None:
        outcomes = []
        for _, found in items:
            wanted = FocusSet(found["subject_id"], found["payload"]["question"], "question")
            outcomes.append(self._ask(lambda: self._port.set_focus(wanted)))  # noqa: B023
        self._settle_all(items, outcomes)

    def _candidates(self, items: list[Item]) -> None:
        relations: list[Relation] = []
        outcomes = []
        for _, found in items:
            subject = found["subject_id"]
            try:
                relations.append(promotion.relation(self._session.look, self._session.id, subject))
            except KeyError as error:
                outcomes.append(Outcome(subject, _not_there(error.args[0])))
        if relations:
            outcomes += self._ask(lambda: self._port.write_candidates(relations))
        self._settle_all(items, outcomes, _name_candidate)

    def _decisions(self, items: list[Item]) -> None:
        """Promotions and demotions whose end nobody saw: the port knows whether they are done."""
        read = self._session.look
        for projection_id, found in items:
            decision = found["subject_id"]
            if found["kind"] == "promotion":
                wanted = promotion.promotion(read, self._session.id, decision)
                gate = self._ask(lambda: self._port.promote(wanted))  # noqa: B023
            else:
                undone = promotion.demotion(read, decision)
                gate = self._ask(lambda: self._port.demote(undone))  # noqa: B023
            self._session.act(lambda batch: promotion.finish(batch, decision, gate))  # noqa: B023
            if gate.outcome == "applied":
                self.applied.append(projection_id)
            else:
                self.codes[gate.failure.code if gate.failure else gate.outcome] += 1

    def _settle_all(
        self,
        items: list[Item],
        outcomes: Iterable[Outcome],
        also: Callable[[Batch, Record, Outcome], None] | None = None,
    ) -> None:
        by_id: Mapping[str, Outcome] = {one.id: one for one in outcomes}
        self._settle_each([(item, by_id[item[1]["subject_id"]]) for item in items], also)

    def _settle_each(
        self,
        settled: Sequence[tuple[Item, Outcome]],
        also: Callable[[Batch, Record, Outcome], None] | None = None,
    ) -> None:
        def plan(batch: Batch) -> None:
            for (projection_id, found), outcome in settled:
                self._settle(batch, projection_id, outcome)
                if also is not None and outcome.ok:
                    also(batch, found, outcome)

        self._session.act(plan)

    def _settle(self, batch: Batch, projection_id: str, outcome: Outcome) -> None:
        result = outcome.result or None
        if outcome.failure is None:
            outbox.step_to(batch, projection_id, "applied", result=result)
            self.applied.append(projection_id)
            return
        failure = outcome.failure
        outbox.step_to(
            batch,
            projection_id,
            "failed",
            result=result,
            error=failure._asdict(),
            retryable=failure.retryable,
        )
        self.codes[failure.code] += 1


def _group(projection: Record) -> str:
    """Openings and closings are one flush."""
    kind = str(projection["kind"])
    return "obligation" if kind.startswith("obligation_") else kind


def _opening(projection: Record) -> str:
    """What an opening and the closing of it have in common."""
    return f"{projection['subject_id']}:{projection['payload'].get('opening')}"


def _target(read: Read, obligation: Record) -> str | None:
    """What the obligation is about, in Gaia's terms; None where Gaia has it not yet."""
    kind, target = obligation["target_kind"], str(obligation["target_id"])
    if kind == "node":
        return outbox.package_ref(read, target)
    if kind == "bucket":
        return str(obligation.get("focus_id") or f"focus_{target}")
    return target


def _not_there(node_id: str) -> Failure:
    return Failure("target_unknown", f"{node_id} is in no package yet", retryable=True)


def _name_nodes(batch: Batch, nodes: Iterable[Record], refs: Mapping[str, str]) -> None:
    """Record what Gaia calls each node, where it has no other name there yet."""
    for node in nodes:
        if node["id"] in refs and "package_ref" not in node:
            more = {"projection": "applied", "package_ref": refs[node["id"]]}
            batch.add("nodes", node["id"], own(node) | more)


def _name_obligation(batch: Batch, found: Record, outcome: Outcome) -> None:
    qid, subject = outcome.result.get("qid"), found["subject_id"]
    stored = due.load(batch.read, subject)
    if qid and stored.get("gaia_qid") != qid:
        batch.add("obligations", subject, stored | {"gaia_qid": qid})


def _name_candidate(batch: Batch, found: Record, outcome: Outcome) -> None:
    subject = found["subject_id"]
    stored = candidates.load(batch.read, subject)
    batch.add("candidates", subject, stored | {"gaia": dict(outcome.result)})


def _source(session_id: str, node: Record) -> SourceNode:
    """A node without a type is a claim, as in a chain."""
    kind = node.get("variable_type")
    back = {"session": session_id, "node_id": node["id"], "provider_id": provider_id(node)}
    back |= filled(paper_key=node.get("paper_key"))
    return SourceNode(
        node["id"],
        label(node["id"]),
        kind if kind in {"question", "note"} else "claim",
        node.get("content") or node.get("title") or node["id"],
        node.get("title"),
        {METADATA_KEY: back},
    )


def label(node_id: str) -> str:
    """What a node is called in its source package; ids that we make are identifiers."""
    return node_id if node_id.isidentifier() else f"node_{node_id.encode().hex()}"
