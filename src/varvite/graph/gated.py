"""What of a session reaches Gaia: accepted, projected, promoted, taken back."""

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from varvite.graph import contents, draining, outbox, promotion, raw, status
from varvite.graph.acts import Calls, Obligations
from varvite.graph.batch import Batch
from varvite.graph.draining import Drained
from varvite.graph.fold import fold
from varvite.graph.parameters import Parameters
from varvite.graph.port import GaiaPort, NoGaia
from varvite.graph.table import Record
from varvite.session.writer import Receipt, Writer

_T = TypeVar("_T")


class Gated:
    """A session's writer, the acts on it, and the way to Gaia."""

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

    def accept(self, node_ids: Iterable[str], *, chains: bool = False) -> list[str]:
        """Plan nodes into source packages; returns the projections.

        A variable becomes a claim of its own. A paper comes with its graph, and where
        `chains` a variable with the chains that lead to it: from the last response of the
        session that has them. What is planned or there already stays.

        Raises:
            RecordNotFoundError: there is no such variable or paper, or no response has
                the graph or the chains.
        """
        given = dict.fromkeys(node_ids)
        papers = [one for one in given if one.startswith("paper_")]
        others = [one for one in given if not one.startswith("paper_")]

        def plan(batch: Batch) -> list[str]:
            whole = [outbox.accept_whole(batch, "paper", one) for one in papers]
            if chains:
                whole += [outbox.accept_whole(batch, "chain", one) for one in others]
            claims = [] if chains else outbox.accept_known(batch, others)
            return [one for one in whole if one] + claims

        return self.act(plan)

    def project(self, limit: int = draining.LIMIT_MAX, *, check: bool = False) -> Drained:
        """Bring up to `limit` planned projections into Gaia, those first that were begun.

        check: check the package afterwards, and call what holds verified. Without Gaia
        nothing is begun, and `codes` says why.

        Raises:
            SessionStatusError, CorruptError
        """
        with self._mutex:
            return draining.drain(self, limit, check=check)

    def try_again(self, projection_ids: Iterable[str]) -> int:
        """Give projections that failed for good another five attempts; how many wait then.

        For when what they failed by was mended: uv is there, the package builds.

        Raises:
            RecordNotFoundError
            StateConflictError: one has not failed for good, or was a decision.
        """
        given = list(dict.fromkeys(projection_ids))

        def plan(batch: Batch) -> int:
            for projection_id in given:
                outbox.try_again(batch, projection_id)
            return outbox.counts(batch.read)["to_retry"]

        return self.act(plan)

    def response(self, response_id: str) -> dict[str, Any]:
        """A response as it came, its text in `raw`. Reads the part of the journal it is in.

        Raises:
            RecordNotFoundError, CorruptError
        """
        return raw.response(self._writer.folder, response_id, self.look)

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
