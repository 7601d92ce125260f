"""A benchmark's command: run in its own process group, cut off in time, its output kept whole."""

import os
import re
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

from varvite.experiment import metric_lines
from varvite.experiment.metric_lines import Flavour

TIMEOUT_S = 600.0
CHECKS_TIMEOUT_S = 300.0
GRACE_S = 2.0
"""Between SIGTERM and SIGKILL."""
TAIL_LINES, TAIL_BYTES = 10, 4096
CHECKS_TAIL_LINES = 80
METRIC_BYTES_MAX = 16 << 20
"""METRIC lines are looked for in so much of the output's end."""
_POLL_S = 0.005


@dataclass(frozen=True, slots=True)
class Executed:
    """A command that has ended. exit_code: null when it was cut off; negative for a signal."""

    exit_code: int | None
    timed_out: bool
    duration_s: float
    output: str
    output_bytes: int

    @property
    def clean(self) -> bool:
        return self.exit_code == 0

    def tail(self, lines: int = TAIL_LINES, size: int = TAIL_BYTES) -> str:
        """The last lines of the output, at most `size` bytes of whole characters."""
        kept = _end_of(self.output, size).decode("utf-8", "ignore")
        return "\n".join(kept.rstrip("\n").split("\n")[-lines:])

    def kept(self, lines: int = TAIL_LINES) -> str | None:
        """The output's file; None where the tail is all of it, and the file is taken away."""
        if self.output_bytes > TAIL_BYTES:
            return self.output
        if self.tail(lines).encode() != _end_of(self.output, TAIL_BYTES).rstrip(b"\n"):
            return self.output
        os.unlink(self.output)
        return None


@dataclass(frozen=True, slots=True)
class Measured:
    """What a benchmark came to. `metric` is the primary one, null unless all went well.

    replicates: the primary metric of each repetition; `metric` is their median.
    checks: null where there were none, or the benchmark failed.
    status: what it can be logged as at best.
    output: the file with all of the output; null where `tail` is all of it.
    """

    command: str
    metric: float | None
    metrics: dict[str, float]
    status: str
    exit_code: int | None
    timed_out: bool
    duration_s: float
    tail: str
    output: str | None
    replicates: list[float] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    checks: dict[str, Any] | None = None


def execute(
    command: str,
    *,
    cwd: str,
    timeout_s: float,
    output: str | None = None,
    errors: BinaryIO | None = None,
    stdin: bytes = b"",
) -> Executed:
    """Run a shell command until it ends.

    At the timeout the whole group gets SIGTERM, and SIGKILL after GRACE_S. What the
    command leaves running in its group is killed too: it would disturb what is measured
    next. stdout goes to the file `output`, a new one in the temporary folder by default,
    and stderr with it unless `errors` is open for it.
    """
    with _output_file(output) as file, tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        began = time.monotonic()
        process = subprocess.Popen(  # noqa: S602  (a shell command is what the caller has)
            command,
            shell=True,
            executable="/bin/bash",
            cwd=cwd,
            stdin=given,
            stdout=file,
            stderr=errors or subprocess.STDOUT,
            start_new_session=True,
        )
        timed_out = not _ended(process, timeout_s)
        duration_s = time.monotonic() - began
        code = process.returncode
        return Executed(
            None if timed_out else code,
            timed_out,
            duration_s,
            file.name,
            os.path.getsize(file.name),
        )


def measure(
    command: str,
    *,
    cwd: str,
    metric_name: str,
    timeout_s: float = TIMEOUT_S,
    output: str | None = None,
    repeat: int = 1,
    flavour: Flavour = "union",
    checks: str | None = None,
    checks_timeout_s: float = CHECKS_TIMEOUT_S,
) -> Measured:
    """Run a benchmark `repeat` times, stopping at the first failure, then its checks.

    The primary metric is the METRIC line named `metric_name`; the others are secondary.
    Each is the median of its repetitions. The output file holds the last repetition. One
    that was not asked for is left only where the tail is not all of it.
    """
    readings, ran = [], None
    for _ in range(repeat):
        if ran is not None and output is None:
            os.unlink(ran.output)
        ran = execute(command, cwd=cwd, timeout_s=timeout_s, output=output)
        readings.append(metric_lines.parse(_metric_text(ran), flavour))
        if not ran.clean or metric_name not in readings[-1].metrics:
            break
    if ran is None:
        raise ValueError(f"repeat {repeat}")
    measured = _measured(
        command, ran, readings, metric_name, _checked(ran, checks, cwd, checks_timeout_s)
    )
    return measured if output else replace(measured, output=ran.kept())


def runs_benchmark(command: str) -> bool:
    """Whether pi lets a command pass where `.auto/measure.sh` or `autoresearch.sh` exists."""
    rest = _ASSIGNMENTS.sub("", command.strip())
    while (shorter := _WRAPPER.sub("", rest)) != rest:
        rest = shorter
    return _BENCHMARK.match(rest) is not None


def _measured(
    command: str,
    ran: Executed,
    readings: list[metric_lines.Reading],
    name: str,
    checks: dict[str, Any] | None,
) -> Measured:
    values = _medians(readings)
    warnings = [text for reading in readings for text in reading.warnings]
    if ran.clean and name not in readings[-1].metrics:
        warnings.append(f"No METRIC line for {name}")
    good = ran.clean and name in readings[-1].metrics
    return Measured(
        command=command,
        metric=values.get(name) if good else None,
        metrics={key: value for key, value in values.items() if key != name},
        status=_status(good=good, checks=checks),
        exit_code=ran.exit_code,
        timed_out=ran.timed_out,
        duration_s=round(ran.duration_s, 3),
        tail=ran.tail(),
        output=ran.output,
        replicates=[one.metrics[name] for one in readings if name in one.metrics],
        warnings=warnings,
        checks=checks,
    )


def _medians(readings: list[metric_lines.Reading]) -> dict[str, float]:
    names = {name: None for reading in readings for name in reading.metrics}
    return {
        name: statistics.median(one.metrics[name] for one in readings if name in one.metrics)
        for name in names
    }


def _status(*, good: bool, checks: dict[str, Any] | None) -> str:
    if not good:
        return "crash"
    return "keep" if checks is None or checks["passed"] else "checks_failed"


def _checked(
    ran: Executed, checks: str | None, cwd: str, timeout_s: float
) -> dict[str, Any] | None:
    """The checks, run after a clean exit alone; a timeout counts as failed."""
    if checks is None or not ran.clean:
        return None
    done = execute(checks, cwd=cwd, timeout_s=timeout_s)
    tail = done.tail(CHECKS_TAIL_LINES)
    row = {"passed": done.clean, "exit_code": done.exit_code, "timed_out": done.timed_out}
    return row | {
        "duration_s": round(done.duration_s, 3),
        "tail": tail,
        "output": done.kept(CHECKS_TAIL_LINES),
    }


def _ended(process: "subprocess.Popen[bytes]", timeout_s: float) -> bool:
    """Wait for the leader; then end the group, before its number can be another's."""
    try:
        in_time = _wait(process.pid, timeout_s)
        if not in_time:
            _signal_group(process.pid, signal.SIGTERM)
            _wait(process.pid, GRACE_S)
        return in_time
    finally:
        _signal_group(process.pid, signal.SIGKILL)
        process.wait()


def _wait(pid: int, timeout_s: float) -> bool:
    """Whether a child ended in time. It is left to be reaped, so that its number stays taken."""
    end = time.monotonic() + timeout_s
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if time.monotonic() >= end:
            return False
        time.sleep(_POLL_S)
    return True


def _signal_group(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return  # all of the group have ended


@contextmanager
def _output_file(path: str | None) -> "Iterator[BinaryIO]":
    """The file, or a new one, which goes again where the run is broken off."""
    if path is not None:
        with open(path, "wb") as file:
            yield file
        return
    fd, path = tempfile.mkstemp(prefix="varvite-run-", suffix=".log")
    os.close(fd)
    try:
        with open(path, "wb") as file:
            yield file
    except BaseException:
        os.unlink(path)
        raise


def _metric_text(ran: Executed) -> str:
    return _end_of(ran.output, METRIC_BYTES_MAX).decode("utf-8", "replace")


def _end_of(path: str, size: int) -> bytes:
    with open(path, "rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - size))
        return file.read(size)


_ASSIGNMENTS = re.compile(r"^(?:\w+=\S*\s+)+", re.ASCII)
_WRAPPER = re.compile(r"^(?:env|time|nice|nohup)(?:\s+-\S+(?:\s+\d+)?)*\s+", re.ASCII)
_BENCHMARK = re.compile(
    r"(?:(?:bash|sh|source)\s+(?:-\w+\s+)*)?(?:/|\.{1,2}/|[\w.-]+/)*"
    r"(?:autoresearch\.sh|\.auto/measure\.sh)(?:\s|\Z)",
    re.ASCII,
)
