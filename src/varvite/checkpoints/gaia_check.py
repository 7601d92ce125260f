"""Run the real `gaia build check` over a session's package and each of its source packages."""

from typing import Any

import orjson
import pyarrow as pa

from varvite.checkpoints.job import Job, Stage
from varvite.checkpoints.run import Run
from varvite.errors import NotFoundError
from varvite.graph.port import Check, Package

_CHECKS = pa.schema(
    [
        ("package", pa.string()),
        ("import_name", pa.string()),
        ("path", pa.string()),
        ("ok", pa.bool_()),
        ("knowledge", pa.int64()),
        ("strategies", pa.int64()),
        ("operators", pa.int64()),
        ("ir_hash", pa.string()),
        ("diagnostics", pa.string()),
        ("gaia_s", pa.float64()),
    ]
)


def _refer(run: Run) -> dict[str, Any]:
    """What the session says is in each package."""
    return {"referred": run.make("package_refs")}


def _check(run: Run) -> dict[str, Any]:
    rows = []
    packages = _packages(run)
    for done, package in enumerate(packages, 1):
        rows.append(_row(package, run.gaia.check(full=True, path=package.path)))
        run.report("packages", done, len(packages))
    run.put("checks", pa.Table.from_pylist(rows, _CHECKS))
    broken = [row["package"] for row in rows if not row["ok"]]
    return {"packages": len(rows), "broken": broken, "gaia_s": sum(row["gaia_s"] for row in rows)}


def _packages(run: Run) -> list[Package]:
    """Raises NotFoundError where Gaia cannot be asked."""
    failure = run.gaia.probe().failure
    if failure:
        raise NotFoundError(
            f"the packages cannot be checked: {failure.message}",
            hint="name the package, and an interpreter with gaia-lang",
            reason=failure.code,
        )
    return run.gaia.packages()


def _row(package: Package, check: Check) -> dict[str, Any]:
    return {
        "package": package.name,
        "import_name": package.import_name,
        "path": package.path,
        "ok": check.ok,
        "knowledge": check.knowledge,
        "strategies": check.strategies,
        "operators": check.operators,
        "ir_hash": check.ir_hash,
        "diagnostics": orjson.dumps(list(check.diagnostics)).decode(),
        "gaia_s": check.cost_s,
    }


def _compare(run: Run) -> dict[str, Any]:
    """The packages that hold less than the session refers to, or are not there at all."""
    return {"short": run.make("short_packages")}


JOB = Job(
    "gaia-check",
    "Does every Gaia package of the session build, and hold what the session refers to?",
    stages=(
        Stage("refer", _refer, ("package_refs",)),
        Stage("check", _check, ("checks",)),
        Stage("compare", _compare, ("short_packages",)),
    ),
    kind="graph",
    outside=True,
)
