"""A session that is worked on in every way: its index is what a rebuild makes of it."""

import pytest

from varvite.errors import StateConflictError
from varvite.session.rebuild import rebuild
from varvite.testing.recording import RecordingGaia


def refs(packet):
    return [one["id"] for one in packet.evidence[:2]]


ACTS = [
    lambda s, make: s.open_bucket("Scaling", bucket_id="b"),
    lambda s, make: s.submit([make.hits("gcn_1", "gcn_2", "gcn_3", paper={"id": "7"})]),
    lambda s, make: s.open_focus("what of it?", bucket_ids=["b"], priority="high"),
    lambda s, make: s.obligations.open("answer", target_kind="bucket", target_id="b"),
    lambda s, make: s.obligations.open("more", target_kind="gaia_qid", target_id="q"),
    lambda s, make: s.frontier.add({"text": "one"}, priority="high"),
    lambda s, make: s.frontier.add({"text": "two"}),
    lambda s, make: s.frontier.lease(2, for_steps=1),
    lambda s, make: s.submit([make.hits("gcn_4", role="conflict", score=0.9)]),
    lambda s, make: s.frontier.lease(1, by="other", for_steps=9),
    lambda s, make: s.frontier.failed(s.frontier.lease(1, for_steps=1)[0]["id"]),
    lambda s, make: s.assess(
        s.packets()[0], [make.relation(*refs(s.packets()[0])), make.relation("item_1", "gcn_9")]
    ),
    lambda s, make: s.assess(
        s.packets()[0],
        [make.relation(*refs(s.packets()[0]), claim="mended", repairs=open_repair(s))],
        key="k",
    ),
    lambda s, make: s.project(3),
    lambda s, make: s.project(check=True),
    lambda s, make: s.promote(candidate(s), decided_by="ada", why="checked"),
    lambda s, make: s.demote(candidate(s), decided_by="ada", why="not so"),
    lambda s, make: s.submit([make.hits("gcn_5"), make.hits("gcn_6", buckets=[])]),
    lambda s, make: s.obligations.close(s.obligations.at_hand()[0]["id"], "answered"),
    lambda s, make: s.pause("the night"),
    lambda s, make: s.resume("the morning"),
    lambda s, make: s.project(check=True),
]


def open_repair(session):
    return session.brief()["repair_contexts"][0]["id"]


def candidate(session):
    return min(session._first)


def act(session, make, number):
    receipt = ACTS[number](session, make)
    if number == 11:
        session._first = receipt.candidates


def items(session):
    found = dict(session._writer.index.items())
    return {
        key: value
        for key, value in found.items()
        if not key.startswith(b"applied\0") and b"Z" not in value[-30:]
    }


def work(graphs, make, name, *, stopping):
    """Do every act, in one handle or in one each; the index afterwards."""
    gaia, first = RecordingGaia(), []
    graphs.create(name, overdue_after=1)
    numbers = iter(range(len(ACTS)))
    for number in numbers:
        with graphs.open(name, gaia=gaia) as session:
            session._first = first
            act(session, make, number)
            while not stopping:
                following = next(numbers, None)
                if following is None:
                    break
                act(session, make, following)
            first = session._first
    with graphs.open(name) as session:
        return items(session)


def test_a_rebuild_makes_the_index_that_working_made(graphs, make):
    kept = work(graphs, make, "s", stopping=False)

    with graphs.open() as session:
        kind = session._writer.kind
    rebuild(graphs.store, "s", kind)

    with graphs.open() as session:
        assert items(session) == kept
    streams = {name for name, found in graphs.records().items() if found}
    assert streams >= set(kind.streams)


def test_working_in_many_handles_makes_what_working_in_one_makes(graphs, make):
    whole = work(graphs, make, "whole", stopping=False)
    stopped = work(graphs, make, "stopped", stopping=True)

    one, other = graphs.records("whole"), graphs.records("stopped")
    for stream in one:
        names = [{k: v for k, v in record.items() if k != "at"} for record in one[stream]]
        assert [{k: v for k, v in record.items() if k != "at"} for record in other[stream]] == [
            unnamed(record, "whole", "stopped") for record in names
        ]
    assert len(whole) == len(stopped)


def unnamed(value, old, new):
    """The value with a session's name, where it stands in what Gaia made, put into another's."""
    if isinstance(value, dict):
        return {key: unnamed(one, old, new) for key, one in value.items()}
    if isinstance(value, list):
        return [unnamed(one, old, new) for one in value]
    return value.replace(f":{old}-", f":{new}-") if isinstance(value, str) else value


def test_an_act_that_is_refused_half_way_leaves_nothing(field, make):
    packet = field.packets()[0]
    first, _ = field.assess(
        packet, [make.relation("gcn_1", "gcn_9"), make.relation("gcn_2", "gcn_9")]
    ).repairs
    field.drop_repair(first["id"], "no")
    cursor, before = field.cursor, dict(field._writer.index.items())

    with pytest.raises(StateConflictError):
        field.assess(
            packet,
            [make.relation("gcn_1", "gcn_2"), make.relation("gcn_1", "gcn_3", repairs=first["id"])],
        )

    assert field.cursor == cursor
    assert dict(field._writer.index.items()) == before
