"""pi-autoresearch's hooks: scripts that may say something before and after a run, and never gate.

A hook gets one JSON object on stdin. What it prints steers the agent; so do a failure
and a timeout.
"""

import os
import shlex
import tempfile
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from varvite.experiment.pi_paths import session_path
from varvite.experiment.running import execute

Stage = Literal["before", "after"]
TIMEOUT_S = 30.0
STDOUT_BYTES_MAX = 8192
TRUNCATED = "\n…[truncated: hook stdout exceeded 8KB]"


@dataclass(frozen=True, slots=True)
class Fired:
    """What a hook came to. stdout: at most STDOUT_BYTES_MAX and the mark of a cut."""

    fired: bool
    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None
    timed_out: bool = False
    duration_ms: int = 0

    def steer(self, stage: Stage) -> str | None:
        """What the agent is told, if anything."""
        if not self.fired:
            return None
        if self.timed_out:
            return f"[{stage} hook timed out after {TIMEOUT_S:g}s]"
        if self.exit_code != 0:
            head = f"[{stage} hook exited {self.exit_code}]"
            return "\n".join(filter(None, [head, self.stderr.strip(), self.stdout.strip()]))
        return self.stdout.strip() or None

    def entry(self, stage: Stage) -> dict[str, Any]:
        """The fire as a log has it."""
        return {
            "stage": stage,
            "exit_code": self.exit_code,
            "duration_ms": self.duration_ms,
            "stdout_bytes": len(self.stdout.encode()),
            "timed_out": self.timed_out,
        }


def script(cwd: str, stage: Stage) -> str:
    """Where the hook lies."""
    return session_path(cwd, f"hook_{stage}")


def fire(cwd: str, stage: Stage, payload: dict[str, Any]) -> Fired:
    """Run the hook of a stage. A script that is missing or not executable does not fire."""
    path = script(cwd, stage)
    if not (os.path.isfile(path) and os.access(path, os.X_OK)):
        return Fired(fired=False)
    given = orjson.dumps({"event": stage, "cwd": cwd} | payload, option=orjson.OPT_APPEND_NEWLINE)
    with tempfile.NamedTemporaryFile() as output, tempfile.TemporaryFile() as errors:
        command = f"exec bash {shlex.quote(path)}"
        done = execute(
            command,
            cwd=cwd,
            timeout_s=TIMEOUT_S,
            output=output.name,
            errors=errors,
            stdin=given,
        )
        errors.seek(0)
        stdout, stderr = output.read(STDOUT_BYTES_MAX + 1), errors.read(STDOUT_BYTES_MAX)
    return Fired(
        fired=True,
        stdout=capped(stdout),
        stderr=stderr.decode("utf-8", "replace"),
        exit_code=done.exit_code,
        timed_out=done.timed_out,
        duration_ms=round(done.duration_s * 1000),
    )


def capped(stdout: bytes) -> str:
    """At most STDOUT_BYTES_MAX, cut after the last newline or else before a character."""
    if len(stdout) <= STDOUT_BYTES_MAX:
        return stdout.decode("utf-8", "replace")
    return _cut(stdout[:STDOUT_BYTES_MAX]).decode("utf-8", "replace") + TRUNCATED


def _cut(chunk: bytes) -> bytes:
    """A whole last character of several bytes goes too, as with pi."""
    if newline := chunk.rfind(b"\n") + 1:
        return chunk[:newline]
    end = len(chunk)
    while end and chunk[end - 1] & 0xC0 == 0x80:  # noqa: PLR2004  (a continuation byte)
        end -= 1
    return chunk[: end - 1] if end and chunk[end - 1] & 0xC0 == 0xC0 else chunk[:end]  # noqa: PLR2004
