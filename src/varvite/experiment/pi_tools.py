"""pi-autoresearch's three tools, init, run and log, as pi has them, over its own log.

For a loop that must go on in pi's way, log line by log line. A keep sweeps in all that
is changed, and a discard takes back all that is; the loop of this project does neither:
see `loop`.
"""

import json
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from varvite.errors import GitError, InvalidRecordError, IterationLimitError
from varvite.experiment import hooks, pi_git
from varvite.experiment.git import message
from varvite.experiment.pi_paths import session_path
from varvite.experiment.pi_state import PiRun, PiState
from varvite.experiment.running import (
    CHECKS_TIMEOUT_S,
    TIMEOUT_S,
    Measured,
    measure,
    runs_benchmark,
)

STATUSES = ("keep", "discard", "crash", "checks_failed")


@dataclass(frozen=True, slots=True)
class PiLogged:
    """A run in pi's log. limit_reached: no further one is taken in this segment."""

    run: PiRun
    baseline: float
    confidence: float | None
    limit_reached: bool
    steer: list[str] = field(default_factory=list)


class PiTools:
    """The tools in one working folder."""

    def __init__(self, cwd: str, records: Iterable[dict[str, Any]] = ()) -> None:
        """Go on from `records`: what the log has, in pi's reading."""
        self.cwd, self.state = os.path.abspath(cwd), PiState(records)
        self._checks_failed = False

    @property
    def log_path(self) -> str:
        return session_path(self.cwd, "log")

    @property
    def limit(self) -> int | None:
        """Runs a segment, from pi's config file; None where it says none."""
        try:
            with open(session_path(self.cwd, "config"), encoding="utf-8") as file:
                told = json.load(file).get("maxIterations")
        except (OSError, ValueError, AttributeError):
            return None
        number = isinstance(told, int | float) and not isinstance(told, bool)
        return int(told) if number and told >= 1 else None

    @property
    def limit_reached(self) -> bool:
        limit = self.limit
        return limit is not None and len(self.state.current()) >= limit

    def init(
        self,
        name: str,
        metric_name: str,
        *,
        metric_unit: str = "",
        direction: str | None = None,
    ) -> None:
        """Write a config, which opens a segment once there is a run.

        Where no direction is given it stays.
        """
        told = direction or self.state.direction
        self.state.configure(name, metric_name, metric_unit, told)
        line = {"type": "config", "name": name, "metricName": metric_name}
        self._write(line | {"metricUnit": metric_unit, "bestDirection": told})

    def run(
        self,
        command: str,
        *,
        timeout_seconds: float = TIMEOUT_S,
        checks_timeout_seconds: float = CHECKS_TIMEOUT_S,
    ) -> Measured:
        """Measure, then run pi's checks.

        Raises:
            IterationLimitError: .limit
            InvalidRecordError: there is a benchmark script, and this is another command.
        """
        self._refuse_beyond_limit()
        if os.path.exists(session_path(self.cwd, "measure")) and not runs_benchmark(command):
            raise InvalidRecordError(
                "the benchmark script is to be run, and nothing else", path="command"
            )
        checks = session_path(self.cwd, "checks")
        ran = measure(
            command,
            cwd=self.cwd,
            metric_name=self.state.metric_name,
            timeout_s=timeout_seconds,
            flavour="pi",
            checks=f'bash "{checks}"' if os.path.exists(checks) else None,
            checks_timeout_s=checks_timeout_seconds,
        )
        self._checks_failed = ran.checks is not None and not ran.checks["passed"]
        return ran

    def log(
        self,
        metric: float,
        status: str,
        description: str,
        *,
        commit: str,
        metrics: dict[str, float] | None = None,
        asi: dict[str, Any] | None = None,
        force: bool = False,
    ) -> PiLogged:
        """Log a run: commit all of a keep, and take everything back of what is none.

        Raises:
            InvalidRecordError: a keep whose checks failed, or other metrics than before.
            IterationLimitError: .limit
        """
        given = metrics or {}
        self._check(status, given, force=force)
        confidence = self._confidence_with(metric, status)
        if status == "keep":
            commit = self._commit(description, metric, given) or commit
        run = PiRun(
            run=len(self.state.runs) + 1,
            metric=metric,
            status=status,
            segment=self.state.segment,
            commit=commit[:7],
            description=description,
            metrics=given,
            confidence=confidence,
            timestamp=round(time.time() * 1000),
            asi=asi or None,
        )
        self.state.log(run)
        self._write(_line(run))
        self._checks_failed = False
        if status != "keep":
            pi_git.take_back(self.cwd)
        return self._logged(run)

    def fire(self, stage: hooks.Stage, payload: dict[str, Any]) -> str | None:
        """Fire a hook; it is logged where the log has a config."""
        fired = hooks.fire(self.cwd, stage, payload | {"session": self._session()})
        if fired.fired and self.state.configured:
            self._write({"type": "hook"} | fired.entry(stage))
        return fired.steer(stage)

    def _check(self, status: str, metrics: dict[str, float], *, force: bool) -> None:
        if status not in STATUSES:
            raise InvalidRecordError(f"status {status[:80]!r}", path="status")
        self._refuse_beyond_limit()
        if status == "keep" and self._checks_failed:
            raise InvalidRecordError("keep: the checks failed", path="status")
        missing = [name for name in self.state.secondary if name not in metrics]
        fresh = [name for name in metrics if name not in self.state.secondary]
        if missing or (fresh and self.state.secondary and not force):
            told = f"{missing[0]} is missing" if missing else f"{fresh[0]} is new"
            raise InvalidRecordError(f"metrics: {told}", path="metrics")

    def _confidence_with(self, metric: float, status: str) -> float | None:
        number, segment = len(self.state.runs) + 1, self.state.segment
        return self.state.confidence(PiRun(number, metric, status, segment))

    def _commit(self, description: str, metric: float, metrics: dict[str, float]) -> str | None:
        """The short name of a commit of everything; None where there was nothing, or it failed."""
        result = {"status": "keep", self.state.metric_name: metric} | metrics
        try:
            return pi_git.commit_all(self.cwd, message(description, result, {}))
        except GitError:
            return None  # to pi no more than a warning

    def _logged(self, run: PiRun) -> PiLogged:
        baseline = self.state.baseline()
        steer = [self.fire("after", {"run_entry": _line(run)})]
        if not self.limit_reached:
            about = {"next_run": len(self.state.runs) + 1, "last_run": _line(run)}
            steer.append(self.fire("before", about))
        return PiLogged(
            run,
            baseline.metric if baseline else run.metric,
            run.confidence,
            self.limit_reached,
            [text for text in steer if text],
        )

    def _session(self) -> dict[str, Any]:
        baseline, best = self.state.baseline(), self.state.best()
        return {
            "metric_name": self.state.metric_name,
            "metric_unit": self.state.metric_unit,
            "direction": self.state.direction,
            "baseline_metric": baseline.metric if baseline else None,
            "best_metric": best.metric if best else None,
            "run_count": len(self.state.runs),
            "goal": self.state.name or "",
        }

    def _refuse_beyond_limit(self) -> None:
        if self.limit_reached:
            raise IterationLimitError(f"{self.limit} runs were logged", limit=self.limit)

    def _write(self, line: dict[str, Any]) -> None:
        path = self.log_path
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "ab") as file:
            file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))


def _line(run: PiRun) -> dict[str, Any]:
    line = {
        "run": run.run,
        "commit": run.commit,
        "metric": run.metric,
        "metrics": run.metrics,
        "status": run.status,
        "description": run.description,
        "timestamp": run.timestamp,
        "segment": run.segment,
        "confidence": run.confidence,
    }
    return line | ({"asi": run.asi} if run.asi else {})
