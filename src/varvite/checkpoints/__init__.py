"""The named jobs that may read history."""

from functools import cache
from importlib import import_module

from varvite.checkpoints.job import Job
from varvite.errors import NotFoundError

_HOMES: dict[str, str] = {}
"""Each job's module, whose `JOB` it is."""


@cache
def jobs() -> dict[str, Job]:
    """All jobs, by name."""
    found = (import_module(f"varvite.checkpoints.{home}").JOB for home in _HOMES.values())
    return {job.name: job for job in found}


def job(name: str) -> Job:
    """The job of this name.

    Raises:
        NotFoundError
    """
    try:
        return jobs()[name]
    except KeyError:
        known = ", ".join(jobs())
        raise NotFoundError(f"no checkpoint {name[:80]!r}", hint=f"there are: {known}") from None
