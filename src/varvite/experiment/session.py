"""An experiment session: configure, run, keep or discard; best and baseline always at hand.

Nothing here reads history: what an append must know comes from the index.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from varvite import ids
from varvite.errors import GitError, InvalidRecordError, SessionStatusError
from varvite.experiment import (
    amending,
    fold,
    given,
    importing,
    ledger,
    mirroring,
    status,
)
from varvite.experiment.concluding import Ending
from varvite.experiment.importing import ImportReport
from varvite.experiment.ledger import LogState, RunEntry, SegmentState, SessionState
from varvite.experiment.loop import Logged, Loop
from varvite.experiment.mirroring import Row, Seen
from varvite.experiment.placing import Place, moved
from varvite.experiment.rows import Record, record_of
from varvite.experiment.running import Measured
from varvite.experiment.status import Rules
from varvite.records.foreign import ForeignLog, LogBatch
from varvite.records.outcomes import DIRECTIONS
from varvite.session.kind import Kind
from varvite.session.projecting import KEYS
from varvite.session.recovery import Recovered
from varvite.session.writer import Receipt, Writer

EXPERIMENT = Kind(
    name="experiment",
    streams=("records", "quarantine", "events"),
    private=frozenset(),
    fold=fold.fold,
    summary=ledger.summary,
)


@dataclass(frozen=True, slots=True)
class Metric:
    """What a session optimises. direction: minimize or maximize."""

    name: str
    unit: str = ""
    direction: str = "minimize"

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            raise InvalidRecordError(
                f"direction {self.direction[:80]!r}", hint="minimize or maximize", path="direction"
            )


class ExperimentSession:
    """An open experiment session, around the writer that commits for it."""

    def __init__(self, writer: Writer, *, rules: Rules = "strict") -> None:
        self._writer, self._rules = writer, rules
        self._mutex = threading.RLock()
        self._reconcile()

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

    @property
    def id(self) -> str:
        return self._writer.identity.id

    @property
    def cursor(self) -> int:
        return self._writer.cursor

    def state(self) -> SessionState:
        return ledger.session_state(self._read)

    def status(self) -> str:
        return self.state().status

    def segment(self, number: int | None = None) -> SegmentState | None:
        """A segment number's counts and pointers, the current one's by default."""
        wanted = self.state().segment if number is None else number
        return ledger.segment_state(self._read, wanted)

    def baseline(self, segment: int | None = None) -> RunEntry | None:
        """The first run of the segment, whatever its status."""
        found = self.segment(segment)
        return found.baseline if found else None

    def baseline_valid(self, segment: int | None = None) -> RunEntry | None:
        """The first keep of the segment with a finite metric."""
        found = self.segment(segment)
        return found.baseline_valid if found else None

    def best(self, segment: int | None = None) -> RunEntry | None:
        """The best keep of the segment with a finite metric; the earliest of equals."""
        found = self.segment(segment)
        return found.best if found else None

    def kept(self) -> list[RunEntry]:
        """The kept runs of all segments, in order. One index lookup each."""
        return list(ledger.kept(self._read))

    def start(self, metric: Metric, *, name: str | None = None, **settings: Any) -> Receipt:
        """Append the config that says what is measured; `settings` go to its payload.

        Opens a segment after at least one run, and amends the current one before that.
        """
        record = {"type": "config", "name": name, "metric_name": metric.name}
        record |= {"metric_unit": metric.unit, "direction": metric.direction}
        return self.append_record(record | {"payload": settings or None})

    def start_new_segment(
        self, metric: Metric | None = None, *, payload: dict[str, Any] | None = None
    ) -> Receipt:
        """Append a config, which opens a segment after at least one run; see `start`.

        Without a metric it measures what the last one did. By Fusion's rules a session
        that is done takes it too, and the pointers go on into the new segment.

        Raises:
            SessionStatusError: the session is finalized or archived.
        """
        record: dict[str, Any] = {"type": "config", "payload": payload or None}
        if metric:
            record |= {"metric_name": metric.name, "metric_unit": metric.unit}
            record |= {"direction": metric.direction}
        if self._rules == "strict":
            return self.append_record(record)
        with self._mutex:
            cursor, place = self.cursor, Place(self.state())
            made = self._named(place.stamp(record | {"stream": "records"}), None, 0)
            return self._writer.append(
                [made, *self._carried(made["segment"])], expected_cursor=cursor
            )

    def append_record(
        self, record: dict[str, Any], *, key: str | None = None, segment: int | None = None
    ) -> Receipt:
        """Append one config, run, hook or finalize record; see `append_records`."""
        return self.append_records([record], key=key, segment=segment)

    def append_records(
        self,
        records: Sequence[dict[str, Any]],
        *,
        key: str | None = None,
        segment: int | None = None,
    ) -> Receipt:
        """Commit records as one batch; each gets its segment, a run its ordinal.

        A run's `metric` may be any value: what is no finite number becomes null, and
        `metric_state` says why. A `key` that was used returns the first receipt.
        Only Fusion's rules let a `segment` be another than the current one.

        Raises:
            SessionStatusError: the session is finalized or archived.
            InvalidRecordError: .path; and what `Writer.append` raises.
        """
        checked = [given.checked(record, position) for position, record in enumerate(records)]
        with self._mutex:
            cursor, state = self.cursor, self.state()
            place = Place(state)
            if key is None or self._read(KEYS, key) is None:
                status.check_takes_records(self.id, state.status)
            made = [
                self._named(moved(place.stamp(record), segment, self._rules), key, position)
                for position, record in enumerate(checked)
            ]
            return self._writer.append(made, key=key, expected_cursor=cursor)

    def transition(self, to: str, *, record: dict[str, Any] | None = None) -> Receipt:
        """Take a step of the state machine, as an event, with a record before it in one batch.

        Raises:
            SessionStatusError: there is no such step.
            InvalidRecordError: .path
        """
        with self._mutex:
            cursor, now = self.cursor, self.status()
            status.check_step(self.id, now, to, self._rules)
            event = amending.event(ledger.STATUS_CHANGED, {"from": now, "to": to})
            place, more = Place(self.state()), [given.checked(record, 0)] if record else []
            made = [self._named(place.stamp(one), None, 0) for one in more]
            return self._writer.append([*made, event], expected_cursor=cursor)

    def ending(self) -> Ending:
        """What finalize needs of the session."""
        return Ending(self, self._writer)

    def get_record(self, record_id: str) -> dict[str, Any]:
        """A record with its patches folded into `payload`. Reads one part of the journal.

        Raises:
            RecordNotFoundError
        """
        return amending.record(self._writer.folder, self._read, record_id)

    def row(self, seq: int) -> Record:
        """The record of a seq as a row of the mission's table. Reads one part of the journal."""
        line = amending.line(self._writer.folder, seq)
        return record_of(line, ledger.patched(self._read, seq), self.id)

    def pointer(self, name: str) -> str | None:
        """The id of the segment's baseline or best run: as set, by our rules else as computed."""
        set_to = self.state().pins.get(name)
        if set_to or self._rules == "fusion":
            return set_to
        entry = self.baseline() if name == "baseline" else self.best()
        return entry.id if entry else None

    def set_baseline_run(self, run_id: str) -> Receipt:
        """Point to another baseline, until the next segment. `baseline()` stays the computed one.

        Raises:
            RecordNotFoundError
            InvalidRecordError: the record is no run.
        """
        return self._point("baseline", run_id)

    def set_best_run(self, run_id: str) -> Receipt:
        """Point to another best run, until the next segment. `best()` stays the computed one.

        Raises:
            RecordNotFoundError
            InvalidRecordError: the record is no run.
        """
        return self._point("best", run_id)

    def record_kept(self, run_id: str) -> Receipt | None:
        """Add a run to the kept ledger; None where it is there already. A keep always is.

        Raises:
            RecordNotFoundError
            InvalidRecordError: the record is no run.
        """
        with self._mutex:
            cursor, run = self.cursor, amending.run_entry(self.get_record(run_id))
            amending.check_counts(self.state(), run)
            made = amending.keeping(self._read, run, self._rules)
            return self._writer.append([made], expected_cursor=cursor) if made else None

    def update_record_payload(self, record_id: str, patch: dict[str, Any]) -> Receipt:
        """Merge `patch` over a record's payload, key by key, by a record of its own.

        A null stays. The ledger goes by what a run's record said: a patch moves no pointer.

        Raises:
            RecordNotFoundError
            SessionStatusError: the session is done, and this is no backfill of a commit.
        """
        amending.check_merges(patch)
        with self._mutex:
            cursor, seq = self.cursor, amending.seq(self._read, record_id)
            if self._rules == "strict":
                amending.check_patch(
                    self.id, self.status(), patch, lambda: self.get_record(record_id)
                )
            made = Place(self.state()).stamp(amending.patch_record(seq, patch))
            return self._writer.append([self._named(made, None, 0)], expected_cursor=cursor)

    def update(self, **changes: Any) -> Receipt:
        """Say anew its name, project_id, working_dir, max_iterations, tags or metadata.

        Raises:
            InvalidRecordError: something else, or of another type.
        """
        amending.check_about(changes)
        return self._writer.append([amending.event(ledger.UPDATED, changes)])

    def loop(self, cwd: str | None = None) -> Loop:
        """The session's loop in a working folder: the config's, else the current one."""
        return Loop(self, self._writer, cwd)

    def run(self, command: str | None = None, **options: Any) -> Measured:
        """Measure, and remember it for `log`: see `Loop.run`."""
        return self.loop().run(command, **options)

    def log(self, status: str, **options: Any) -> Logged:
        """Make what was measured a run, and commit or take back its files: see `Loop.log`."""
        return self.loop().log(status, **options)

    def brief(self) -> dict[str, Any]:
        """What an agent must know after a context reset: see `Loop.brief`."""
        return {"session_id": self.id} | self.loop().brief()

    def import_log(self, log: ForeignLog) -> ImportReport:
        """Take over what a foreign log has beyond what was imported from it before.

        Each batch carries the cursor it reaches, so an import that was cut short goes
        on where it stopped, and importing again adds nothing. A log that was changed
        below the cursor is imported whole under its next generation; the runs of the
        earlier ones then stop counting.

        Raises:
            SessionStatusError: there is something to add, and the session is done.
            StateConflictError: the log was rewritten, but other runs count beside its own.
        """
        report = ImportReport(log.source)
        with self._mutex:
            before = ledger.log_state(self._read, log.source)
            for batch in log.read(importing.cursor_of(before)):
                report.add(batch, before)
                before = self._import(log.source, batch, before)
            report.cursor = self.cursor
        return report

    def mirror(self, source: str, seen: Seen, row: Callable[[], Row]) -> Receipt | None:
        """Take over what another store says of a session as a whole; None where it is as it was.

        Raises:
            RecordNotFoundError, InvalidRecordError: a pointer to what is no run here.
        """
        with self._mutex:
            if mirroring.known(self._read, source) == seen:
                return None
            made = mirroring.plan(source, seen, row(), self._read, self.get_record)
            for batch in mirroring.batches(made):
                receipt = self._writer.append(batch, expected_cursor=self.cursor)
            return receipt

    def _carried(self, segment: int) -> list[dict[str, Any]]:
        """The pointers as they stand, set again for a segment to come."""
        runs = {name: self.pointer(name) for name in amending.POINTERS}
        return [amending.pointer(name, run, segment) for name, run in runs.items() if run]

    def _point(self, name: str, run_id: str) -> Receipt:
        with self._mutex:
            cursor, run = self.cursor, amending.run_entry(self.get_record(run_id))
            state = self.state()
            amending.check_counts(state, run)
            made = amending.pointer(name, run_id, state.segment)
            return self._writer.append([made], expected_cursor=cursor)

    def _reconcile(self) -> None:
        """End what an interrupted call began; where git cannot, the next one says why."""
        for reconcile in (self.loop().reconcile, self.ending().reconcile):
            with suppress(GitError, SessionStatusError):
                reconcile()

    def _import(self, source: str, batch: LogBatch, before: LogState | None) -> LogState | None:
        cursor, state = self.cursor, self.state()
        step = importing.plan(source, batch, before, state, self._writer.identity.uid)
        if step.records:
            status.check_takes_records(self.id, state.status)
            self._writer.append(step.records, expected_cursor=cursor)
        return step.reached

    def _read(self, table: str, key: str) -> bytes | None:
        return self._writer.read(table, key)

    def _named(self, record: dict[str, Any], key: str | None, position: int) -> dict[str, Any]:
        """Give the record its id: a function of the key where there is one."""
        kind = record["type"]
        if key is None:
            return record | {"id": f"{kind}_{ids.uid()}"}
        return record | {"id": ids.derived(kind, self._writer.identity.uid, key, str(position))}
