"""What a session asks of Gaia, and what it gets when there is no Gaia.

Nothing of Gaia is imported here. Every method may be called again with the same ids,
after a crash too: what is there already comes back as applied with `already` set, and
nothing is written twice. Gaia's own cost is in `cost_s`, apart from ours.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Protocol

from varvite.errors import InputError

GATE_UNAVAILABLE = "gate_unavailable"
METADATA_KEY = "varvite"
"""Under which our ids stand in the metadata and anchors that Gaia passes through."""
SHARD_CLAIMS_MAX = 250

ValueType = Literal["claim", "question", "note"]
Pattern = Literal["equal", "contradict", "exclusive"]
Whole = Literal["paper", "chain"]
"""A paper with its graph, or a claim with the chains that lead to it."""
Verb = Literal["contradict", "equal", "exclusive", "derive", "infer", "depends_on"]


class Failure(NamedTuple):
    code: str
    message: str
    retryable: bool = False


class Outcome(NamedTuple):
    """What became of one thing, by our id. result: what Gaia made, as `package_ref` or `qid`."""

    id: str
    failure: Failure | None = None
    already: bool = False
    result: dict[str, Any] = {}  # noqa: RUF012  (never changed: a tuple's default)

    @property
    def ok(self) -> bool:
        return self.failure is None


class Probe(NamedTuple):
    """failure: why Gaia cannot be used: gate_unavailable, gaia_too_old and so on."""

    version: str | None = None
    ir_schema: str | None = None
    failure: Failure | None = None


class Package(NamedTuple):
    path: str
    name: str
    import_name: str
    namespace: str


class SourceNode(NamedTuple):
    """A node as it goes into a source package. label: a Python identifier, of its id alone."""

    node_id: str
    label: str
    value_type: ValueType
    content: str
    title: str | None = None
    metadata: dict[str, Any] = {}  # noqa: RUF012


class Source(NamedTuple):
    """A provider's answer that has something whole. payload: its text, as it came.

    source_id: the provider's id of the paper, or of the claim.
    """

    node_id: str
    kind: Whole
    index_id: str
    source_id: str
    payload: str


class OpenObligation(NamedTuple):
    """diagnostic_kind: one of Gaia's five."""

    obligation_id: str
    target: str
    content: str
    diagnostic_kind: str


class ClosedObligation(NamedTuple):
    """qid: Gaia's, where it is known. Closing one that is gone is no failure."""

    obligation_id: str
    qid: str | None = None


class FocusSet(NamedTuple):
    """kind: question or free text, in Gaia's words."""

    focus_id: str
    focus: str
    kind: str


class Hypothesis(NamedTuple):
    hypothesis_id: str
    content: str
    scope: str | None = None


class Relation(NamedTuple):
    """A candidate_relation to write. claims: package refs; metadata has our ids."""

    candidate_id: str
    binding: str
    label: str
    claims: tuple[str, ...]
    pattern: Pattern | None
    rationale: str
    metadata: dict[str, Any] = {}  # noqa: RUF012


class Promotion(NamedTuple):
    """A stable relation to author from a candidate that Gaia has, and to materialise by it.

    The first claim is what is derived, or the evidence of `infer`, which alone takes (and
    needs) p_e_given_h: how probable it is, given the other claim. `depends_on` is refused:
    to Gaia it is no more stable than the candidate.
    """

    decision_id: str
    relation: Relation
    verb: Verb
    label: str
    rationale: str
    p_e_given_h: float | None = None


class Demotion(NamedTuple):
    """Takes back what `decision_id` promoted under `label`."""

    decision_id: str
    supersedes: str
    candidate_id: str
    label: str
    rationale: str


class Check(NamedTuple):
    ok: bool
    knowledge: int = 0
    strategies: int = 0
    operators: int = 0
    diagnostics: tuple[dict[str, Any], ...] = ()
    ir_hash: str | None = None
    cost_s: float = 0.0


class Gate(NamedTuple):
    """What the gate came to; rolled_back: the source is byte for byte what it was before."""

    outcome: Literal["applied", "rolled_back", "refused"]
    failure: Failure | None = None
    already: bool = False
    result: dict[str, Any] = {}  # noqa: RUF012
    diagnostics: tuple[dict[str, Any], ...] = ()
    check: Check | None = None
    ir_hash_before: str | None = None
    ir_hash_after: str | None = None
    gaia_version: str | None = None
    cost_s: float = 0.0


class GaiaPort(Protocol):
    """One Gaia package. Only `promote` and `demote` write what is stable."""

    def probe(self) -> Probe:
        """Whether Gaia is there, and which. Writes nothing."""

    def open_package(self, path: str) -> Package:
        """The package at `path`, for the calls that follow.

        Raises:
            InputError: there is no package; nothing was created.
        """

    def add_source_shard(self, shard: str, nodes: Sequence[SourceNode]) -> list[Outcome]:
        """Put nodes into the source package of this name, and it into the target.

        The caller keeps a shard to SHARD_CLAIMS_MAX nodes and comes back to none but the
        last. An outcome's result has `package_ref`.
        """

    def materialise(self, source: Source) -> Outcome:
        """Make a source package of a provider's answer, and it a dependency of the target.

        The result has `package`, and `refs`: package refs by the provider's ids.
        """

    def add_package(self, path: str) -> Outcome:
        """Make a local package a dependency of the target; again is no failure."""

    def sync_obligations(
        self, opened: Sequence[OpenObligation], closed: Sequence[ClosedObligation]
    ) -> list[Outcome]:
        """One load and one save of the inquiry state. An opened one's result has `qid`."""

    def set_focus(self, focus: FocusSet) -> Outcome: ...

    def add_hypotheses(self, hypotheses: Sequence[Hypothesis]) -> list[Outcome]: ...

    def write_candidates(self, relations: Sequence[Relation]) -> list[Outcome]:
        """Author provisional relations in a module of their own, then check once.

        An outcome's result has `scaffold_qid` and `module`.
        """

    def promote(self, promotion: Promotion) -> Gate:
        """Author the verb and its materialisation as one atomic batch, with its check."""

    def demote(self, demotion: Demotion) -> Gate: ...

    def check(self, *, full: bool = False, path: str | None = None) -> Check:
        """Compile and validate; reads the whole package.

        full: by the real `gaia build check`, too. path: of a source package, in its place.
        """

    def packages(self) -> list[Package]:
        """The package, then its source packages, by name."""


class NoGaia:
    """The gate is closed: what was planned stays planned, and a candidate waits."""

    FAILURE = Failure(GATE_UNAVAILABLE, "there is no Gaia to ask", retryable=True)

    def probe(self) -> Probe:
        return Probe(failure=self.FAILURE)

    def open_package(self, path: str) -> Package:
        raise InputError(
            f"{path} cannot be opened as a package: there is no Gaia",
            hint="install the extra `gaia`, or set GAIA_PYTHON",
        )

    def add_source_shard(self, shard: str, nodes: Sequence[SourceNode]) -> list[Outcome]:  # noqa: ARG002
        return [Outcome(node.node_id, self.FAILURE) for node in nodes]

    def materialise(self, source: Source) -> Outcome:
        return Outcome(source.node_id, self.FAILURE)

    def add_package(self, path: str) -> Outcome:
        return Outcome(path, self.FAILURE)

    def sync_obligations(
        self, opened: Sequence[OpenObligation], closed: Sequence[ClosedObligation]
    ) -> list[Outcome]:
        ids = [one.obligation_id for one in opened] + [one.obligation_id for one in closed]
        return [Outcome(one, self.FAILURE) for one in ids]

    def set_focus(self, focus: FocusSet) -> Outcome:
        return Outcome(focus.focus_id, self.FAILURE)

    def add_hypotheses(self, hypotheses: Sequence[Hypothesis]) -> list[Outcome]:
        return [Outcome(one.hypothesis_id, self.FAILURE) for one in hypotheses]

    def write_candidates(self, relations: Sequence[Relation]) -> list[Outcome]:
        return [Outcome(one.candidate_id, self.FAILURE) for one in relations]

    def promote(self, promotion: Promotion) -> Gate:  # noqa: ARG002
        return Gate("refused", self.FAILURE)

    def demote(self, demotion: Demotion) -> Gate:  # noqa: ARG002
        return Gate("refused", self.FAILURE)

    def check(self, *, full: bool = False, path: str | None = None) -> Check:  # noqa: ARG002
        return Check(ok=False, diagnostics=({"code": GATE_UNAVAILABLE},))

    def packages(self) -> list[Package]:
        return []
