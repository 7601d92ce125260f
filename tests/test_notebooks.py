import os
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.py"))


def run(*command, cwd, **env):
    done = subprocess.run(
        command,
        cwd=cwd,
        env=os.environ | {"HOME": str(cwd), "PYTHONDONTWRITEBYTECODE": "1"} | env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_there_are_notebooks():
    assert [path.name for path in NOTEBOOKS] == ["explore_session.py"]


@pytest.mark.extras
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_is_well_formed(notebook, tmp_path):
    run(sys.executable, "-m", "marimo", "check", "--strict", str(notebook), cwd=tmp_path)


@pytest.mark.extras
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_runs_from_the_shell(notebook, tmp_path):
    run(sys.executable, str(notebook), cwd=tmp_path, TMPDIR=str(tmp_path))


@pytest.mark.extras
def test_a_session_is_explored_as_sql_sees_it(tmp_path):
    from varvite.samples import search
    from varvite.store import Store

    store = Store(tmp_path / "store")
    with store.graph("s", create=True) as session:
        for response in search.responses(5, 1500):
            session.submit([response.payload()])
    program = (
        "import runpy, sys\n"
        "app = runpy.run_path(sys.argv[1])['app']\n"
        "_, found = app.run()\n"
        "print(found['growth']['hits'].sum(), len(found['claims']), len(found['chart'].to_dict()['data']))\n"
    )

    notebook = NOTEBOOKS[0]
    done = run(sys.executable, "-c", program, str(notebook), cwd=tmp_path, VARVITE_STORE=store.path)

    hits = store.sql("select count(*) from sightings").rows()[0][0]
    assert done.stdout.splitlines()[-1] == f"{hits} 10 1"
