"""Compiling and validating a package, as `gaia build check` does, and finding what breaks it."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .cost import Meter
from .faults import Fault
from .package import isolated

EMPTY = "no Gaia declarations found"
TRIES_MAX = 64
"""Builds spent on finding which of many statements do not build."""


class Built(NamedTuple):
    """diagnostics: empty where the package builds. graph: what it compiles to."""

    diagnostics: list[dict[str, str]]
    graph: dict[str, Any]

    @property
    def ok(self) -> bool:
        return not self.diagnostics

    @property
    def is_empty(self) -> bool:
        return any(EMPTY in one["message"] for one in self.diagnostics)

    def check(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "knowledge": len(self.graph.get("knowledges", ())),
            "strategies": len(self.graph.get("strategies", ())),
            "operators": len(self.graph.get("operators", ())),
            "diagnostics": self.diagnostics,
            "ir_hash": self.graph.get("ir_hash"),
        }


def build(root: str, meter: Meter, *, write: bool = False) -> Built:
    """Load, compile and validate; `write` leaves what `gaia build compile` leaves.

    Runs the package's own code. Costs in proportion to the package and to what it
    imports, in Gaia's compiler more than that.
    """
    with meter.gaia(), isolated():
        from gaia.engine import packaging

        try:
            loaded = packaging.load_gaia_package(root)
            packaging.apply_package_priors(loaded)
            compiled = packaging.compile_loaded_package_artifact(loaded)
            graph = compiled.to_json()
            diagnostics = _validate(loaded, compiled, graph)
            if write and not diagnostics:
                packaging.write_compiled_artifacts(
                    Path(root),
                    graph,
                    manifests=packaging.build_package_manifests(loaded, compiled),
                    formalization_manifest=compiled.formalization_manifest,
                )
        except (Exception, SystemExit) as error:  # noqa: BLE001  (the package's code runs in it)
            return Built([{"code": "compile_failed", "message": _message(error)}], {})
    return Built(diagnostics, graph)


def _validate(loaded: Any, compiled: Any, graph: dict[str, Any]) -> list[dict[str, str]]:
    from gaia.engine.ir import LocalCanonicalGraph
    from gaia.engine.ir.validator import validate_local_graph
    from gaia.engine.packaging import validate_fills_relations

    validate_fills_relations(loaded, compiled)
    errors = validate_local_graph(LocalCanonicalGraph(**graph)).errors
    return [{"code": "check_failed", "message": str(error)} for error in errors]


def _message(error: BaseException) -> str:
    return f"{error}" or type(error).__name__


def refuse_broken(built: Built, root: str) -> None:
    """Someone else's fault: what we write waits, and the session goes on."""
    if not built.ok and not built.is_empty:
        why = built.diagnostics[0]["message"]
        name = os.path.basename(root)
        raise Fault("package_broken", f"{name} did not build before: {why}", retryable=True)


Attempt = Callable[[Sequence[Any]], list[dict[str, str]]]
"""Write just these, replacing what the last attempt wrote; returns the diagnostics."""


def sift(given: Sequence[Any], attempt: Attempt) -> tuple[list[Any], list[tuple[Any, Fault]]]:
    """Keep what builds: all at once where it does, else by halves. The good are left written.

    The first failure is followed by an attempt of nothing: where that fails too, the
    package was broken before.
    """
    good: list[Any] = []
    bad: list[tuple[Any, Fault]] = []
    tries = [0]

    def keep(part: Sequence[Any]) -> None:
        if tries[0] >= TRIES_MAX:
            bad.extend((one, _untried()) for one in part)
            return
        tries[0] += 1
        diagnostics = attempt([*good, *part])
        if not diagnostics:
            good.extend(part)
        elif len(part) == 1:
            bad.append((part[0], Fault(diagnostics[0]["code"], diagnostics[0]["message"])))
        else:
            if tries[0] == 1:
                attempt([])
            keep(part[: len(part) // 2])
            keep(part[len(part) // 2 :])

    if given:
        keep(given)
        if bad:
            attempt(good)
    return good, bad


def _untried() -> Fault:
    return Fault("not_tried", "too many others of this batch do not build", retryable=True)
