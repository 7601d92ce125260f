"""How the demo speaks, and how it runs other processes."""

import os
import shlex
import subprocess
import sys
import time
from typing import Any

import orjson

from varvite.cli.answer import Answer, render_table, show_text
from varvite.cli.plain import plain
from varvite.cli.settings import Settings
from varvite.errors import VarviteError

INDENT = 3


def brief(path: str) -> str:
    """The path as one would type it here."""
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative


class Stage:
    """Prints what happens as it happens; counts the chapters."""

    def __init__(self, settings: Settings, path: str) -> None:
        self.settings, self.path = settings, path
        self._began = time.monotonic()
        self._chapter = 0

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def chapter(self, title: str) -> None:
        self._chapter += 1
        show_text(f"\n{self._chapter}. {title}\n")

    def say(self, text: str) -> None:
        show_text(f"   {plain(text)}\n")

    def show(self, answer: Answer) -> None:
        show_text(render_table(answer, indent=INDENT))

    def varvite(self, *arguments: str) -> dict[str, Any]:
        """Run a verb on the demo's store in a process of its own; its JSON answer."""
        shown = shlex.join(["varvite", "--store", brief(self.path), *arguments])
        show_text(f"   $ {shown}\n")
        command = [sys.executable, "-m", "varvite.cli", "--store", self.path, "--format", "json"]
        done = subprocess.run([*command, *arguments], capture_output=True, check=False)  # noqa: S603
        if done.returncode:
            raise VarviteError(f"{shown} ended with {done.returncode}: {done.stderr.decode()}")
        answer: dict[str, Any] = orjson.loads(done.stdout)
        return answer
