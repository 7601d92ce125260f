"""Interpreters that have real Gaia, made once in a cache folder and used again."""

import fcntl
import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VERSION = "0.5.0a9"
OLD = "0.4.4"
INSTALL_TIMEOUT_S = 900
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
"""As it was before any fixture: with the machine's caches, of uv too."""
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "varvite-tests"
"""Of the machine, not of one run of the tests, which have a cache of their own."""
NETWORK = ("Failed to fetch", "error sending request", "dns error", "network")
"""What uv says where no package index can be reached."""


def interpreter():
    """A Python 3.12 or later: GAIA_PYTHON, this one, one on PATH, or one of pyenv's."""
    given = [os.environ.get("GAIA_PYTHON"), sys.executable, shutil.which("python3.12")]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    given += sorted(map(str, pyenv.glob("3.12.*/bin/python3")))
    given += sorted(map(str, pyenv.glob("3.13.*/bin/python3")))
    return next((python for python in given if python and is_new_enough(python)), None)


def is_new_enough(python):
    asked = "import sys; sys.exit(sys.version_info < (3, 12))"
    try:
        return (
            subprocess.run([python, "-c", asked], capture_output=True, check=False).returncode == 0
        )
    except OSError:
        return False


def make(name, *requirements):
    """An environment of this name with these requirements; skips where it cannot be made."""
    folder = CACHE / name
    done = folder / "complete"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.parent / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = f"{requirements} {sha256((ROOT / 'pyproject.toml').read_bytes()).hexdigest()}"
        if not done.exists() or done.read_text() != wanted:
            install(folder, requirements)
            done.write_text(wanted)
    return str(folder / "bin" / "python")


def install(folder, requirements):
    python, uv = interpreter(), shutil.which("uv")
    if python is None:
        pytest.skip("no Python 3.12 for Gaia on this machine")
    if uv is None:
        pytest.skip("no uv to install Gaia with")
    if not (folder / "bin/python").exists():
        shutil.rmtree(folder, ignore_errors=True)
        run([uv, "venv", "--quiet", "--python", python, str(folder)])
    into = ["--python", str(folder / "bin" / "python")]
    run([uv, "pip", "install", "--quiet", *into, *requirements])


def run(command):
    made = subprocess.run(
        command,
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=INSTALL_TIMEOUT_S,
        check=False,
    )
    if made.returncode:
        why = made.stderr.strip()[-400:]
        unreachable = any(word in why for word in NETWORK)
        (pytest.skip if unreachable else pytest.fail)(f"Gaia cannot be installed here: {why}")


class Cli:
    """The real command line of Gaia."""

    def __init__(self, python):
        self.python = python

    def __call__(self, *arguments, cwd=None, **environment):
        program = str(Path(self.python).parent / "gaia")
        env = dict(os.environ) | {"GAIA_NO_UPDATE_CHECK": "1"} | environment
        return subprocess.run(
            [program, *arguments],
            cwd=cwd,
            env=env,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
