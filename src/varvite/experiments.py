"""The mission's store of experiment sessions: one call, one session opened and let go.

Sessions are read from their indexes, records by SQL at one pass over what is asked; who
works on one session for long keeps it open (`Store.experiment`).
"""

import math
from collections.abc import Callable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from varvite import ids
from varvite.errors import (
    InputError,
    InvalidIdError,
    InvalidRecordError,
    NotFoundError,
    RecordNotFoundError,
    SessionExistsError,
    SessionNotFoundError,
    VarviteError,
)
from varvite.experiment import amending, rows
from varvite.experiment.rows import Record, Session
from varvite.experiment.session import ExperimentSession, Metric
from varvite.experiment.status import Rules

if TYPE_CHECKING:
    from varvite.query.result import Result

Listener = Callable[[str, str], None]
"""Called after a change with its name, as Fusion has them, and the session's id."""


class Sessions(Protocol):
    """What a store is to this module."""

    def experiment(self, session_id: str, **options: Any) -> ExperimentSession: ...
    def experiment_ids(self) -> list[str]: ...
    def seen(self, session_id: str, *, rules: Rules) -> Session | None: ...
    def sql(
        self, query: str, params: list[Any] | None = None, *, sessions: list[str] | None = None
    ) -> "Result": ...
    def delete(self, session_id: str) -> Any: ...
    def exists(self, session_id: str) -> bool: ...


Found = list[Session]
Records = list[Record]
Rows = list[dict[str, Any]]
Params = list[Any]


class Wanted(NamedTuple):
    """What sessions are listed by."""

    status: str | None
    project_id: str | None
    tag: str | None
    search: str | None

    def fits(self, session: Session) -> bool:
        texts = [text for text in (session.name, session.working_dir) if text is not None]
        return (
            self.status in (None, session.status)
            and self.project_id in (None, session.project_id)
            and (self.tag is None or self.tag in session.tags)
            and (self.search is None or self.search.lower() in "\n".join(texts).lower())
        )


class Experiments:
    """Create, get, list, update, delete; append, list and patch records; set pointers.

    rules: "strict", or "fusion" for programs that count on what Fusion lets through.
    """

    def __init__(self, store: Sessions, *, rules: Rules = "strict", wait_s: float = 30) -> None:
        self._store, self._rules, self._wait_s = store, rules, wait_s
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def create(
        self, name: str, metric: Metric, *, session_id: str | None = None, **about: Any
    ) -> Session:
        """A new session, active, in segment 1; `about`: see `amending.UPDATABLE`.

        Raises:
            SessionExistsError, InputError
        """
        amending.check_about(about)
        made = session_id or f"exp-{ids.uid()}"
        if self._store.exists(made):
            raise SessionExistsError(f"{made} exists", hint="open it, or choose another id")
        options = {"create": True, "rules": self._rules, "wait_s": self._wait_s}
        with self._store.experiment(made, **options) as session:
            session.start(metric, name=name, **about)
        self._tell("session:created", made)
        return self._got(made)

    def get(self, session_id: str) -> Session | None:
        """The session; None where there is none."""
        try:
            found = self._store.seen(session_id, rules=self._rules)
        except (NotFoundError, InvalidIdError):
            return None
        return found or self._asked(session_id)

    def list(
        self,
        *,
        status: str | None = None,
        project_id: str | None = None,
        tag: str | None = None,
        search: str | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> Found:
        """Sessions, the newest first. search: in name and working dir, without case.

        Reads each session's index until the page is full, and no history.

        Raises:
            InputError: a negative limit or offset.
        """
        _check_page(limit, offset)
        found = (self.get(name) for name in self._store.experiment_ids())
        wanted = Wanted(status, project_id, tag, search)
        fitting = (session for session in found if session and wanted.fits(session))
        return [*islice(fitting, offset, None if limit is None else offset + limit)]

    def update(self, session_id: str, *, status: str | None = None, **changes: Any) -> Session:
        """Change what the session is called and belongs to, or take a step of its states.

        Raises:
            SessionNotFoundError, SessionStatusError, InputError
        """
        amending.check_about(changes)
        with self._open(session_id) as session:
            if status is not None:
                session.transition(status)
            if changes:
                session.update(**changes)
        self._tell("session:updated", session_id)
        if status is not None:
            self._tell("session:status_changed", session_id)
        if status == "finalized":
            self._tell("session:finalized", session_id)
        return self._got(session_id)

    def delete(self, session_id: str) -> bool:
        """Take a session and its records out of every view; whether there was one."""
        if not self._has(session_id):
            return False
        self._store.delete(session_id)
        self._tell("session:deleted", session_id)
        return True

    def append_record(
        self,
        session_id: str,
        type: str,  # noqa: A002  (the mission's column)
        payload: Mapping[str, Any] | None = None,
        *,
        segment: int | None = None,
        key: str | None = None,
    ) -> Record:
        """Append a record; a run's payload gives `status`, `primaryMetric`, `commit` and the like.

        Raises:
            SessionNotFoundError, SessionStatusError, InvalidRecordError
        """
        record = _record(type, dict(payload or {}))
        with self._open(session_id) as session:
            made = session.append_record(record, key=key, segment=segment)
            found = session.row(made.cursor)
        self._tell("record:appended", session_id)
        return found

    def list_records(
        self,
        session_id: str,
        *,
        type: str | None = None,  # noqa: A002
        segment: int | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> Records:
        """A session's records by seq; patches, which are in the payloads, only if asked for."""
        order, wanted = "seq", {"type = ?": type, "segment = ?": segment}
        if type is None:
            wanted["type <> ?"] = "patch"
        text, params = _filtered("experiment_session_records", wanted, order)
        return [rows.record(row) for row in self._page(text, params, limit, offset, session_id)]

    def get_record(self, record_id: str) -> Record | None:
        """The record; None where no session has it."""
        found = self._rows("from experiment_session_records where id = ?", [record_id])
        return rows.record(found[0]) if found else None

    def start_new_segment(
        self,
        session_id: str,
        payload: Mapping[str, Any] | None = None,
        *,
        metric: Metric | None = None,
    ) -> Record:
        """Open a segment; without a `metric` it measures what the last one did.

        Raises:
            SessionNotFoundError, SessionStatusError
        """
        with self._open(session_id) as session:
            made = session.start_new_segment(metric, payload=dict(payload or {}))
            found = session.row(made.first)
        self._tell("segment:reset", session_id)
        self._tell("record:appended", session_id)
        return found

    def set_baseline_run(self, session_id: str, run_id: str) -> Session:
        """Point to a baseline.

        Raises:
            SessionNotFoundError, RecordNotFoundError
            InvalidRecordError: it is no run, or not of this session.
        """
        return self._with_run(session_id, run_id, ExperimentSession.set_baseline_run)

    def set_best_run(self, session_id: str, run_id: str) -> Session:
        """Point to a best run; raises as `set_baseline_run`."""
        return self._with_run(session_id, run_id, ExperimentSession.set_best_run)

    def record_kept(self, session_id: str, run_id: str) -> Session:
        """Put a run into the kept ledger, where it is not there; raises as `set_baseline_run`."""
        return self._with_run(session_id, run_id, ExperimentSession.record_kept)

    def update_record_payload(self, record_id: str, patch: Mapping[str, Any]) -> Record:
        """Merge `patch` over a record's payload, key by key; a null stays.

        Raises:
            RecordNotFoundError
            SessionStatusError: the session is done, and this is no backfill of a commit.
        """
        found = self.get_record(record_id)
        if found is None:
            raise amending.not_found(record_id)
        with self._open(found.session_id) as session:
            session.update_record_payload(record_id, dict(patch))
            return session.row(found.seq)

    def _asked(self, session_id: str) -> Session | None:
        """The session by SQL, where its index cannot tell."""
        found = self._rows("from experiment_sessions", [], session_id)
        return rows.session(found[0]) if found else None

    def _with_run(
        self, session_id: str, run_id: str, act: Callable[[ExperimentSession, str], Any]
    ) -> Session:
        with self._open(session_id) as session:
            try:
                act(session, run_id)
            except RecordNotFoundError:
                raise self._elsewhere(session_id, run_id) from None
        self._tell("session:updated", session_id)
        return self._got(session_id)

    def _elsewhere(self, session_id: str, run_id: str) -> VarviteError:
        """What is to be said of a record that the session has not."""
        found = self.get_record(run_id)
        if found is None:
            return amending.not_found(run_id)
        if found.type != "run":
            return amending.not_a_run(run_id)
        return InvalidRecordError(
            f"Experiment record {run_id} does not belong to session {session_id}", path="id"
        )

    def _open(self, session_id: str) -> ExperimentSession:
        try:
            return self._store.experiment(session_id, rules=self._rules, wait_s=self._wait_s)
        except (NotFoundError, InvalidIdError):
            raise _missing(session_id) from None

    def _has(self, session_id: str) -> bool:
        try:
            return self._store.exists(session_id)
        except InvalidIdError:
            return False

    def _got(self, session_id: str) -> Session:
        found = self.get(session_id)
        if found is None:
            raise _missing(session_id)
        return found

    def _page(
        self,
        text: str,
        params: Params,
        limit: int | None,
        offset: int,
        session_id: str | None = None,
    ) -> Rows:
        _check_page(limit, offset)
        paged = f"{text} limit {'all' if limit is None else int(limit)} offset {int(offset)}"
        return self._rows(paged, params, session_id)

    def _rows(self, text: str, params: Params, session_id: str | None = None) -> Rows:
        """The rows, of one session or of all; none where there is no such session or store."""
        only = None if session_id is None else [session_id]
        try:
            return self._store.sql(text, params, sessions=only).dicts()
        except (NotFoundError, InvalidIdError):
            return []

    def _tell(self, name: str, session_id: str) -> None:
        for listener in self._listeners:
            listener(name, session_id)


def _check_page(limit: int | None, offset: int) -> None:
    if offset < 0 or (limit is not None and limit < 0):
        raise InputError(f"limit {limit}, offset {offset}", hint="neither can be negative")


def _missing(session_id: str) -> SessionNotFoundError:
    return SessionNotFoundError(f"Experiment session not found: {session_id}")


def _filtered(view: str, wanted: Mapping[str, Any], order: str) -> tuple[str, Params]:
    given = {test: value for test, value in wanted.items() if value is not None}
    where = f" where {' and '.join(given)}" if given else ""
    return f"from {view}{where} order by {order}", [*given.values()]


def _record(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    """A record as the session takes it: of a run the fields that it knows by name stand out."""
    if kind != "run":
        return {"type": kind, "payload": payload}
    metric = payload.get("primaryMetric")
    if isinstance(metric, float) and not math.isfinite(metric):
        payload["primaryMetric"] = None
    secondary = payload.get("secondaryMetrics")
    named = {each["name"]: each["value"] for each in secondary} if secondary else None
    texts = {name: payload.get(name) for name in ("status", "commit", "description")}
    return {"type": kind, "metric": metric, "metrics": named, "payload": payload} | texts
