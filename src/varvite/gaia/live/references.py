"""What a relation refers to: whether it is there, and is a claim, before Gaia is touched."""

import os
from typing import NamedTuple

from . import files, statements
from .faults import Fault
from .package import QID, Package, sources
from .statements import Statement


class Reference(NamedTuple):
    """How a claim is imported: `from module import symbol as alias`."""

    module: str
    symbol: str
    alias: str


class Scope:
    """Everything that a package binds and can import, read as text, each module once."""

    def __init__(self, package: Package) -> None:
        self.package = package
        self.own = statements.of_package(package)
        self.labels = {one.label for one in self.own.values() if one.label}
        self._sources = dict(sources(package))
        self._foreign: dict[str, dict[str, Statement]] = {}

    def claim(self, ref: str) -> Reference:
        """A package ref `namespace:package::label`, or a name that the package itself binds.

        Raises:
            Fault: ref_unknown, ref_not_claim.
        """
        parts = QID.fullmatch(ref)
        if parts is None or parts[2] == self.package.import_name:
            return self._own(parts[3] if parts else ref, ref)
        module, symbol = parts[2].replace("-", "_"), parts[3]
        _refuse_no_claim(self._in_source(module).get(symbol), ref)
        return Reference(module, symbol, f"{module}__{symbol}")

    def knows(self, ref: str) -> bool:
        parts = QID.fullmatch(ref)
        if parts is None or parts[2] == self.package.import_name:
            return (parts[3] if parts else ref) in self.own
        return parts[3] in self._in_source(parts[2].replace("-", "_"))

    def claims(self, refs: list[str]) -> list[Reference]:
        """Raises: Fault, also refs_lt_2 and self_relation, which Gaia lets pass."""
        found = [self.claim(ref) for ref in refs]
        if len(found) < 2:  # noqa: PLR2004
            raise Fault("refs_lt_2", "a relation needs two claims or more")
        if len({(one.module, one.symbol) for one in found}) < len(found):
            raise Fault("self_relation", f"a claim stands twice in {', '.join(refs)}")
        return found

    def refuse_taken(self, name: str, label: str) -> None:
        """Gaia takes a label twice; then nobody can tell which one is meant."""
        if name in self.own or label in self.labels:
            raise Fault("label_collision", f"{label} is bound to something else")

    def _own(self, name: str, ref: str) -> Reference:
        statement = self.own.get(name)
        if statement is not None and statement.imported:
            module, symbol = statement.imported
            found = self._in_source(module).get(symbol, statement._replace(call="claim"))
            _refuse_no_claim(found, ref)
        else:
            _refuse_no_claim(statement, ref)
        assert statement is not None  # noqa: S101
        return Reference(statement.module, name, name)

    def _in_source(self, module: str) -> dict[str, Statement]:
        if module not in self._foreign:
            folder = self._sources.get(module)
            text = files.read(os.path.join(folder, "__init__.py")) if folder else None
            self._foreign[module] = statements.bound(text, module)
        return self._foreign[module]


def _refuse_no_claim(found: Statement | None, ref: str) -> None:
    if found is None:
        raise Fault("ref_unknown", f"{ref} is not in the package or what it imports")
    if found.call in statements.NO_CLAIM:
        raise Fault("ref_not_claim", f"{ref} is a {found.call}, not a claim")
