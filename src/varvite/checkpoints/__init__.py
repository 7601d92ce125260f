"""The named jobs that may read history."""

from functools import cache
from importlib import import_module

from varvite.checkpoints.job import Job
from varvite.errors import NotFoundError

_MODULES = (
    "contradictions.job",
    "experiments",
    "gaia_check",
    "narrative",
    "promote_all",
    "rebuild",
    "recluster.job",
    "reprioritise",
    "same_work",
)
"""Each has one job, its `JOB`."""


@cache
def jobs() -> dict[str, Job]:
    """All jobs, by name."""
    found = (import_module(f"varvite.checkpoints.{name}").JOB for name in _MODULES)
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
