"""Gaia statements as Python text: written here, and read back without running them."""

import ast
import keyword
import os
import re
from hashlib import sha256
from typing import Any, NamedTuple

from . import files
from .faults import Fault
from .package import Package

NO_CLAIM = frozenset(
    {
        "question", "note", "context", "setting", "candidate_relation", "depends_on",
        "materialize", "variable", "parameter", "artifact", "figure", "register_prior",
    }
)  # fmt: skip
_REFERENCE = re.compile(r"(?<!\\)(?<![A-Za-z0-9_])@(?=[A-Za-z0-9_])")


class Statement(NamedTuple):
    """A name bound at module level. module: as it is imported; call: what made it, if a call.

    label, metadata: the literal arguments of these names. imported: (module, symbol) of a
    name that another module binds.
    """

    name: str
    module: str
    call: str | None = None
    label: str | None = None
    metadata: Any = None
    imported: tuple[str, str] | None = None


def escaped(text: str) -> str:
    """Text as Gaia takes it: an `@name` in it would be read as a citation."""
    return _REFERENCE.sub(r"\\@", text)


def literal(text: str) -> str:
    return repr(escaped(text))


def knowledge(label: str, kind: str, content: str, title: str | None, metadata: Any) -> str:
    lines = [f"{label} = {kind}(", f"    {literal(content)},"]
    if title:
        lines.append(f"    title={literal(title)},")
    return "\n".join([*lines, f"    metadata={metadata!r},", ")"])


def call(verb: str, arguments: str, **named: Any) -> str:
    given = [f"{name}={value!r}" for name, value in named.items() if value is not None]
    return f"{verb}({', '.join([arguments, *given])})"


def refuse_label(label: str) -> None:
    if not label.isidentifier() or keyword.iskeyword(label) or label.startswith("__"):
        raise Fault("label_not_identifier", f"{label!r} cannot name a statement")


def digest(*parts: str) -> str:
    return sha256("\x1f".join(parts).encode()).hexdigest()[:12]


def bound(source: bytes | None, module: str) -> dict[str, Statement]:
    """The statements of one module, by name.

    Raises:
        Fault: package_broken, where it is no Python.
    """
    try:
        tree = ast.parse(source or b"")
    except (SyntaxError, ValueError) as error:
        raise Fault("package_broken", f"{module} is no Python: {error}", retryable=True) from None
    found: dict[str, Statement] = {}
    for node in tree.body:
        for statement in _statements(node, module):
            found[statement.name] = statement
    return found


def of_package(package: Package) -> dict[str, Statement]:
    """What the package itself binds: its own modules and the authored ones."""
    found: dict[str, Statement] = {}
    for path in _own_files(package):
        relative = os.path.relpath(path, package.source).removesuffix(".py")
        parts = [part for part in relative.split(os.sep) if part != "__init__"]
        module = ".".join([package.import_name, *parts])
        for name, statement in bound(files.read(path), module).items():
            if name not in found or found[name].imported:
                found[name] = statement
    return found


def _own_files(package: Package) -> list[str]:
    return [
        os.path.join(folder, name)
        for folder in (package.source, package.authored)
        for name in sorted(os.listdir(folder) if os.path.isdir(folder) else ())
        if name.endswith(".py")
    ]


def _statements(node: ast.stmt, module: str) -> list[Statement]:
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        names = [(alias.asname or alias.name, alias.name) for alias in node.names]
        return [Statement(name, module, imported=(node.module, symbol)) for name, symbol in names]
    if isinstance(node, ast.Assign):
        targets = [one.id for one in node.targets if isinstance(one, ast.Name)]
        return [_assigned(name, node.value, module) for name in targets]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [_assigned(node.target.id, node.value, module)]
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        unnamed = _assigned("", node.value, module)
        return [unnamed._replace(name=f"<{unnamed.call}:{unnamed.label or node.lineno}>")]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [Statement(node.name, module)]
    return []


def _assigned(name: str, value: ast.expr | None, module: str) -> Statement:
    if not isinstance(value, ast.Call):
        return Statement(name, module)
    function = value.func
    called = getattr(function, "id", None) or getattr(function, "attr", None)
    named = {one.arg: _value(one.value) for one in value.keywords}
    label = named.get("label")
    return Statement(
        name, module, called, label if isinstance(label, str) else None, named.get("metadata")
    )


def _value(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None
