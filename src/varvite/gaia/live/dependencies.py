"""Making a local package a dependency of the target, by uv, as `gaia pkg add --local` does."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager

from . import files, package, probing
from .cost import Meter
from .faults import Answer, Fault, applied, refuse
from .package import Package

UV_TIMEOUT_S = 300.0


def add_package(meter: Meter, path: str, added: str) -> Answer:
    target = package.open_package(path, meter)
    local = package.open_package(os.path.join(target.root, added), meter)
    if local.root == target.root:
        raise Fault("not_a_package", f"there is no Gaia package at {added}")
    with files.locked(target.lock):
        already = not add(target, local.root, meter)
    return applied(added, already=already, package=local.name, import_name=local.import_name)


def add(target: Package, root: str, meter: Meter) -> bool:
    """Whether there was anything to do. A failure leaves pyproject.toml and uv.lock as they were.

    Current uv records a package inside the target as a workspace member, which Gaia does
    not resolve: it is made a path source, and the lock file is brought up to that.

    Raises:
        Fault: uv_missing, uv_failed, source_rewrite.
    """
    name = package.read(root).name
    relative = os.path.relpath(root, target.root)
    if _is_added(target, name, root):
        return False
    kept = [target.pyproject, os.path.join(target.root, "uv.lock")]
    before = {file: files.read(file) for file in kept}
    try:
        with _uv_environment() as uv, meter.gaia():
            _add(target.root, root)
            written = files.read(target.pyproject) or b""
            wanted = as_path_source(written.decode(), name, relative).encode()
            if written != wanted:
                files.replace(target.pyproject, wanted)
                _lock(uv, target.root)
        if not _is_added(target, name, root):
            refuse("source_rewrite", f"{name} could not be made a path source")
    except BaseException:
        for file, data in before.items():
            _put_back(file, data)
        raise
    return True


def _put_back(file: str, data: bytes | None) -> None:
    if data is None:
        files.remove(file)
    elif files.read(file) != data:
        files.replace(file, data)


def _is_added(target: Package, name: str, root: str) -> bool:
    config = tomllib.loads((files.read(target.pyproject) or b"").decode())
    listed = config.get("project", {}).get("dependencies", [])
    source = config.get("tool", {}).get("uv", {}).get("sources", {}).get(name, {})
    depends = any(re.split(r"[ <>=!~;\[@]", one, maxsplit=1)[0] == name for one in listed)
    path = source.get("path") if isinstance(source, dict) else None
    return depends and path is not None and _same(os.path.join(target.root, path), root)


def _same(left: str, right: str) -> bool:
    return os.path.realpath(left) == os.path.realpath(right)


def _add(target: str, root: str) -> None:
    from gaia.engine.packaging import GaiaPackagingError, add_editable_package_dependency

    try:
        add_editable_package_dependency(root, package_root=target)
    except GaiaPackagingError as error:
        code = "uv_missing" if "not installed" in str(error) else "uv_failed"
        raise Fault(code, str(error), retryable=True) from None


def _lock(uv: str, target: str) -> None:
    done = subprocess.run(  # noqa: S603  (uv, found by us)
        [uv, "lock"],
        cwd=target,
        capture_output=True,
        text=True,
        timeout=UV_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        raise Fault("uv_failed", f"uv lock failed: {done.stderr.strip()}", retryable=True)


@contextmanager
def _uv_environment() -> Iterator[str]:
    """A uv on PATH, with this interpreter, no download of another, and nothing installed."""
    uv = probing.uv()
    if uv is None:
        raise Fault("uv_missing", "uv is neither on PATH nor installed with Gaia", retryable=True)
    path = os.pathsep.join([os.path.dirname(uv), os.environ.get("PATH", "")])
    given = {"PATH": path, "UV_PYTHON_DOWNLOADS": "never"}
    wanted = {"UV_PYTHON": sys.executable, "UV_NO_SYNC": "1"} | dict(os.environ) | given
    changed = {
        name: os.environ.get(name) for name in wanted if os.environ.get(name) != wanted[name]
    }
    os.environ.update(wanted)
    try:
        yield uv
    finally:
        for name, value in changed.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def as_path_source(text: str, name: str, relative: str) -> str:
    """The project file with the workspace member of this name as a path source instead."""
    lines = text.splitlines(keepends=True)
    source = re.compile(rf'"?{re.escape(name)}"?\s*=\s*\{{.*\bworkspace\s*=\s*true\b.*\}}\s*')
    member = re.compile(rf'(["\']){re.escape(relative)}\1\s*,?\s*')
    made: list[str] = []
    table = ""
    for line in lines:
        if line.startswith("["):
            table = line.strip()
        if table == "[tool.uv.sources]" and source.fullmatch(line):
            made.append(f'{name} = {{ path = "{relative}", editable = true }}\n')
        elif table == "[tool.uv.workspace]":
            if not member.fullmatch(line.strip()):
                made.append(member.sub("", line))
        else:
            made.append(line)
    return _without_empty_workspace("".join(made))


def _without_empty_workspace(text: str) -> str:
    return re.sub(r"\n?\[tool\.uv\.workspace\]\nmembers = \[\s*\]\n", "", text)
