import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from varvite.cli.main import cli

RESPONSE = {
    "code": 0,
    "data": {
        "papers": {"paper:1": {"id": "1", "doi": "10.1/a", "en_title": "A title"}},
        "variables": [
            {
                "id": f"gcn_{name * 16}",
                "content": f"claim {name}",
                "type": "claim",
                "role": "premise",
                "score": 0.5,
                "provenance": {
                    "representative_lcn": {"local_id": "paper:1::P1", "package_id": "paper:1"},
                    "source_packages": ["paper:1"],
                },
            }
            for name in "ab"
        ],
    },
    "trace_id": "t1",
}


class Varvite:
    """The command line on one store: in this process, or in one of its own."""

    def __init__(self, store: Path):
        self.store = store

    def __call__(self, *args, stdin=None, shape=None):
        options = ["--store", str(self.store)]
        if shape:
            options += ["--format", shape]
        return CliRunner().invoke(cli, [*options, *map(str, args)], input=stdin)

    def json(self, *args, **options):
        result = self(*args, **options)
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    def refused(self, code, *args, **options):
        """The error object of a command that ends with `code`, and answers nothing."""
        result = self(*args, **options)
        assert (result.exit_code, result.stdout) == (code, ""), result.output
        return json.loads(result.stderr)

    def process(self, *args, **options):
        command = [sys.executable, "-m", "varvite.cli", "--store", str(self.store), *args]
        return subprocess.run(command, capture_output=True, text=True, check=False, **options)


@pytest.fixture
def varvite(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("VARVITE_STORE", raising=False)
    return Varvite(tmp_path / "store")


@pytest.fixture
def response(tmp_path):
    """A file with one search response of two variables and a paper."""
    path = tmp_path / "match.json"
    path.write_text(json.dumps(RESPONSE))
    return path


@pytest.fixture
def searched(varvite, response):
    varvite.json("graph", "submit", "--session", "s", "--create", response)
    return varvite


@pytest.fixture
def experimented(varvite):
    varvite.json("experiment", "init", "e", "--metric", "ms", "--unit", "ms")
    runs = [
        {"type": "run", "status": "keep", "metric": 3.5, "description": "first"},
        {"type": "run", "status": "discard", "metric": 4, "description": "second"},
        {"type": "run", "status": "keep", "metric": 2, "description": "third"},
    ]
    varvite.json("experiment", "append", "--session", "e", stdin=json.dumps(runs))
    return varvite
