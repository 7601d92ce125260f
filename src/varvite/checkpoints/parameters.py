"""Hold what a job is given against what it takes."""

import math
from collections.abc import Mapping
from typing import Any

from varvite.checkpoints.job import Job, Parameter
from varvite.errors import InputError


def taken(job: Job, given: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters of the job, those given and the defaults.

    A text is read as the number or truth that the default is.

    Raises:
        InputError: .path of one that the job has not, or that is out of bounds.
    """
    unknown = given.keys() - job.parameters.keys()
    if unknown:
        known = ", ".join(job.parameters) or "none"
        raise InputError(
            f"{job.name} has no parameter {min(unknown)!r}",
            hint=f"its parameters: {known}",
            path=min(unknown),
        )
    return {
        name: _value(job, name, one, given[name]) if name in given else one.default
        for name, one in job.parameters.items()
    }


def _value(job: Job, name: str, parameter: Parameter, given: Any) -> Any:
    value = _read(parameter.default, given)
    if value is None or not _within(parameter, value):
        raise InputError(
            f"{job.name}: {name} cannot be {given!r}", hint=_allowed(parameter), path=name
        )
    return value


def _read(default: Any, given: Any) -> Any:
    """The value as the kind of thing that the default is; None where it is none."""
    if isinstance(default, bool):
        return {"true": True, "false": False}.get(str(given).lower())
    if isinstance(default, int | float):
        if isinstance(given, bool):
            return None
        try:
            return type(default)(given)
        except (TypeError, ValueError):
            return None
    return given if isinstance(given, str) else None


def _within(parameter: Parameter, value: Any) -> bool:
    if parameter.choices:
        return value in parameter.choices
    if isinstance(value, str | bool):
        return True
    low = -math.inf if parameter.low is None else parameter.low
    high = math.inf if parameter.high is None else parameter.high
    return math.isfinite(value) and low <= value <= high


def _allowed(parameter: Parameter) -> str:
    if parameter.choices:
        return f"one of {', '.join(parameter.choices)}"
    if isinstance(parameter.default, bool):
        return "true or false"
    kind = "a whole number" if isinstance(parameter.default, int) else "a number"
    return f"{kind} from {parameter.low} to {parameter.high}"
