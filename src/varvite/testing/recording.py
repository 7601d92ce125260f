"""A Gaia in memory that notes what it is asked: for tests of the session's side of the port.

It keeps the port's promise: what is asked again is there already, and nothing is made twice.
"""

from collections.abc import Sequence
from typing import Any

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
    SourceNode,
)


class CrashError(Exception):
    """Raised after the thing was made, as a process that dies there would leave it."""


class RecordingGaia:
    """calls: the names of what was asked, in order. made: what there is, by its id.

    failures: what fails, by id. crash_at: the name of a call that ends in CrashError.
    """

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.made: dict[str, Any] = {}
        self.failures: dict[str, Failure] = {}
        self.crash_at: str | None = None
        self.sound = True

    def probe(self) -> Probe:
        return Probe("0", "ir-v1")

    def open_package(self, path: str) -> Package:
        return Package(path, "field-gaia", "field", "field")

    def add_source_shard(self, shard: str, nodes: Sequence[SourceNode]) -> list[Outcome]:
        made = [
            self._make(one.node_id, one, package_ref=f"field:{shard}::{one.label}") for one in nodes
        ]
        return self._done("add_source_shard", made)

    def add_package(self, path: str) -> Outcome:
        return self._done("add_package", [self._make(path, path)])[0]

    def sync_obligations(
        self, opened: Sequence[OpenObligation], closed: Sequence[ClosedObligation]
    ) -> list[Outcome]:
        made = [
            self._make(one.obligation_id, one, qid=f"oblig_{place}")
            for place, one in enumerate(opened)
        ]
        for one in closed:
            self.made.pop(one.obligation_id, None)
            made.append(Outcome(one.obligation_id))
        return self._done("sync_obligations", made)

    def set_focus(self, focus: FocusSet) -> Outcome:
        return self._done("set_focus", [self._make(focus.focus_id, focus)])[0]

    def add_hypotheses(self, hypotheses: Sequence[Hypothesis]) -> list[Outcome]:
        made = [self._make(one.hypothesis_id, one) for one in hypotheses]
        return self._done("add_hypotheses", made)

    def write_candidates(self, relations: Sequence[Relation]) -> list[Outcome]:
        made = [
            self._make(one.candidate_id, one, scaffold_qid=f"field::{one.label}")
            for one in relations
        ]
        return self._done("write_candidates", made)

    def promote(self, promotion: Promotion) -> Gate:
        found = self._make(promotion.decision_id, promotion)
        return self._gate("promote", found)

    def demote(self, demotion: Demotion) -> Gate:
        self.made.pop(demotion.supersedes, None)
        return self._gate("demote", self._make(demotion.decision_id, demotion))

    def check(self, *, full: bool = False) -> Check:
        self.calls.append(f"check {full}")
        return Check(ok=self.sound, knowledge=len(self.made))

    def _gate(self, name: str, found: Outcome) -> Gate:
        self._done(name, [found])
        if found.failure is not None:
            return Gate("rolled_back", found.failure, ir_hash_before="a")
        return Gate("applied", already=found.already, ir_hash_before="a", ir_hash_after="b")

    def _make(self, own: str, thing: Any, **result: str) -> Outcome:
        if own in self.failures:
            return Outcome(own, self.failures[own])
        already = own in self.made
        self.made[own] = thing
        return Outcome(own, already=already, result=result)

    def _done(self, name: str, outcomes: list[Outcome]) -> list[Outcome]:
        self.calls.append(name)
        if self.crash_at == name:
            self.crash_at = None
            raise CrashError(name)
        return outcomes
