"""Candidate relations: provisional, one module a batch, checked before they are left there."""

from collections.abc import Sequence
from typing import Any

from . import files, modules, statements
from .authoring import author, operation
from .building import build, refuse_broken, sift
from .cost import Meter
from .faults import Answer, Fault, applied, failed, is_ours
from .package import Package, open_package
from .references import Reference, Scope

PREFIX = "candidates_"
PATTERNS = (None, "equal", "contradict", "exclusive")
WHY = "Candidate relations of a research session: hypotheses, not yet anyone's claim."

Relation = dict[str, Any]
Resolved = tuple[Relation, list[Reference]]


def write_candidates(meter: Meter, path: str, relations: Sequence[Relation]) -> list[Answer]:
    """Refuse what Gaia would take by mistake, author the rest, keep what builds.

    Raises:
        Fault: not_a_package, package_busy, package_broken; nothing was written.
    """
    package = open_package(path, meter)
    answers: dict[str, Answer] = {}
    with files.locked(package.lock):
        modules.recover(package)
        new = _new(package, relations, answers)
        if new:
            module = PREFIX + statements.digest(*(one["binding"] for one, _ in new))
            _write(package, module, new, answers, meter)
    return [answers[one["candidate_id"]] for one in relations]


def _new(
    package: Package, relations: Sequence[Relation], answers: dict[str, Answer]
) -> list[Resolved]:
    scope = Scope(package)
    new: list[Resolved] = []
    for one in relations:
        our_id = one["candidate_id"]
        try:
            found = there(scope, one)
            if found is not None:
                module = found.module.rpartition(".")[2]
                answers[our_id] = _answer(package, one, module, already=True)
                continue
            new.append((one, preflight(scope, one)))
            scope.own[one["binding"]] = statements.Statement(one["binding"], "")
            scope.labels.add(one["label"])
        except Fault as fault:
            answers[our_id] = failed(our_id, fault)
    return new


def there(scope: Scope, relation: Relation) -> statements.Statement | None:
    """The statement that an earlier call wrote for this candidate.

    Raises:
        Fault: label_collision, where the name means something else.
    """
    found = scope.own.get(relation["binding"])
    if found is None:
        return None
    if found.call == "candidate_relation" and is_ours(found.metadata, relation["metadata"]):
        return found
    raise Fault("label_collision", f"{relation['binding']} is bound to something else")


def preflight(scope: Scope, relation: Relation) -> list[Reference]:
    """The claims, where Gaia may be asked for this relation."""
    for name in (relation["binding"], relation["label"]):
        statements.refuse_label(name)
    scope.refuse_taken(relation["binding"], relation["label"])
    pattern = relation["pattern"]
    if pattern not in PATTERNS:
        raise Fault("pattern_unknown", f"{pattern!r} is no pattern of Gaia's")
    refs = scope.claims(list(relation["claims"]))
    if pattern is not None and len(refs) != 2:  # noqa: PLR2004
        raise Fault("pattern_needs_2", f"{pattern} holds between two claims, not {len(refs)}")
    return refs


def _write(
    package: Package,
    module: str,
    new: list[Resolved],
    answers: dict[str, Answer],
    meter: Meter,
) -> None:
    def attempt(given: Sequence[Resolved]) -> list[dict[str, str]]:
        seed = modules.SEED.format(why=WHY).encode() if given else None
        _replace(modules.path_of(package, module), seed)
        if given:
            operations = [_operation(package, module, given)]
            diagnostics = author(package, operations, meter, check=False)
            return diagnostics or build(package.root, meter, write=True).diagnostics
        refuse_broken(build(package.root, meter), package.root)
        return []

    with modules.writing(package, module, WHY):
        good, bad = sift(new, attempt)
    for (one, _), fault in bad:
        answers[one["candidate_id"]] = failed(one["candidate_id"], fault)
    for one, _ in good:
        answers[one["candidate_id"]] = _answer(package, one, module, already=False)


def _replace(path: str, data: bytes | None) -> None:
    if data is None:
        files.remove(path)
    else:
        files.replace(path, data)


def _operation(package: Package, module: str, given: Sequence[Resolved]) -> Any:
    """All statements as one operation: Gaia reads the whole package once for each."""
    code = "\n\n".join(_statement(one, refs) for one, refs in given)
    refs = [ref for _, found in given for ref in found]
    return operation("candidate_relation", code, module, refs, package=package, kind="scaffold")


def _statement(relation: Relation, refs: list[Reference]) -> str:
    made = statements.call(
        "candidate_relation",
        f"claims=[{', '.join(one.alias for one in refs)}]",
        pattern=relation["pattern"],
        rationale=statements.escaped(relation["rationale"]) or None,
        label=relation["label"],
        metadata=relation["metadata"],
    )
    return f"{relation['binding']} = {made}"


def _answer(package: Package, relation: Relation, module: str, *, already: bool) -> Answer:
    return applied(
        relation["candidate_id"],
        already=already,
        scaffold_qid=package.qid(relation["label"], "scaffold::"),
        binding=relation["binding"],
        module=module,
    )
