"""Checking a package on demand."""

import os
import subprocess
import sys
from typing import Any

from .building import build
from .cost import Meter
from .package import PACKAGES, open_package, read

COMMAND_TIMEOUT_S = 600.0
_GAIA = "import sys; from gaia.cli.main import app; sys.argv[0] = 'gaia'; app()"


def describe(meter: Meter, path: str) -> dict[str, str]:
    return open_package(path, meter).describe()


def packages(meter: Meter, path: str) -> list[dict[str, str]]:
    """The package at `path`, then the source packages that it keeps, by name.

    Raises:
        Fault: one of them is no package.
    """
    target = open_package(path, meter)
    kept = os.path.join(target.root, PACKAGES)
    names = sorted(os.listdir(kept)) if os.path.isdir(kept) else []
    roots = [os.path.join(kept, name) for name in names]
    sources = [read(root) for root in roots if os.path.isfile(os.path.join(root, "pyproject.toml"))]
    return [target.describe(), *(one.describe() for one in sources)]


def check(meter: Meter, path: str, *, full: bool = False) -> dict[str, Any]:
    """Compile and validate; `full` asks the real `gaia build check` as well."""
    package = open_package(path, meter)
    built = build(package.root, meter)
    answer = built.check()
    if full:
        with meter.gaia():
            done = _command(package.root)
        if done.returncode:
            said = (done.stderr or done.stdout).strip()
            diagnostic = {"code": "build_check", "message": said[-2000:]}
            answer |= {"ok": False, "diagnostics": [*built.diagnostics, diagnostic]}
    return answer


def _command(root: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(  # noqa: S603  (this interpreter, and a path that is a package)
        [sys.executable, "-c", _GAIA, "build", "check", root],
        env=dict(os.environ) | {"GAIA_NO_UPDATE_CHECK": "1"},
        capture_output=True,
        text=True,
        timeout=COMMAND_TIMEOUT_S,
        check=False,
    )
