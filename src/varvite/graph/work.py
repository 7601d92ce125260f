"""What is done in a session beyond submitting: focuses, answers, obligations, calls.

Each act is planned on what the index says and committed as one batch, or not at all.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from varvite import ids
from varvite.graph import (
    answering,
    focus,
    importing,
    outbox,
    repair,
    status,
)
from varvite.graph import brief as briefs
from varvite.graph.batch import Batch
from varvite.graph.fold import fold
from varvite.graph.gated import Gated
from varvite.graph.importing import GrowthReport
from varvite.graph.packets import Packet
from varvite.graph.table import Record
from varvite.records.foreign import ForeignLog
from varvite.session.projecting import KEYS


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


class Work(Gated):
    """What an agent does with what its searches brought."""

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
