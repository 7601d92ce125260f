"""The SQL of checkpoints: what its headers promise, and that some job runs each of them."""

import pytest

import varvite
from varvite.checkpoints import jobs
from varvite.query import statements
from varvite.testing import mixed
from varvite.testing.recording import RecordingGaia

COMPONENTS = {"method": "components", "components": "sql"}


@pytest.fixture(scope="module")
def asked(tmp_path_factory, statements_run):
    """Every job run over something of everything, and again when there is more of it."""
    store = varvite.open(tmp_path_factory.mktemp("asked"))
    mixed.fill(store)
    statements_run.clear()
    for turn in range(2):
        for name in jobs():
            store.checkpoint(name, gaia=RecordingGaia())
        store.checkpoint("recluster", parameters=COMPONENTS)
        node = {"stream": "nodes", "id": f"late{turn}", "node_kind": "variable"}
        mixed.append(store, "search", [node])
    return set(statements_run)


def test_every_statement_is_run_by_some_job(asked):
    shipped = set(statements._load("checkpoints"))

    assert asked == shipped


def test_a_statement_that_does_not_keep_its_header_is_found(store, monkeypatch):
    from dataclasses import replace

    from varvite.testing.toy_job import toy

    known = dict(statements.checkpoints())
    kinds = known["kinds"]
    for columns in (kinds.columns[:1], tuple(replace(c, type="varchar") for c in kinds.columns)):
        known["kinds"] = replace(kinds, columns=columns)
        monkeypatch.setattr(statements, "checkpoints", lambda: known)

        with pytest.raises(AssertionError, match="kinds"):
            toy(store, "s")
