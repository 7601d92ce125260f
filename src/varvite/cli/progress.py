"""How far a long command is: a bar on a terminal's stderr, nothing elsewhere."""

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from varvite.cli.plain import plain
from varvite.cli.settings import Settings

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

SHOWN_AFTER_S = 1.0


class Bar:
    """Called with what is being done, how much is done, and how much there is.

    Shows nothing in the first second, so that a quick command stays silent.
    """

    def __init__(self, settings: Settings) -> None:
        self._wanted = sys.stderr.isatty() and not settings.quiet
        self._began = time.monotonic()
        self._bar: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar:
            self._bar.stop()

    def __call__(self, what: str, done: int, total: int) -> None:
        if not self._wanted or time.monotonic() - self._began < SHOWN_AFTER_S:
            return
        bar = self._bar or self._start()
        if what not in self._tasks:
            self._tasks[what] = bar.add_task(plain(what), total=total or None)
        bar.update(self._tasks[what], completed=done, total=total or None)

    def _start(self) -> Any:
        from rich.console import Console
        from rich.progress import Progress

        self._bar = Progress(console=Console(stderr=True), transient=True)
        self._bar.start()
        return self._bar
