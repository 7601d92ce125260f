import json
import subprocess
import sys

import pytest

HEAVY = ("duckdb", "pyarrow", "polars", "pydantic")


def loaded(*arguments):
    """Which of the heavy packages a fresh process loads for a command."""
    program = (
        "import json, sys\n"
        "sys.argv = ['varvite', *json.loads(sys.argv[1])]\n"
        "from varvite.cli.main import main\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        f"    print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, json.dumps([str(one) for one in arguments])],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize("arguments", [["--help"], ["sql", "--help"], ["compact", "--help"]])
def test_help_loads_nothing_heavy(arguments):
    assert loaded(*arguments) == "[]"


def test_a_listing_loads_nothing_heavy(searched, experimented):
    assert loaded("--store", searched.store, "sessions") == "[]"


def test_status_loads_nothing_heavy(searched, experimented):
    assert loaded("--store", searched.store, "graph", "status", "s") == "[]"
    assert loaded("--store", searched.store, "experiment", "status", "e") == "[]"


def test_a_step_loads_no_engine(varvite, response):
    found = loaded(
        "--store", varvite.store, "graph", "submit", "--session", "s", "--create", response
    )

    assert "duckdb" not in found
    assert "pyarrow" not in found
    assert "polars" not in found
