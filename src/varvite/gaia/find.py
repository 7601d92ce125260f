"""Which way to Gaia there is: in this interpreter, through another one, or none."""

import os
import sys
from typing import Literal

from varvite.errors import InputError
from varvite.gaia.inprocess import InProcess
from varvite.gaia.live import probing
from varvite.gaia.none import Without
from varvite.gaia.worker import Worker
from varvite.graph.port import Failure

PYTHON = "GAIA_PYTHON"
"""The environment variable that names an interpreter which has gaia-lang."""

Mode = Literal["auto", "inprocess", "worker", "none"]


def find(
    mode: Mode = "auto", *, python: str | None = None, owner: str = "", open_max: int = 256
) -> InProcess | Worker | Without:
    """The port to use. Starts nothing: a worker starts with its first call.

    `auto` takes `python` or GAIA_PYTHON where one is given, else this interpreter where
    it has Gaia, else none.
    """
    other = python or os.environ.get(PYTHON)
    if mode == "none":
        return Without(Failure("gaia_off", "Gaia was turned off", retryable=True))
    if mode == "inprocess" or (mode == "auto" and not other and has_gaia()):
        return InProcess(owner=owner, open_max=open_max)
    if other:
        return Worker(other, owner=owner, open_max=open_max)
    if mode == "worker":
        raise InputError(
            "no interpreter for the worker", hint=f"set {PYTHON} to one that has gaia-lang"
        )
    return Without(missing())


def has_gaia() -> bool:
    """Whether this interpreter could be asked; found without importing Gaia."""
    return sys.version_info[:2] >= probing.PYTHON_MIN and probing.has_engine()


def missing() -> Failure:
    hint = f"; set {PYTHON} to a Python 3.12 that has gaia-lang 0.5.0a9 or later"
    version = probing.installed()
    if sys.version_info[:2] < probing.PYTHON_MIN:
        return Failure("python_too_old", f"Gaia needs Python 3.12 or later{hint}", retryable=True)
    if version is None:
        return Failure("gaia_missing", f"gaia-lang is not installed{hint}", retryable=True)
    return Failure("gaia_too_old", f"gaia-lang {version} has no engine{hint}", retryable=True)
