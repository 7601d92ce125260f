"""The one timestamp format: UTC, microseconds, `Z`."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], str]


def now() -> str:
    return format_utc(datetime.now(UTC))


def format_utc(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
