"""CPU seconds, Gaia's apart from ours; those of its child processes (uv) included."""

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager


def cpu_s() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Meter:
    """Adds up what one call spends inside Gaia."""

    def __init__(self) -> None:
        self.gaia_s = 0.0

    @contextmanager
    def gaia(self) -> Iterator[None]:
        start = cpu_s()
        try:
            yield
        finally:
            self.gaia_s += cpu_s() - start
