import pytest

import varvite
from varvite.testing import growing, toy_job


@pytest.fixture(scope="session", autouse=True)
def _toy():
    toy_job.install()


@pytest.fixture
def store(tmp_path):
    """A store with one small graph session, partly compacted."""
    made = varvite.open(tmp_path / "store")
    growing.graph(made, "s", 300)
    made.compact()
    with made.graph("s") as session:
        session.open_bucket("Later")
    return made
