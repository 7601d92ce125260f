"""What a run can come to, and what its metric can be: the words of `records`."""

import math
from typing import Any, Literal, get_args

Status = Literal[
    "keep", "discard", "crash", "checks_failed", "errored", "pending", "confirm", "unknown"
]
MetricState = Literal["finite", "missing", "nan", "infinite", "not_a_number"]
Direction = Literal["minimize", "maximize"]

STATUSES: tuple[str, ...] = get_args(Status)
METRIC_STATES: tuple[str, ...] = get_args(MetricState)
DIRECTIONS: tuple[str, ...] = get_args(Direction)


def measured(value: Any) -> tuple[float | None, MetricState]:
    """A metric as a record holds it: the number, or null and the reason."""
    if value is None:
        return None, "missing"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None, "not_a_number"
    try:
        number = float(value)
    except OverflowError:
        return None, "infinite"
    if math.isnan(number):
        return None, "nan"
    return (None, "infinite") if math.isinf(number) else (number, "finite")
