"""The promotion gate: the only place that authors what is stable, and takes it back."""

from typing import Any

from . import files, modules, probing, statements
from .authoring import author, operation
from .building import Built, build, refuse_broken
from .cost import Meter
from .faults import METADATA_KEY, Fault, is_ours, refuse
from .package import Package, open_package
from .references import Reference, Scope
from .relations import there

PREFIX = "promotion_"
PATTERNS = {"equal", "contradict", "exclusive"}
NOT_COMPILED = "not_compiled"
VERBS = PATTERNS | {"derive", "infer"}
WHY = "A relation that was promoted from a candidate, by a decision of a research session."

Promotion = dict[str, Any]
Demotion = dict[str, Any]
Gate = dict[str, Any]


class Refused(Exception):  # noqa: N818  (rolls the module back, and becomes the gate's outcome)
    def __init__(self, diagnostics: list[dict[str, str]]) -> None:
        super().__init__(diagnostics[0]["message"])
        self.diagnostics = diagnostics


def promote(meter: Meter, path: str, promotion: Promotion) -> Gate:
    """Preflight, then verb and materialisation as one checked batch of Gaia's.

    Builds the package three times: before, in the batch, and after, to leave the
    artifacts and to see that the relation is in what was compiled.
    """
    package = open_package(path, meter)
    with files.locked(package.lock):
        modules.recover(package)
        try:
            scope = Scope(package)
            if _is_promoted(scope, promotion):
                return _applied(package, build(package.root, meter), None, already=True)
            refs = _preflight(scope, promotion)
            before = _before(package, meter)
        except Fault as fault:
            return _refused(fault)
        return _author(package, scope, promotion, refs, before, meter)


def demote(meter: Meter, path: str, demotion: Demotion) -> Gate:
    """Take the promotion's module away, if the package builds without it.

    Gaia has no verb that takes a statement back; the module holds nothing else.
    """
    package = open_package(path, meter)
    with files.locked(package.lock):
        modules.recover(package)
        try:
            found = Scope(package).own.get(demotion["label"])
            if found is None:
                return _applied(package, build(package.root, meter), None, already=True)
            if found.module != f"{package.import_name}.authored.{PREFIX}{demotion['label']}":
                refuse("label_collision", f"{demotion['label']} is not ours to take back")
            before = _before(package, meter)
        except Fault as fault:
            return _refused(fault)
        try:
            with modules.set_aside(package, PREFIX + demotion["label"]):
                after = build(package.root, meter, write=True)
                _refuse_all([] if after.is_empty else after.diagnostics)
        except Refused as refused:
            return _rolled_back(refused, before)
        return _applied(package, after, before)


def _refuse_all(diagnostics: list[dict[str, str]]) -> None:
    if diagnostics:
        raise Refused(diagnostics)


def _is_promoted(scope: Scope, promotion: Promotion) -> bool:
    """Whether an earlier call with this decision wrote both statements."""
    label = promotion["label"]
    statements.refuse_label(label)
    link = scope.own.get(f"<materialize:{_link(label)}>")
    if label not in scope.own or link is None:
        return False
    if is_ours(link.metadata, {METADATA_KEY: {"decision_id": promotion["decision_id"]}}):
        return True
    raise Fault("label_collision", f"{label} was promoted by another decision")


def _preflight(scope: Scope, promotion: Promotion) -> list[Reference]:
    relation, verb = promotion["relation"], promotion["verb"]
    if verb not in VERBS:
        raise Fault("verb_not_stable", f"{verb} states nothing that a candidate could become")
    if there(scope, relation) is None:
        raise Fault("not_projected", f"{relation['candidate_id']} is not in the package yet")
    scope.refuse_taken(promotion["label"], promotion["label"])
    refs = scope.claims(list(relation["claims"]))
    pattern = relation["pattern"]
    if pattern is not None and verb in PATTERNS and pattern != verb:
        raise Fault("pattern_mismatch", f"a candidate to {pattern} cannot be promoted by {verb}")
    if (verb in PATTERNS or verb == "infer") and len(refs) != 2:  # noqa: PLR2004
        raise Fault("verb_needs_2", f"{verb} takes two claims, not {len(refs)}")
    if (verb == "infer") is not _is_probability(promotion.get("p_e_given_h")):
        raise Fault("probability", "infer, and it alone, takes p_e_given_h between 0 and 1")
    return refs


def _is_probability(given: Any) -> bool:
    return isinstance(given, int | float) and 0 < given < 1


def _before(package: Package, meter: Meter) -> Built:
    built = build(package.root, meter)
    refuse_broken(built, package.root)
    return built


def _author(
    package: Package,
    scope: Scope,
    promotion: Promotion,
    refs: list[Reference],
    before: Built,
    meter: Meter,
) -> Gate:
    module = PREFIX + promotion["label"]
    try:
        with modules.writing(package, module, WHY):
            given = _operations(package, scope, promotion, refs, module)
            diagnostics = author(package, given, meter, check=True)
            _refuse_all(diagnostics)
            after = build(package.root, meter, write=True)
            if not _is_compiled(package, after, promotion["label"]):
                _refuse_all([*after.diagnostics, _not_compiled(promotion["label"])])
    except Refused as refused:
        if refused.diagnostics[-1]["code"] == NOT_COMPILED:
            build(package.root, meter, write=True)
        return _rolled_back(refused, before)
    return _applied(package, after, before, label=promotion["label"])


def _operations(
    package: Package, scope: Scope, promotion: Promotion, refs: list[Reference], module: str
) -> list[Any]:
    label, verb = promotion["label"], promotion["verb"]
    names = [one.alias for one in refs]
    rationale = statements.escaped(promotion["rationale"])
    stated = statements.call(verb, _arguments(promotion, names), rationale=rationale, label=label)
    scaffold = promotion["relation"]["binding"]
    linked = statements.call(
        "materialize",
        f"{scaffold}, by=[{label!r}]",
        label=_link(label),
        rationale=rationale,
        metadata=_metadata(promotion),
    )
    candidate = Reference(scope.own[scaffold].module, scaffold, scaffold)
    return [
        operation(verb, f"{label} = {stated}", module, refs, label=label, package=package),
        operation("materialize", linked, module, [candidate], package=package, kind="scaffold"),
    ]


def _metadata(promotion: Promotion) -> dict[str, Any]:
    ours = promotion["relation"]["metadata"].get(METADATA_KEY, {})
    return {METADATA_KEY: ours | {"decision_id": promotion["decision_id"]}}


def _arguments(promotion: Promotion, names: list[str]) -> str:
    """The first claim is what is concluded; for infer it is the evidence."""
    if promotion["verb"] == "derive":
        return f"{names[0]}, given=[{', '.join(names[1:])}]"
    if promotion["verb"] == "infer":
        return f"{names[0]}, hypothesis={names[1]}, p_e_given_h={promotion['p_e_given_h']!r}"
    return ", ".join(names)


def _link(label: str) -> str:
    return f"{label}_link"


def _is_compiled(package: Package, built: Built, label: str) -> bool:
    wanted = package.qid(label, "action::")
    compiled = [*built.graph.get("operators", ()), *built.graph.get("strategies", ())]
    return any((one.get("metadata") or {}).get("action_label") == wanted for one in compiled)


def _not_compiled(label: str) -> dict[str, str]:
    return {"code": NOT_COMPILED, "message": f"{label} is not in the compiled graph"}


def _applied(
    package: Package,
    after: Built,
    before: Built | None,
    *,
    already: bool = False,
    label: str | None = None,
) -> Gate:
    result = {"binding": label, "action_qid": package.qid(label, "action::")} if label else {}
    return _gate("applied", after, before) | {"already": already, "result": result}


def _refused(fault: Fault) -> Gate:
    return _gate("refused", None, None) | {"failure": fault.as_dict()}


def _rolled_back(refused: Refused, before: Built) -> Gate:
    first = refused.diagnostics[0]
    failure = {"code": first["code"], "message": first["message"], "retryable": False}
    return _gate("rolled_back", before, before) | {
        "failure": failure,
        "diagnostics": refused.diagnostics,
        "check": before.check() | {"ok": False, "diagnostics": refused.diagnostics},
    }


def _gate(outcome: str, after: Built | None, before: Built | None) -> Gate:
    return {
        "outcome": outcome,
        "failure": None,
        "already": False,
        "result": {},
        "diagnostics": [],
        "check": after.check() if after else None,
        "ir_hash_before": before.graph.get("ir_hash") if before else None,
        "ir_hash_after": after.graph.get("ir_hash") if after else None,
        "gaia_version": probing.installed(),
    }
