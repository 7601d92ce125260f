"""The port of a session, over calls that an implementation makes somewhere.

A call that fails as a whole fails each thing that it was asked for: all of them may be
asked for again, so nothing is guessed about how far it came.
"""

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

from varvite.errors import InputError
from varvite.gaia.live.faults import Fault
from varvite.graph.port import (
    Check,
    ClosedObligation,
    Demotion,
    Failure,
    FocusSet,
    Gate,
    Hypothesis,
    OpenObligation,
    Outcome,
    Package,
    Probe,
    Promotion,
    Relation,
    Source,
    SourceNode,
)

Answer = dict[str, Any]


class Spent(NamedTuple):
    """CPU seconds since the port was made: Gaia's (uv included), and ours around it."""

    gaia_s: float = 0.0
    ours_s: float = 0.0
    calls: int = 0


class LivePort:
    """A GaiaPort by `call`, which is all that an implementation adds.

    owner: the session, whose obligations are told from another's by it. open_max: how
    many of its obligations may be open in Gaia at once.
    """

    def __init__(self, *, owner: str = "", open_max: int = 256) -> None:
        self.owner, self.open_max = owner, open_max
        self.spent = Spent()
        self.package: Package | None = None
        self._mutex = threading.Lock()

    def call(self, name: str, arguments: Answer) -> Answer:
        """Run one of `live.calls`; `value`, `gaia_s` and `ours_s`.

        Raises:
            Fault
        """
        raise NotImplementedError

    def close(self) -> None:
        """Let go of what the calls run in."""

    def ask(self, name: str, **arguments: Any) -> Any:
        with self._mutex:
            done = self.call(name, arguments)
        gaia_s, ours_s, calls = self.spent
        self.spent = Spent(gaia_s + done["gaia_s"], ours_s + done["ours_s"], calls + 1)
        return done["value"]

    def probe(self) -> Probe:
        try:
            found = self.ask("probe")
        except Fault as fault:
            return Probe(failure=_failure(fault.as_dict()))
        return Probe(found["version"], found["ir_schema"])

    def open_package(self, path: str) -> Package:
        try:
            self.package = Package(**self.ask("open_package", path=path))
        except Fault as fault:
            raise InputError(
                fault.message, hint="name a package made by `gaia pkg scaffold`", reason=fault.code
            ) from None
        return self.package

    def add_source_shard(self, shard: str, nodes: Sequence[SourceNode]) -> list[Outcome]:
        ids = [node.node_id for node in nodes]
        given = [node._asdict() for node in nodes]
        return self._outcomes(ids, "add_source_shard", shard=shard, nodes=given)

    def materialise(self, source: Source) -> Outcome:
        return self._outcomes([source.node_id], "materialise", source=source._asdict())[0]

    def add_package(self, path: str) -> Outcome:
        return self._outcomes([path], "add_package", added=path)[0]

    def sync_obligations(
        self, opened: Sequence[OpenObligation], closed: Sequence[ClosedObligation]
    ) -> list[Outcome]:
        return self._outcomes(
            [one.obligation_id for one in opened] + [one.obligation_id for one in closed],
            "sync_obligations",
            opened=[one._asdict() for one in opened],
            closed=[one._asdict() for one in closed],
            owner=self.owner,
            open_max=self.open_max,
        )

    def set_focus(self, focus: FocusSet) -> Outcome:
        given = {"focus": focus._asdict(), "owner": self.owner}
        return self._outcomes([focus.focus_id], "set_focus", **given)[0]

    def add_hypotheses(self, hypotheses: Sequence[Hypothesis]) -> list[Outcome]:
        ids = [one.hypothesis_id for one in hypotheses]
        given = [one._asdict() for one in hypotheses]
        return self._outcomes(ids, "add_hypotheses", hypotheses=given, owner=self.owner)

    def write_candidates(self, relations: Sequence[Relation]) -> list[Outcome]:
        ids = [one.candidate_id for one in relations]
        given = [one._asdict() for one in relations]
        return self._outcomes(ids, "write_candidates", relations=given)

    def promote(self, promotion: Promotion) -> Gate:
        given = promotion._asdict() | {"relation": promotion.relation._asdict()}
        return self._gate("promote", promotion=given)

    def demote(self, demotion: Demotion) -> Gate:
        return self._gate("demote", demotion=demotion._asdict())

    def packages(self) -> list[Package]:
        return [Package(**one) for one in self.ask("packages", path=self._path())]

    def check(self, *, full: bool = False, path: str | None = None) -> Check:
        before = self.spent
        try:
            found = self.ask("check", path=path or self._path(), full=full)
        except Fault as fault:
            return Check(ok=False, diagnostics=(fault.as_dict(),))
        return _check(found, self.spent.gaia_s - before.gaia_s)

    def fetch(
        self,
        index_id: str,
        method: str,
        path: str,
        *,
        body: Answer | None = None,
        params: Answer | None = None,
    ) -> Answer:
        """What an LKM index answered, errors that it reports included.

        Raises:
            Fault: the index could not be asked; `retryable` where asking again may help.
        """
        given = {"index_id": index_id, "method": method, "path": path}
        return dict(self.ask("fetch", **given, body=body, params=params))

    def _path(self) -> str:
        if self.package is None:
            raise InputError("no package is open", hint="open_package comes first")
        return self.package.path

    def _outcomes(self, ids: list[str], name: str, **arguments: Any) -> list[Outcome]:
        if not ids:
            return []
        try:
            found = self.ask(name, path=self._path(), **arguments)
        except Fault as fault:
            failure = _failure(fault.as_dict())
            return [Outcome(one, failure) for one in ids]
        return [_outcome(one) for one in (found if isinstance(found, list) else [found])]

    def _gate(self, name: str, **arguments: Any) -> Gate:
        before = self.spent
        try:
            found = self.ask(name, path=self._path(), **arguments)
        except Fault as fault:
            return Gate("refused", _failure(fault.as_dict()))
        cost_s = self.spent.gaia_s - before.gaia_s
        return Gate(
            found["outcome"],
            _failure(found["failure"]),
            found["already"],
            found["result"],
            tuple(found["diagnostics"]),
            _check(found["check"], cost_s) if found["check"] else None,
            found["ir_hash_before"],
            found["ir_hash_after"],
            found["gaia_version"],
            cost_s,
        )


def _failure(found: Answer | None) -> Failure | None:
    return Failure(**found) if found else None


def _outcome(found: Answer) -> Outcome:
    return Outcome(found["id"], _failure(found["failure"]), found["already"], found["result"])


def _check(found: Answer, cost_s: float) -> Check:
    given = found | {"diagnostics": tuple(found["diagnostics"])}
    return Check(**given, cost_s=cost_s)
