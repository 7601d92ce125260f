"""One line of the event log that a port of pi-autoresearch writes: init, run, result.

A `run` says what is about to be tried, and the `result` with its id what came of it.
"""

from collections.abc import Callable, Iterable
from typing import Any

import orjson

from varvite.adapters.pi_line import direction_of, moment, storable
from varvite.records.outcomes import measured

_KINDS = frozenset({"init", "run", "result"})


class Tried:
    """What the runs of a log were about to try, by id; looked up in the lines before, once."""

    def __init__(self, earlier: Callable[[], Iterable[bytes]] = tuple) -> None:
        self._earlier: Callable[[], Iterable[bytes]] | None = earlier
        self._runs: dict[str, dict[str, Any]] = {}

    def add(self, entry: dict[str, Any]) -> None:
        if entry.get("kind") == "run" and isinstance(entry.get("id"), str):
            self._runs[entry["id"]] = entry

    def take(self, run_id: Any) -> dict[str, Any]:
        """The line of a run; empty where there is none, or it was taken."""
        if run_id not in self._runs and self._earlier:
            earlier, self._earlier = self._earlier, None
            for entry in filter(is_one, map(_decoded, _lines(earlier()))):
                self._runs.setdefault(str(entry.get("id")), entry)
        return self._runs.pop(run_id, {}) if isinstance(run_id, str) else {}


def is_one(entry: Any) -> bool:
    """Whether a line is of such a log, and of none of pi's kinds."""
    if not isinstance(entry, dict) or entry.keys() & {"type", "run"}:
        return False
    kind = entry.get("kind")
    told = {"init": "config", "run": "id", "result": "run_id"}.get(str(kind), "")
    return kind in _KINDS and told in entry


def record_of(
    entry: dict[str, Any], raw: str, tried: Tried, defaults: dict[str, str]
) -> dict[str, Any]:
    """The record that a line is: of init a config, of run a hook, of result a run."""
    tried.add(entry)
    kind, fields, rest = _READ[entry["kind"]](entry, tried, defaults)
    payload = storable(rest, "payload", defaults) or None
    return {"stream": "records", "type": kind, **fields, "payload": payload, "raw": raw}


def _init(
    entry: dict[str, Any], _tried: Tried, defaults: dict[str, str]
) -> tuple[str, dict[str, Any], dict[str, Any]]:
    told = entry["config"] if isinstance(entry["config"], dict) else {}
    names = {"name": "name", "metric_name": "metric", "metric_unit": "unit"}
    texts = {field: _text(told, name, defaults) for field, name in names.items()}
    rest = {key: value for key, value in entry.items() if key != "config"}
    rest |= {key: value for key, value in told.items() if key not in _CONFIG} | _odd(entry)
    return "config", texts | {"direction": direction_of(told, defaults)}, rest


def _odd(entry: dict[str, Any]) -> dict[str, Any]:
    return {} if isinstance(entry["config"], dict) else {"config": entry["config"]}


def _run(
    entry: dict[str, Any], _tried: Tried, _defaults: dict[str, str]
) -> tuple[str, dict[str, Any], dict[str, Any]]:
    return "hook", {}, entry


def _result(
    entry: dict[str, Any], tried: Tried, defaults: dict[str, str]
) -> tuple[str, dict[str, Any], dict[str, Any]]:
    run = tried.take(entry["run_id"])
    metric, state = measured(entry.get("metric_value"))
    if metric is None:
        defaults["metric_value"] = f"null, as it is {state}"
    fields = {
        "status": _status(entry, defaults),
        "metric": metric,
        "metric_state": state,
        "commit": _text(entry, "commit_after", defaults),
        "description": _text(run, "idea", defaults),
        "logged_at": moment(entry, defaults),
    }
    told = {name: run[name] for name in ("commit_before",) if name in run}
    rest = {key: value for key, value in entry.items() if key not in _RUN}
    return "run", fields, rest | told


def _status(entry: dict[str, Any], defaults: dict[str, str]) -> str:
    kept = entry.get("kept")
    if kept is True:
        return "keep"
    if kept is False:
        return "checks_failed" if entry.get("checks_passed") is False else "discard"
    defaults["kept"] = "unknown"
    return "unknown"


def _text(entry: dict[str, Any], name: str, defaults: dict[str, str]) -> str | None:
    value = entry.get(name)
    if isinstance(value, str):
        return str(value) if storable(value, name, defaults) is not None else None
    defaults[name] = "null"
    return None


def _lines(chunks: Iterable[bytes]) -> Iterable[bytes]:
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole


def _decoded(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return None


_CONFIG = frozenset({"name", "metric", "unit", "direction"})
_RUN = frozenset({"metric_value", "commit_after", "timestamp"})
_READ = {"init": _init, "run": _run, "result": _result}
