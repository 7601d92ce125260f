"""A graph session: what a search brought becomes nodes, sightings and edges, once.

A step costs what its input costs: nothing here reads history, only single keys of
the index, and the writer commits with one write and one sync.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import orjson

from varvite import ids
from varvite.errors import InputError, LimitError
from varvite.graph import (
    bucket,
    face,
    field_map,
    focus,
    fold,
    landscape,
    outbox,
    payloads,
    regrouping,
    status,
    upkeep,
)
from varvite.graph.assigner import Assigner, Embed, assigner_of
from varvite.graph.batch import Batch
from varvite.graph.field_map import FieldPlan
from varvite.graph.focus import FocusPlan
from varvite.graph.landscape_index import SUBMISSION, TOTAL, TOTAL_KEY
from varvite.graph.payloads import Payload
from varvite.graph.port import GaiaPort
from varvite.graph.work import Work
from varvite.records.limits import BATCH_BYTES_MAX, BATCH_RECORDS_MAX
from varvite.session.kind import Kind, Read
from varvite.session.projecting import KEYS
from varvite.session.recovery import Recovered
from varvite.session.writer import Writer

RESPONSES_PER_BATCH = 8
_RAW_BYTES_PER_BATCH = BATCH_BYTES_MAX // 8


def summary(read: Read) -> dict[str, Any]:
    """The status, and what was submitted so far by the names of `landscape.TOTALLED`."""
    totals: dict[str, Any] = orjson.loads(read(TOTAL, TOTAL_KEY) or b"{}")
    return {"status": status.now(read)} | dict.fromkeys(landscape.TOTALLED, 0) | totals


GRAPH = Kind(
    name="graph",
    streams=(
        "frontier",
        "nodes",
        "edges",
        "buckets",
        "memberships",
        "focuses",
        "obligations",
        "packets",
        "candidates",
        "repair_contexts",
        "decisions",
        "projections",
        "sightings",
        "events",
    ),
    private=frozenset({"responses", "vocabulary"}),
    fold=fold.fold,
    summary=summary,
    faces={face.FILE: face.face},
    acts=upkeep.ACTS | regrouping.ACTS,
)


@dataclass(frozen=True, slots=True)
class SubmitReceipt:
    """What a batch came to. io: what committing it cost.

    counts: see `landscape.Plan`, then `FieldPlan`. touched: ids of the `buckets` and
    `focuses` that it touched, and of the `packets` that it made.
    A batch that adds nothing is not committed: its cursor is the session's, its io empty.
    """

    cursor: int
    counts: dict[str, int]
    replayed: bool = False
    io: dict[str, int] = field(default_factory=dict)
    touched: dict[str, list[str]] = field(default_factory=dict)

    @property
    def new(self) -> int:
        return self.counts["new"]

    @property
    def seen(self) -> int:
        return self.counts["seen"]

    @property
    def failed(self) -> int:
        return self.counts["failed"]

    @property
    def repeated(self) -> int:
        return self.counts["repeated"]


class GraphSession(Work):
    """An open graph session, around the writer that commits for it."""

    def __init__(
        self,
        writer: Writer,
        *,
        gaia: GaiaPort | None = None,
        assigner: Assigner | Embed | None = None,
    ) -> None:
        super().__init__(writer, gaia)
        self._assigner = assigner_of(assigner)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the session go, for the next writer to open it at the cost of one header."""
        self._writer.close()

    @property
    def recovered(self) -> Recovered | None:
        """What opening cut off the journal's end; None after a clean close."""
        return self._writer.recovered

    def submit(
        self,
        given: Iterable[Payload],
        *,
        key: str | None = None,
        query: str | None = None,
        expected_cursor: int | None = None,
    ) -> SubmitReceipt:
        """Take what one search brought, as one batch.

        query: for the payloads that name none. A response that is known adds nothing.
        A key that was used returns the first receipt, and the payloads are not looked at.

        Raises:
            MalformedInputError: a payload is not of a known shape; nothing was kept.
            InputError: something given is no payload; nothing was kept.
            LimitError: the batch is too large; nothing was kept.
            StateConflictError: `expected_cursor` is not the session's cursor.
            SessionStatusError: there is something to add, and the session is paused.
        """
        with self._mutex:
            if key is not None and self.look(KEYS, ids.record_id(key)) is not None:
                return self._first_receipt(key)
            cursor = self.cursor if expected_cursor is None else expected_cursor
            asked = (_asking(payload, query) for payload in given)
            plan = landscape.plan(asked, self.look, key=key)
            if not plan.records:
                return SubmitReceipt(self.cursor, plan.counts)
            status.check_takes_records(self.look, self.id)
            records, touched = self._step(plan, cursor)
            receipt = self._append(records, key, cursor)
        return SubmitReceipt(receipt.cursor, plan.counts, receipt.replayed, receipt.io, touched)

    def _step(
        self, plan: landscape.Plan, cursor: int
    ) -> tuple[list[dict[str, Any]], dict[str, list[str]]]:
        """All records of a step, the landscape's first, and what they touch."""
        edges = (record for record in plan.records if record["stream"] == "edges")
        field = field_map.plan(plan.arrivals, edges, self.look, self.parameters, self._assigner)
        focuses = self._focuses(field, cursor)
        touched = {
            "buckets": [change.bucket_id for change in field.changes],
            "focuses": focuses.touched,
            "packets": focuses.packets,
        }
        plan.counts.update(field.counts())
        plan.event["payload"]["touched"] = touched
        records = plan.records + field.records + focuses.records + self._accepted(plan)
        _refuse_size(records)
        return records, touched

    def _accepted(self, plan: landscape.Plan) -> list[dict[str, Any]]:
        """What the step's new variables have to become in Gaia, where all are accepted."""
        batch = Batch(self.look, fold.fold)
        if self.parameters.accept == "all":
            new = (one.node["id"] for one in plan.arrivals if one.kind == "new")
            outbox.accept(batch, new)
        return batch.records

    def _focuses(self, field: FieldPlan, cursor: int) -> FocusPlan:
        made = (record for record in field.records if record["stream"] == "buckets")
        return focus.plan(
            field.changes, Batch(self.look, fold.fold), self.parameters, cursor, buckets=made
        )

    def open_bucket(
        self,
        label: str,
        *,
        criteria: str = "",
        terms: Iterable[str] = (),
        role: str = "",
        required: bool = False,
        bucket_id: str | None = None,
    ) -> str:
        """Open a part of the field, for new nodes to be assigned to; returns its id.

        criteria: what belongs to it, in words. terms: words and phrases of its texts, each
        a gap until a node of it has them. role: `out_of_scope` for what is not to be covered.
        Opened again with the same meaning it adds nothing.

        Raises:
            InputError, LimitError, InvalidIdError: .path of what is refused.
            StateConflictError: it is open, and means something else.
        """
        made = bucket.defined(
            label,
            bucket_id=bucket_id,
            criteria=criteria,
            terms=terms,
            role=role,
            required=required,
        )
        with self._mutex:
            plan = field_map.opening(made, self.look, self.parameters, self._assigner)
            if plan.records:
                status.check_takes_records(self.look, self.id)
                cursor = self.cursor
                self._append(plan.records + self._focuses(plan, cursor).records, None, cursor)
        return made.id

    def field_map(self) -> dict[str, Any]:
        """What `field_map.json` shows, as of the cursor. Costs a lookup a bucket."""
        return face.face(self.look)

    def submit_file(
        self, file: str, *, query: str | None = None, responses_per_batch: int = RESPONSES_PER_BATCH
    ) -> Iterator[SubmitReceipt]:
        """Submit a file as it lies there, a few responses a batch; yields after each.

        Cut short, it is run again: what was committed is known by then, and adds nothing.

        Raises:
            MalformedInputError: .file .line .offset; the batches before it are committed.
            LimitError: one response alone is too large; .file .line .offset.
        """
        for batch in _batches(payloads.in_file(file), responses_per_batch):
            yield from self._submit_parts(batch, query)

    def _submit_parts(self, batch: list[Payload], query: str | None) -> Iterator[SubmitReceipt]:
        """Submit a batch, and in halves one that makes more records than a batch may have."""
        try:
            receipt = self.submit(batch, query=query)
        except LimitError as error:
            half = len(batch) // 2
            if not half:
                raise _placed(error, batch[0]) from None
        else:
            yield receipt
            return
        for part in (batch[:half], batch[half:]):
            yield from self._submit_parts(part, query)

    def _append(self, records: list[dict[str, Any]], key: str | None, cursor: int) -> Any:
        try:
            return self._writer.append(records, key=key, expected_cursor=cursor)
        except LimitError as error:
            error.hint = "submit fewer responses in a batch, or ask for fewer hits in a call"
            raise

    def _first_receipt(self, key: str) -> SubmitReceipt:
        receipt = self._append([], key, self.cursor)
        counts, touched = orjson.loads(self.look(SUBMISSION, key) or b"[{},{}]")
        counts = dict.fromkeys(landscape.COUNTED, 0) | counts
        return SubmitReceipt(receipt.cursor, counts, replayed=True, io=receipt.io, touched=touched)


def _asking(payload: Payload, query: str | None) -> Payload:
    if not isinstance(payload, Payload):
        raise InputError(
            f"a payload is expected, not a {type(payload).__name__}",
            hint="`from_hits(hits, query=…)` makes one of hits; submit takes a list of them",
        )
    return payload if payload.query else payload._replace(query=query)


def _refuse_size(records: list[dict[str, Any]]) -> None:
    if len(records) > BATCH_RECORDS_MAX:
        raise LimitError(
            f"the payloads make a batch of {len(records)} records; the limit is "
            f"{BATCH_RECORDS_MAX}",
            hint="submit fewer responses in a batch, or ask for fewer hits in a call",
            path="[]",
            limit=BATCH_RECORDS_MAX,
        )


def _placed(error: LimitError, payload: Payload) -> LimitError:
    where = {"file": payload.lies_in, "line": payload.line, "offset": payload.offset}
    return LimitError(
        f"{payload.place()}: {error.message}",
        hint="one response is too large: ask for fewer hits in a call, or for shorter ones",
        **error.data | where,
    )


def _batches(given: Iterable[Payload], responses: int) -> Iterator[list[Payload]]:
    batch: list[Payload] = []
    size = 0
    for payload in given:
        if batch and (len(batch) >= responses or size + len(payload.raw) > _RAW_BYTES_PER_BATCH):
            yield batch
            batch, size = [], 0
        batch.append(payload)
        size += len(payload.raw)
    if batch:
        yield batch
