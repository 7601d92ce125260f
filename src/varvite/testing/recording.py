"""A Gaia in memory that notes what it is asked: for tests of the session's side of the port.

It keeps the port's promise: what is asked again is there already, and nothing is made twice.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from varvite.graph import port


class CrashError(Exception):
    """Raised after the thing was made, as a process that dies there would leave it."""


class RecordingGaia:
    """calls: the names of what was asked, in order. made: what there is, by its id.
    shards: the nodes of each source package.

    failures: what fails, by id. crash_at: the name of a call that ends in CrashError.
    """

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.made: dict[str, Any] = {}
        self.shards: dict[str, set[str]] = {}
        self.failures: dict[str, port.Failure] = {}
        self.crash_at: str | None = None
        self.sound = True

    def probe(self) -> port.Probe:
        return port.Probe("0", "ir-v1")

    def open_package(self, path: str) -> port.Package:
        return port.Package(path, "field-gaia", "field", "field")

    def add_source_shard(self, shard: str, nodes: Sequence[port.SourceNode]) -> list[port.Outcome]:
        self.shards.setdefault(shard, set()).update(one.node_id for one in nodes)
        made = [
            self._make(one.node_id, one, package_ref=f"field:{shard}::{one.label}") for one in nodes
        ]
        return self._done("add_source_shard", made)

    def materialise(self, source: port.Source) -> port.Outcome:
        """Every claim that the payload names becomes one, called by its provider's id."""
        package = f"source-{source.source_id}"
        refs = {one: f"lkm:{package}::{one}" for one in _names(json.loads(source.payload))}
        made = self._make(f"{source.kind} {source.node_id}", source, package=package, refs=refs)
        return self._done("materialise", [made._replace(id=source.node_id)])[0]

    def add_package(self, path: str) -> port.Outcome:
        return self._done("add_package", [self._make(path, path)])[0]

    def sync_obligations(
        self, opened: Sequence[port.OpenObligation], closed: Sequence[port.ClosedObligation]
    ) -> list[port.Outcome]:
        for one in closed:
            self.made.pop(one.obligation_id, None)
        made = [
            self._make(one.obligation_id, one, qid=f"oblig_{place}")
            for place, one in enumerate(opened)
        ]
        made += [port.Outcome(one.obligation_id) for one in closed]
        return self._done("sync_obligations", made)

    def set_focus(self, focus: port.FocusSet) -> port.Outcome:
        return self._done("set_focus", [self._make(focus.focus_id, focus)])[0]

    def add_hypotheses(self, hypotheses: Sequence[port.Hypothesis]) -> list[port.Outcome]:
        made = [self._make(one.hypothesis_id, one) for one in hypotheses]
        return self._done("add_hypotheses", made)

    def write_candidates(self, relations: Sequence[port.Relation]) -> list[port.Outcome]:
        made = [
            self._make(one.candidate_id, one, scaffold_qid=f"field::{one.label}")
            for one in relations
        ]
        return self._done("write_candidates", made)

    def promote(self, promotion: port.Promotion) -> port.Gate:
        found = self._make(promotion.decision_id, promotion)
        return self._gate("promote", found)

    def demote(self, demotion: port.Demotion) -> port.Gate:
        self.made.pop(demotion.supersedes, None)
        return self._gate("demote", self._make(demotion.decision_id, demotion))

    def packages(self) -> list[port.Package]:
        named = [port.Package(one, f"{one}-gaia", one, "field") for one in sorted(self.shards)]
        return [self.open_package("field"), *named]

    def check(self, *, full: bool = False, path: str | None = None) -> port.Check:
        self.calls.append(f"check {full}" + (f" {path}" if path else ""))
        return port.Check(ok=self.sound, knowledge=len(self.shards.get(path or "", self.made)))

    def _gate(self, name: str, found: port.Outcome) -> port.Gate:
        self._done(name, [found])
        if found.failure is not None:
            return port.Gate("rolled_back", found.failure, ir_hash_before="a")
        return port.Gate("applied", already=found.already, ir_hash_before="a", ir_hash_after="b")

    def _make(self, own: str, thing: Any, **result: Any) -> port.Outcome:
        if own in self.failures:
            return port.Outcome(own, self.failures[own])
        already = own in self.made
        self.made[own] = thing
        return port.Outcome(own, already=already, result=result)

    def _done(self, name: str, outcomes: list[port.Outcome]) -> list[port.Outcome]:
        self.calls.append(name)
        if self.crash_at == name:
            self.crash_at = None
            raise CrashError(name)
        return outcomes


def _names(value: Any) -> Iterator[str]:
    """The ids of claims anywhere in a payload."""
    if isinstance(value, list):
        for one in value:
            yield from _names(one)
    elif isinstance(value, dict):
        name = value.get("global_id") or value.get("id")
        if isinstance(name, str) and "content" in value:
            yield name
        for one in value.values():
            yield from _names(one)
