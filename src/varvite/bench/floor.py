"""What no durable store can beat: one write and one fdatasync of the same bytes."""

import os
import time
from typing import Self

NAME = "write and fdatasync"


class Floor:
    """A growing file beside the store."""

    def __init__(self, folder: str) -> None:
        self._fd = os.open(f"{folder}/floor", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def write(self, data: bytes) -> None:
        os.write(self._fd, data)
        os.fdatasync(self._fd)

    def seconds(self, size: int) -> float:
        """How long it takes with `size` bytes."""
        data = os.urandom(size)
        began = time.perf_counter()
        self.write(data)
        return time.perf_counter() - began
