"""Gaia in one long-lived process of another interpreter, which need not have us installed."""

import json
import os
import selectors
import signal
import subprocess
import tempfile
import time
from typing import IO, Any, NoReturn

from varvite.gaia import live
from varvite.gaia.live.faults import Fault
from varvite.gaia.port import LivePort

TIMEOUT_S = 600.0
STOP_WAIT_S = 2.0
ERRORS_SHOWN = 2000
"""Bytes of a dead worker's errors that its message repeats."""
_READ_BYTES = 1 << 16
_SCRIPT = os.path.join(os.path.dirname(live.__file__), "__main__.py")


class Worker(LivePort):
    """Started by the first call, and again by the call after it died or was stopped.

    python: the interpreter that has Gaia. timeout_s: after which a call is given up and
    the worker killed; whether Gaia had done its part shows when it is asked again.
    """

    def __init__(self, python: str, *, timeout_s: float = TIMEOUT_S, **options: Any) -> None:
        super().__init__(**options)
        self.python, self.timeout_s = python, timeout_s
        self.starts = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._number = 0
        self._rest = b""

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        process = self._running()
        self._number += 1
        request = {"number": self._number, "call": name, "arguments": arguments}
        try:
            assert process.stdin is not None  # noqa: S101
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        except OSError:
            self._died(name)
        answer = self._answer(process, name)
        if "fault" in answer:
            raise Fault(**answer["fault"])
        return dict(answer["done"])

    def close(self) -> None:
        """End the worker: it stops when its input ends, and is killed when it does not."""
        process, self._process, self._rest = self._process, None, b""
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            process.wait(STOP_WAIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if self._errors is not None:
            self._errors.close()

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.close()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (held while the worker lives)
        try:
            self._process = subprocess.Popen(  # noqa: S603  (the interpreter that we were given)
                [self.python, "-I", "-X", "utf8", _SCRIPT],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=dict(os.environ) | {"GAIA_NO_UPDATE_CHECK": "1"},
                start_new_session=True,
            )
        except OSError as error:
            self._errors.close()
            message = f"{self.python} does not start: {error}"
            raise Fault("python_missing", message, retryable=True) from None
        self.starts += 1
        return self._process

    def _answer(self, process: "subprocess.Popen[bytes]", name: str) -> dict[str, Any]:
        """The answer to the last request; older ones, of calls given up, cannot be there."""
        assert process.stdout is not None  # noqa: S101
        until = time.monotonic() + self.timeout_s
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                if not selector.select(max(0.0, until - time.monotonic())):
                    self._give_up(process, name)
                data = os.read(process.stdout.fileno(), _READ_BYTES)
                if not data:
                    self._died(name)
                self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _give_up(self, process: "subprocess.Popen[bytes]", name: str) -> NoReturn:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.close()
        raise Fault(
            "gaia_timeout", f"{name} took over {self.timeout_s:g} s; it was stopped", retryable=True
        )

    def _died(self, name: str) -> NoReturn:
        process, said = self._process, b""
        assert process is not None  # noqa: S101
        code = process.wait()
        if self._errors is not None:
            size = self._errors.seek(0, os.SEEK_END)
            self._errors.seek(max(0, size - ERRORS_SHOWN))
            said = self._errors.read()
        self.close()
        text = said.decode(errors="replace").strip()
        raise Fault(
            "gaia_died", f"the worker ended with {code} during {name}: {text}", retryable=True
        )
