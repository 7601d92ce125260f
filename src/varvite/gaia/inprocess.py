"""Gaia in this very interpreter: Python 3.12 or later, with the extra `gaia`."""

from typing import Any

from varvite.gaia.live import calls
from varvite.gaia.port import LivePort


class InProcess(LivePort):
    """Loading a package runs its code here; `Worker` keeps that in a process of its own."""

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return calls.run(name, arguments)
