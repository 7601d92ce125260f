from contextlib import contextmanager

import pytest

from varvite import checkpoints
from varvite.bench import running, seeding
from varvite.bench.running import Plan

SIZES = (300, 3_000)


@contextmanager
def smaller():
    """A history of few buckets, and no checkpoint but what a test brings."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints, "jobs", dict)
        patch.setattr(seeding, "BUCKETS", 5)
        yield


@pytest.fixture(scope="module", autouse=True)
def _small():
    with smaller():
        yield


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Where seeds of the tests' sizes are kept."""
    return str(tmp_path_factory.mktemp("bench"))


@pytest.fixture(scope="session")
def measured(folder):
    with smaller():
        return running.run(Plan(folder, SIZES, rounds=1, keep=True))


@pytest.fixture
def run_with(folder):
    """A run of one operation alone."""
    return lambda *operations: running.run(
        Plan(folder, SIZES, rounds=1, keep=True, continuation=operations)
    )
