import importlib.util
from pathlib import Path

import pytest

import varvite
from varvite.engines.local import Local
from varvite.testing import growing, toy_job

_spec = importlib.util.spec_from_file_location("headers", Path(__file__).with_name("headers.py"))
headers = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(headers)


@pytest.fixture(scope="session", autouse=True)
def _toy():
    toy_job.install()


@pytest.fixture(scope="module", autouse=True)
def statements_run():
    """Every statement that a job runs in these tests is held against its header."""
    run = set()
    ask, make = Local.ask, Local.make

    def checked_ask(self, statement, params=None):
        answer = ask(self, statement, params)
        headers.check(statement, answer)
        run.add(statement)
        return answer

    def checked_make(self, table, statement, params=None):
        rows = make(self, table, statement, params)
        headers.check(statement, self._con.sql(f'from "{table}"').to_arrow_table())
        run.add(statement)
        return rows

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Local, "ask", checked_ask)
        patch.setattr(Local, "make", checked_make)
        yield run


@pytest.fixture
def store(tmp_path):
    """A store with one small graph session, partly compacted."""
    made = varvite.open(tmp_path / "store")
    growing.graph(made, "s", 300)
    made.compact()
    with made.graph("s") as session:
        session.open_bucket("Later")
    return made
