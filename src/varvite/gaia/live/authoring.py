"""One batch through Gaia's own author, in a module of ours."""

from collections.abc import Iterable
from typing import Any

from .cost import Meter
from .package import Package, isolated
from .references import Reference


def operation(
    verb: str,
    code: str,
    module: str,
    refs: Iterable[Reference],
    *,
    label: str | None = None,
    package: Package,
    kind: str = "reasoning",
) -> Any:
    """A pending operation. Names of the package itself come by import, as foreign ones do."""
    from gaia.engine.authoring import ProposedAuthorOp

    imports = tuple(dict.fromkeys((one.module, one.symbol, one.alias) for one in refs))
    own = package.import_name
    return ProposedAuthorOp(
        verb=verb,
        kind=kind,
        label=label,
        generated_code=code,
        required_imports=(verb,),
        target_file=f"{module}.py",
        sibling_imports=tuple(
            (symbol, source) for source, symbol, _ in imports if _within(source, own)
        ),
        foreign_imports=tuple(one for one in imports if not _within(one[0], own)),
    )


def _within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def author(
    package: Package, operations: list[Any], meter: Meter, *, check: bool
) -> list[dict[str, str]]:
    """The diagnostics, none where all was written (and, with `check`, builds)."""
    with meter.gaia(), isolated():
        from gaia.engine.authoring import run_author_batch

        try:
            result = run_author_batch(package.root, operations, check=check)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (the package's code runs in it)
            return [{"code": "author_failed", "message": f"{error}" or type(error).__name__}]
    return [
        {"code": one.kind, "message": one.message, "level": one.level} for one in result.diagnostics
    ] or ([] if result.ok else [{"code": "author_failed", "message": "the batch was refused"}])
