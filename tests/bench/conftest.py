import pytest

from varvite import checkpoints
from varvite.bench import running, seeding
from varvite.bench.running import Plan

SIZES = (300, 3_000)


@pytest.fixture(scope="session", autouse=True)
def small():
    """A history of few buckets, and no checkpoint but what a test brings."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints, "jobs", dict)
        patch.setattr(seeding, "BUCKETS", 5)
        yield


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Where seeds of the tests' sizes are kept."""
    return str(tmp_path_factory.mktemp("bench"))


@pytest.fixture(scope="session")
def measured(folder):
    return running.run(Plan(folder, SIZES, rounds=1, keep=True))


@pytest.fixture
def run_with(folder):
    """A run of one operation alone."""
    return lambda *operations: running.run(
        Plan(folder, SIZES, rounds=1, keep=True, continuation=operations)
    )
