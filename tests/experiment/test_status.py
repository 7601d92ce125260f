import itertools

import pytest

from varvite.errors import SessionStatusError
from varvite.experiment.session import Metric
from varvite.experiment.status import TRANSITIONS, check_step

ALLOWED = {
    ("active", "finalizing"),
    ("active", "archived"),
    ("finalizing", "finalized"),
    ("finalizing", "active"),
    ("finalized", "archived"),
}


@pytest.mark.parametrize(
    ("status", "to"), [*itertools.product([*TRANSITIONS], [*TRANSITIONS, "x"])]
)
def test_only_the_steps_of_the_table_can_be_taken(status, to):
    if (status, to) in ALLOWED:
        check_step("s", status, to)
        return

    with pytest.raises(SessionStatusError) as caught:
        check_step("s", status, to)

    assert caught.value.status == status


def test_steps_are_events_and_entering_finalized_is_dated_once(open_session):
    session = open_session()
    session.start(Metric("ms"))

    for to in ("finalizing", "active", "finalizing"):
        session.transition(to)
    finalized = session.transition("finalized")
    session.transition("archived")

    assert session.status() == "archived"
    assert session.state().finalized_at == finalized.at


@pytest.mark.parametrize(
    ("steps", "status"), [(["finalizing", "finalized"], "finalized"), (["archived"], "archived")]
)
@pytest.mark.parametrize(
    "record", [{"type": "run", "status": "keep"}, {"type": "config"}, {"type": "hook"}]
)
def test_a_session_that_is_done_takes_no_record_and_no_new_segment(
    open_session, steps, status, record
):
    session = open_session()
    for to in steps:
        session.transition(to)
    cursor = session.cursor

    with pytest.raises(SessionStatusError) as caught:
        session.append_record(record)

    assert caught.value.message == f"Cannot append record to {status} session: sort-speed"
    assert session.cursor == cursor


def test_a_session_that_is_finalizing_takes_records(open_session):
    session = open_session()
    session.transition("finalizing")

    session.append_record({"type": "finalize", "payload": {"branches": []}})

    assert session.cursor == 2


def test_a_retry_is_answered_though_the_session_is_done_since(open_session):
    session = open_session()
    run = {"type": "run", "status": "keep", "metric": 1}
    first = session.append_record(run, key="run-1")
    session.transition("archived")

    again = session.append_record(run, key="run-1")

    assert (again.replayed, again.cursor) == (True, first.cursor)
