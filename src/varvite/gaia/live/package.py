"""A Gaia package on disk, and loading one without leaving anything in this interpreter."""

import os
import re
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from . import files
from .cost import Meter
from .faults import Fault

QID = re.compile(r"([a-z][a-z0-9_]*):([a-z0-9][a-z0-9_-]*)::([A-Za-z_][A-Za-z0-9_]*)")
PACKAGES = os.path.join(".gaia", "lkm_packages")


class Package(NamedTuple):
    """source: the directory of its Python package."""

    root: str
    name: str
    import_name: str
    namespace: str
    source: str

    @property
    def authored(self) -> str:
        return os.path.join(self.source, "authored")

    @property
    def pyproject(self) -> str:
        return os.path.join(self.root, "pyproject.toml")

    @property
    def lock(self) -> str:
        return os.path.join(self.root, ".gaia")

    def qid(self, label: str, kind: str = "") -> str:
        return f"{self.namespace}:{self.import_name}::{kind}{label}"

    def describe(self) -> dict[str, str]:
        return {
            "path": self.root,
            "name": self.name,
            "import_name": self.import_name,
            "namespace": self.namespace,
        }


def open_package(path: str, meter: Meter) -> Package:
    """The package at or above `path`. Creates nothing.

    Raises:
        Fault: not_a_package; Gaia's own writers would make one of any directory.
    """
    with meter.gaia():
        from gaia.engine.packaging import resolve_gaia_package_root

        root = resolve_gaia_package_root(path)
    if root is None:
        raise Fault("not_a_package", f"there is no Gaia package at {path}")
    return read(str(root))


def read(root: str) -> Package:
    with open(os.path.join(root, "pyproject.toml"), "rb") as file:
        config = tomllib.load(file)
    name = config.get("project", {}).get("name")
    if not isinstance(name, str) or not name:
        raise Fault("not_a_package", f"{root}: [project].name is missing")
    import_name = name.removesuffix("-gaia").replace("-", "_")
    namespace = config["tool"]["gaia"].get("namespace", "github")
    for parent in (root, os.path.join(root, "src")):
        source = os.path.join(parent, import_name)
        if os.path.isfile(os.path.join(source, "__init__.py")):
            return Package(root, name, import_name, namespace, source)
    raise Fault("not_a_package", f"{root} has no package directory {import_name}")


def sources(package: Package) -> Iterator[tuple[str, str]]:
    """Import name and directory of every source package that this one can import."""
    pulled = os.path.join(package.root, PACKAGES)
    for entry in sorted(os.listdir(pulled)) if os.path.isdir(pulled) else ():
        yield from _importable(os.path.join(pulled, entry, "src"))
    config = tomllib.loads((files.read(package.pyproject) or b"").decode())
    for name, source in config.get("tool", {}).get("uv", {}).get("sources", {}).items():
        if isinstance(source, dict) and isinstance(source.get("path"), str):
            root = os.path.join(package.root, source["path"])
            import_name = name.removesuffix("-gaia").replace("-", "_")
            for parent in (root, os.path.join(root, "src")):
                if os.path.isdir(os.path.join(parent, import_name)):
                    yield import_name, os.path.join(parent, import_name)


def _importable(folder: str) -> Iterator[tuple[str, str]]:
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if os.path.isdir(os.path.join(folder, name)):
            yield name, os.path.join(folder, name)


@contextmanager
def isolated() -> Iterator[None]:
    """Forget, afterwards, every module and search path that loading a package brought.

    Gaia executes the package's code and keeps it: what grew on disk would not be seen
    again, and a package of the same name elsewhere would be taken for it.
    """
    paths, known = list(sys.path), set(sys.modules)
    try:
        yield
    finally:
        sys.path[:] = paths
        _forget({name: sys.modules[name] for name in set(sys.modules) - known})


def _forget(modules: dict[str, Any]) -> None:
    from gaia.engine.lang.runtime.package import pyproject_for_module, reset_inferred_package

    for name, module in modules.items():
        if "site-packages" in (getattr(module, "__file__", None) or "site-packages"):
            continue
        pyproject = pyproject_for_module(name)
        if pyproject is not None and _is_knowledge(pyproject):
            reset_inferred_package(pyproject, module_name=name)
            sys.modules.pop(name, None)


def _is_knowledge(pyproject: Path) -> bool:
    from gaia.engine.packaging import is_gaia_package_dir

    return bool(is_gaia_package_dir(pyproject.parent))
