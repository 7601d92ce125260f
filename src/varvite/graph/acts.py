"""The acts of a session by their subject: `session.obligations.open`, `session.frontier.lease`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from varvite.clock import now as clock_now
from varvite.graph import due, frontier, obligations
from varvite.graph.batch import Batch
from varvite.graph.parameters import Parameters
from varvite.graph.table import Record

_T = TypeVar("_T")


class Acting(Protocol):
    """The session that the acts are committed to."""

    parameters: Parameters

    @property
    def cursor(self) -> int: ...

    def act(self, plan: Callable[[Batch], _T]) -> _T: ...

    def look(self, table: str, key: str) -> bytes | None: ...


class Obligations:
    """What must be answered; each act is committed when it returns."""

    def __init__(self, session: Acting) -> None:
        self._session = session

    def open(
        self,
        content: str,
        *,
        target_kind: str,
        target_id: str,
        kind: str = "other",
        why: str | None = None,
        actionable: bool = True,
        source_refs: Sequence[Any] | None = None,
        bucket_id: str | None = None,
        focus_id: str | None = None,
    ) -> str:
        """Open an obligation; returns its id. The same again changes nothing while it is open.

        Raises:
            InputError, RecordNotFoundError
        """
        return self._session.act(
            lambda batch: obligations.add(
                batch,
                content,
                self._session.parameters,
                self._session.cursor,
                target_kind=target_kind,
                target_id=target_id,
                kind=kind,
                why=why,
                actionable=actionable,
                source_refs=list(source_refs) if source_refs else None,
                bucket_id=bucket_id,
                focus_id=focus_id,
            )
        )

    def defer(self, obligation_id: str, why: str) -> Record:
        """Leave it for later: it falls due no more. Raises as `close`."""
        return self._step(obligation_id, "deferred", why)

    def close(self, obligation_id: str, why: str) -> Record:
        """Close it, for a reason; returns it as it is then.

        Raises:
            RecordNotFoundError
            StateConflictError: it is closed.
        """
        return self._step(obligation_id, "closed", why)

    def reopen(self, obligation_id: str, why: str) -> Record:
        """Open a deferred or closed one again. Raises as `close`."""
        return self._step(obligation_id, "open", why)

    def at_hand(self) -> list[Record]:
        """The first of the open ones, overdue ones before others: at most `due.WINDOW`."""
        read = self._session.look
        return [{"id": one} | due.load(read, one) for one, _ in due.at_hand(read).window]

    def _step(self, obligation_id: str, to: str, why: str) -> Record:
        session = self._session
        return session.act(
            lambda batch: obligations.step_to(
                batch, obligation_id, to, why, session.parameters, session.cursor
            )
        )


class Calls:
    """The frontier: calls to be made; each act is committed when it returns."""

    def __init__(self, session: Acting) -> None:
        self._session = session

    def add(
        self,
        request: Mapping[str, Any],
        *,
        item_kind: str = "query",
        priority: str = "medium",
        dedup_key: str | None = None,
        origin: Mapping[str, Any] | None = None,
    ) -> str:
        """Add a call; returns its id. The same again adds nothing.

        Raises:
            InputError
        """
        return self._session.act(
            lambda batch: frontier.add(
                batch,
                request,
                item_kind=item_kind,
                priority=priority,
                dedup_key=dedup_key,
                origin=origin,
            )
        )

    def lease(
        self,
        count: int = 1,
        *,
        by: str = "agent",
        until: str | None = None,
        for_steps: int | None = None,
        now: str | None = None,
    ) -> list[Record]:
        """Take up to `count` calls, whose leases end at `until` or after `for_steps` steps.

        now: the caller's time; the clock's unless given.

        Raises:
            InputError
        """
        moment = now or clock_now()
        leased = self._session.act(
            lambda batch: frontier.lease(
                batch, count, by=by, now=moment, until=until, for_steps=for_steps
            )
        )
        return [self.find(one) for one in leased]

    def done(self, call_id: str, *, by: str | None = None, **fields: Any) -> Record:
        """Say that a leased call was made; fields: response_id, hits, new_nodes.

        Raises:
            RecordNotFoundError
            StateConflictError: it is not leased, or to someone else.
        """
        return self._finish(call_id, "done", by, fields)

    def failed(self, call_id: str, *, by: str | None = None, **fields: Any) -> Record:
        """Say that a leased call failed; fields: code, message. Raises as `done`."""
        return self._finish(call_id, "failed", by, fields)

    def skip(self, call_id: str, *, by: str | None = None, **fields: Any) -> Record:
        """Give a call up; fields: message. Raises as `done`."""
        return self._finish(call_id, "skipped", by, fields)

    def retry(self, call_id: str) -> str:
        """Add a failed call again; returns the new attempt's id.

        Raises:
            RecordNotFoundError, StateConflictError
        """
        return self._session.act(lambda batch: frontier.retry(batch, call_id))

    def find(self, call_id: str) -> Record:
        return {"id": call_id} | frontier.load(self._session.look, call_id)

    def counts(self) -> dict[str, int]:
        return frontier.counts(self._session.look)

    def _finish(
        self, call_id: str, status: str, by: str | None, fields: Mapping[str, Any]
    ) -> Record:
        return self._session.act(
            lambda batch: frontier.finish(batch, call_id, status, by=by, **fields)
        )
