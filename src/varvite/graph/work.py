"""What is done in a session beyond submitting: focuses, answers, obligations, calls, the gate.

Each act is planned on what the index says and committed as one batch, or not at all.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import orjson

from varvite import ids
from varvite.graph import (
    answering,
    contents,
    draining,
    focus,
    importing,
    outbox,
    promotion,
    repair,
    status,
)
from varvite.graph import brief as briefs
from varvite.graph.acts import Calls, Obligations
from varvite.graph.batch import Batch
from varvite.graph.draining import Drained
from varvite.graph.fold import fold
from varvite.graph.importing import GrowthReport
from varvite.graph.packets import Packet
from varvite.graph.parameters import Parameters
from varvite.graph.port import GaiaPort, NoGaia
from varvite.graph.table import Record
from varvite.records.foreign import ForeignLog
from varvite.session.projecting import KEYS
from varvite.session.writer import Receipt, Writer

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class AssessReceipt:
    """What an answer came to: ids of candidates and obligations, and the repair contexts.

    advanced: the packet is done. Each repair context says what is wrong and what is allowed.
    """

    cursor: int
    packet_id: str
    candidates: list[str]
    repairs: list[Record]
    obligations: list[str]
    advanced: bool
    replayed: bool = False
    io: dict[str, int] = field(default_factory=dict)


class Work:
    """A session's writer, and the acts on it."""

    def __init__(self, writer: Writer, gaia: GaiaPort | None = None) -> None:
        self._writer = writer
        self._mutex = threading.RLock()
        self.gaia: GaiaPort = gaia or NoGaia()
        self.parameters = Parameters.of(writer.identity.parameters)
        self.obligations = Obligations(self)
        self.frontier = Calls(self)

    @property
    def id(self) -> str:
        return self._writer.identity.id

    @property
    def cursor(self) -> int:
        return self._writer.cursor

    def look(self, table: str, key: str) -> bytes | None:
        """The index value of a key, as of the cursor."""
        return self._writer.read(table, key)

    def act(self, plan: Callable[[Batch], _T]) -> _T:
        """Commit what `plan` adds as one batch; returns what it returns.

        Raises:
            SessionStatusError: there is something to add, and the session is paused.
        """
        return self._commit(plan)[0]

    def _commit(
        self, plan: Callable[[Batch], _T], *, key: str | None = None, checked: bool = True
    ) -> tuple[_T, Receipt | None]:
        with self._mutex:
            cursor, batch = self.cursor, Batch(self.look, fold)
            made = plan(batch)
            if not batch.records:
                return made, None
            if checked:
                status.check_takes_records(self.look, self.id)
            return made, self._writer.append(batch.records, key=key, expected_cursor=cursor)

    def open_focus(
        self,
        question: str,
        *,
        bucket_ids: Sequence[str] = (),
        focus_id: str | None = None,
        priority: str | None = None,
        status: str | None = None,
        rationale: str | None = None,
        suggested_queries: Sequence[str] = (),
    ) -> str:
        """Open a focus on some buckets, or change the one of this id or question.

        It begins with the exemplars of its buckets as evidence, each of them read by its
        id. An accepted one is planned to become Gaia's focus.

        Raises:
            InputError, LimitError
            RecordNotFoundError: a bucket that is not open.
        """
        fields: Record = {"priority": priority, "status": status, "rationale": rationale}
        fields |= {"suggested_queries": list(suggested_queries) or None}
        faces = [focus.face(self.look, one) for one in bucket_ids]
        exemplars = [one["node_id"] for face in faces for one in face["exemplars"]]

        def plan(batch: Batch) -> str:
            own = focus.open_focus(
                batch,
                question,
                self.parameters,
                self.cursor,
                bucket_ids=bucket_ids,
                nodes=self.nodes(dict.fromkeys(exemplars)),
                focus_id=focus_id,
                **fields,
            )
            self._show(batch, own)
            return own

        return self.act(plan)

    def set_focus(
        self, focus_id: str, *, status: str | None = None, priority: str | None = None
    ) -> Record:
        """Accept, defer or close a focus, or change its priority; returns it as it is then.

        Raises:
            RecordNotFoundError, InputError
        """
        given = focus.checked({"status": status, "priority": priority})

        def plan(batch: Batch) -> Record:
            made = focus.change(
                batch, focus_id, "revised", focus_id, self.parameters, self.cursor, **given
            )
            self._show(batch, focus_id)
            return made

        return self.act(plan)

    def _show(self, batch: Batch, focus_id: str) -> None:
        """Plan an accepted focus into Gaia, once for each question."""
        found = focus.load(batch.read, focus_id)
        if found["status"] == "accepted":
            payload = {"question": found["question"]}
            outbox.plan(
                batch, "focus_set", focus_id, payload, rev=ids.derived("q", *payload.values())
            )

    def packets(self, count: int = 10) -> list[Packet]:
        """The pending packets, of the focuses that wait, best first."""
        return briefs.pending(self.look, count)

    def packet(self, packet_id: str) -> Packet:
        """A pending packet.

        Raises:
            RecordNotFoundError, StateConflictError
        """
        return answering.find(Batch(self.look, fold), packet_id)

    def assess(
        self, packet: Packet | str, candidates: Iterable[Any], *, key: str | None = None
    ) -> AssessReceipt:
        """Answer a packet with relations that its evidence grounds; with none, it has none.

        A relation is {type, claim, source_refs, claim_refs, promotion_hint, pattern, label,
        rationale, epistemic_status, repairs}; the first two must be there. What it says of
        claims it says of the first one: that the others support it, or speak against it.
        One with a fault becomes a repair context, and the packet waits until it is mended
        or dropped. A key that was used returns what the first answer came to.

        Raises:
            MalformedInputError: .path of a draft that has not the shape of one.
            RecordNotFoundError: there is no such packet.
            StateConflictError: it is assessed, or a repair context is not open.
            LimitError: too many drafts.
        """
        packet_id = packet if isinstance(packet, str) else packet.id
        given = list(candidates)
        with self._mutex:
            if key is not None and self.look(KEYS, ids.record_id(key)) is not None:
                return self._first_answer(key)
            made, receipt = self._commit(
                lambda batch: self._answer(batch, packet_id, given, key), key=key
            )
            io = receipt.io if receipt else {}
            return self._receipt(self.cursor, made._asdict(), io)

    def _answer(
        self, batch: Batch, packet_id: str, given: list[Any], key: str | None
    ) -> answering.Assessed:
        made = answering.plan(batch, packet_id, given, self.parameters, self.cursor)
        payload = made._asdict() | ({"key": key} if key else {})
        batch.event(answering.ANSWERED, payload, {"packets": [packet_id]})
        return made

    def _first_answer(self, key: str) -> AssessReceipt:
        stored = self.look(answering.ANSWER, key)
        receipt = self._writer.append([], key=key)
        made: dict[str, Any] = orjson.loads(stored or b"{}")
        return self._receipt(receipt.cursor, made, receipt.io, replayed=True)

    def _receipt(
        self, cursor: int, made: dict[str, Any], io: dict[str, int], *, replayed: bool = False
    ) -> AssessReceipt:
        contexts = [{"id": one} | repair.load(self.look, one) for one in made["repairs"]]
        return AssessReceipt(cursor, **made | {"repairs": contexts}, replayed=replayed, io=io)

    def drop_repair(self, repair_id: str, why: str) -> bool:
        """Give up a draft; whether its packet is done with that.

        Raises:
            RecordNotFoundError, StateConflictError
        """
        return self.act(
            lambda batch: answering.drop(batch, repair_id, why, self.parameters, self.cursor)
        )

    def accept(self, node_ids: Iterable[str]) -> list[str]:
        """Plan nodes into source packages; returns the projections.

        Raises:
            RecordNotFoundError: there is no such variable.
        """
        given = list(node_ids)
        return self.act(lambda batch: outbox.accept_known(batch, given))

    def project(self, limit: int = draining.LIMIT_MAX, *, check: bool = False) -> Drained:
        """Bring up to `limit` planned projections into Gaia, those first that were begun.

        check: check the package afterwards, and call what holds verified. Without Gaia
        nothing is begun, and `codes` says why.

        Raises:
            SessionStatusError, CorruptError
        """
        with self._mutex:
            return draining.drain(self, limit, check=check)

    def nodes(self, node_ids: Iterable[str]) -> list[dict[str, Any]]:
        """Nodes as they stand, whole. Reads a few pages of the stream file for each."""
        return contents.records(self._writer.folder, "nodes", node_ids, self.look)

    def promote(
        self,
        candidate_id: str,
        *,
        decided_by: str | Mapping[str, str],
        why: str,
        verb: str | None = None,
        p_e_given_h: float | None = None,
    ) -> Record:
        """Let a candidate become stable knowledge, if the gate lets it; returns the decision.

        A refusal is a decision too: `outcome` and `codes` say what came of it. Without
        Gaia the first code is `gate_unavailable`, and the candidate waits.
        verb: what it becomes, if not what its pattern or hint says; `infer` needs
        p_e_given_h, how probable the first claim is, given the other one.

        Raises:
            RecordNotFoundError, InputError
        """
        who = promotion.decider(decided_by)
        with self._mutex:
            opened = self.act(
                lambda batch: promotion.open_promotion(
                    batch,
                    candidate_id,
                    who,
                    why,
                    verb=verb,
                    p_e_given_h=p_e_given_h,
                    closed=self._closed(),
                )
            )
            if not opened.refusals:
                wanted = promotion.promotion(self.look, self.id, opened.decision_id)
                gate = self.gaia.promote(wanted)
                self.act(lambda batch: promotion.finish(batch, opened.decision_id, gate))
            return self._decision(opened.decision_id)

    def demote(self, candidate_id: str, *, decided_by: str | Mapping[str, str], why: str) -> Record:
        """Take back a promotion; returns the decision, which supersedes the earlier one.

        Raises:
            RecordNotFoundError, InputError
            StateConflictError: the candidate is not promoted.
        """
        who = promotion.decider(decided_by)
        with self._mutex:
            opened = self.act(
                lambda batch: promotion.open_demotion(
                    batch, candidate_id, who, why, closed=self._closed()
                )
            )
            if not opened.refusals:
                undone = promotion.demotion(self.look, opened.decision_id)
                gate = self.gaia.demote(undone)
                self.act(lambda batch: promotion.finish(batch, opened.decision_id, gate))
            return self._decision(opened.decision_id)

    def reject(self, candidate_id: str, *, decided_by: str | Mapping[str, str], why: str) -> Record:
        """Decide against a candidate; returns the decision."""
        return self._decide(candidate_id, "reject", decided_by, why)

    def defer(self, candidate_id: str, *, decided_by: str | Mapping[str, str], why: str) -> Record:
        """Leave a candidate for later; returns the decision."""
        return self._decide(candidate_id, "defer", decided_by, why)

    def _decide(
        self, candidate_id: str, action: str, decided_by: str | Mapping[str, str], why: str
    ) -> Record:
        who = promotion.decider(decided_by)
        own = self.act(lambda batch: promotion.decide(batch, candidate_id, action, who, why))
        return self._decision(own)

    def _closed(self) -> list[promotion.Refusal]:
        return promotion.closed(self.gaia.probe().failure)

    def _decision(self, decision_id: str) -> Record:
        return {"id": decision_id} | promotion.load(self.look, decision_id)

    def import_growth(self, log: ForeignLog) -> GrowthReport:
        """Take over what a growth log has beyond what was imported from it before.

        Accepted things become candidates that are promoted, with their decisions; what was
        removed later is demoted; every line is an event. None of it passes a packet or Gaia.

        Raises:
            StateConflictError: the log was changed below what was imported.
            SessionStatusError: there is something to add, and the session is paused.
        """
        report = GrowthReport(log.source)
        with self._mutex:
            for found in log.read(importing.reached(self.look, log.source)):
                self.act(lambda batch: importing.plan(batch, log.source, found, report))  # noqa: B023
            report.cursor = self.cursor
        return report

    def pause(self, why: str = "") -> int:
        """Take no more records until someone resumes; returns the cursor.

        Raises:
            SessionStatusError: it is paused.
        """
        return self._turn("paused", why)

    def resume(self, why: str = "") -> dict[str, Any]:
        """Take records again; returns the brief.

        Raises:
            SessionStatusError: it is not paused.
        """
        self._turn("active", why)
        return self.brief()

    def _turn(self, to: str, why: str) -> int:
        self._commit(lambda batch: status.step_to(batch, self.id, to, why), checked=False)
        self._writer.write_state()
        return self.cursor

    def status(self) -> dict[str, Any]:
        """Cursor, status and totals, from the index alone."""
        summary = self._writer.kind.summary(self.look)
        return {"session_id": self.id, "cursor": self.cursor} | summary

    def brief(self, *, size: int = 1) -> dict[str, Any]:
        """All that is needed to go on; see `graph.brief`."""
        return briefs.brief(self.look, self.status(), size=size)
