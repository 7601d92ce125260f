"""A real session that is stopped after every response answers as one that never was."""

import pytest

import varvite
from varvite.graph import payloads

VIEWS = ("records", "nodes", "node_revisions", "edges", "sightings", "frontier", "events")
OWN = "session_id, session_uid, committed_at"


@pytest.fixture(scope="module")
def given(shared):
    return list(payloads.in_file(str(shared / "data/gaia/twodheg__lkm_payloads.ndjson")))


def answers(store, session):
    """Every view of the session, without whose it is and when it was committed."""
    asked = {view: f"select * exclude ({OWN}) from {view} order by seq" for view in VIEWS}
    return {view: store.sql(query, sessions=[session]).rows() for view, query in asked.items()}


def test_stopping_after_any_response_gives_the_same_answers_in_sql(given, tmp_path):
    store = varvite.open(tmp_path / "store")
    with store.graph("whole", create=True, level="fast") as session:
        for one in given:
            session.submit([one])

    for one in given:
        with store.graph("stopped", create=True, level="fast") as session:
            session.submit([one])

    assert answers(store, "stopped") == answers(store, "whole")
    assert {entry.name for entry in tmp_path.iterdir()} == {"store"}
