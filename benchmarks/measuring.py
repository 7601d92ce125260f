"""Calls measured side by side, in turns within each round, so that a noisy moment hits all."""

import gc
import math
import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

ROUNDS = 31
WARM_UP = 2


@dataclass(frozen=True, slots=True)
class Case:
    """`prepare` is not measured; what it gives is what `call` takes."""

    name: str
    call: Callable[[Any], Any]
    prepare: Callable[[], Any] = lambda: None


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds of the clock and of the processor, a sample a round."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @property
    def wall_s(self) -> float:
        return statistics.median(self.wall)

    @property
    def cpu_s(self) -> float:
        return statistics.median(self.cpu)

    @property
    def quick_s(self) -> float:
        """The first decile: what it takes while nobody else wants the machine."""
        return sorted(self.wall)[len(self.wall) // 10]


def interleaved(
    cases: Sequence[Case],
    rounds: int = ROUNDS,
    *,
    warm_up: int = WARM_UP,
    long_s: float = math.inf,
) -> dict[str, Spent]:
    """Each case once a round, in an order that turns; the first rounds are thrown away.

    A call that takes longer than `long_s` counts, and is its case's last.
    """
    series = {case.name: Spent() for case in cases}
    left = list(cases)
    gc.collect()
    gc.freeze()  # what was made before is not walked during a call
    for number in range(warm_up + rounds):
        turn = number % max(1, len(left))
        for case in [*left[turn:], *left[:turn]]:
            wall, cpu = _call(case)
            if number >= warm_up or wall > long_s:
                series[case.name].wall.append(wall)
                series[case.name].cpu.append(cpu)
            if wall > long_s:
                left.remove(case)
    gc.unfreeze()
    return series


def _call(case: Case) -> tuple[float, float]:
    """Seconds of the clock and of the processor."""
    given = case.prepare()
    wall, cpu = time.perf_counter(), time.process_time()
    case.call(given)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return wall, cpu


class Ran(NamedTuple):
    """A process that ended well. peak: of its resident memory, in bytes."""

    wall_s: float
    cpu_s: float
    peak: int
    output: str


def run(command: Sequence[str], **options: Any) -> Ran:
    """Run a process to its end.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options) as process:
        output = process.stdout.read() if process.stdout else ""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - began
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Ran(wall, usage.ru_utime + usage.ru_stime, _bytes(usage), output)


def _bytes(usage: resource.struct_rusage) -> int:
    return usage.ru_maxrss << 10
