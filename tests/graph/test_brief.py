import pytest

from varvite.errors import SessionStatusError
from varvite.graph import brief, frontier, obligations
from varvite.store import Store


def test_a_brief_of_nothing_says_to_search(graphs):
    with graphs.new() as session:
        found = session.brief()

    assert found["next_action"].startswith("submit")
    assert (found["focuses"], found["packets"], found["repair_contexts"]) == ([], [], [])


def test_a_brief_has_all_that_is_needed_to_go_on(field, make):
    packet = field.packets()[0]
    field.obligations.open("answer it", target_kind="focus", target_id=packet.focus_id)
    field.frontier.add({"text": "more"})
    (context,) = field.assess(packet, [make.relation("gcn_1", "gcn_9")]).repairs

    found = field.brief()

    assert [one["id"] for one in found["focuses"]] == [packet.focus_id]
    assert found["packets"][0]["evidence"] == packet.evidence
    assert found["obligations"]["first"][0]["content"] == "answer it"
    assert found["repair_contexts"][0]["id"] == context["id"]
    assert found["frontier"]["next"][0]["request"] == {"text": "more"}
    assert (found["status"], found["step"], found["cursor"]) == ("active", 1, field.cursor)
    assert found["next_action"].startswith("assess: mend")


def test_the_next_action_goes_from_repairs_to_packets_to_calls_to_searching(field, make):
    packet = field.packets()[0]
    field.frontier.add({"text": "more"})
    said = [field.brief()["next_action"].split(":")[0]]
    field.assess(packet, [])
    said.append(field.brief()["next_action"].split(":")[0])
    field.frontier.lease(1, for_steps=9)
    said.append(field.brief()["next_action"].split(":")[0])
    field.pause()
    said.append(field.brief()["next_action"])

    assert said == ["assess", "frontier", "submit", "resume"]


def test_a_brief_has_no_scores_of_the_evidence(field, make):
    field.submit([make.hits("gcn_4", score=0.987)])

    assert "0.987" not in str(field.brief())


def test_a_brief_costs_the_same_reads_however_much_there_is(graphs, make, reads):
    def cost(session):
        with reads(session) as counted:
            found = session.brief()
        return counted.count, len(found["focuses"]), len(found["packets"])

    def grow(batch, session, numbers):
        for n in numbers:
            target = {"target_kind": "gaia_qid", "target_id": str(n)}
            obligations.add(batch, f"answer {n}", session.parameters, session.cursor, **target)
            frontier.add(batch, {"text": str(n)})

    with graphs.new() as session:
        for n in range(8):
            session.open_bucket(f"bucket {n}", bucket_id=f"b{n}")
            session.submit([make.hits(f"gcn_{n}", buckets=[f"b{n}"])])
        session.act(lambda batch: grow(batch, session, range(40)))
        few = cost(session)
        for n in range(8, 90):
            session.open_bucket(f"bucket {n}", bucket_id=f"b{n}")
            session.submit([make.hits(f"gcn_{n}", buckets=[f"b{n}"])])
        session.act(lambda batch: grow(batch, session, range(40, 1_000)))

        assert cost(session) == few
    assert few[1:] == (brief.FOCUSES, brief.PACKETS)


def test_a_brief_is_read_beside_the_writer(graphs, field):
    store = Store(graphs.store.path)

    with store.looking("s") as beside:
        found = beside.brief()
        packets = beside.packets(5)

    assert found["cursor"] == field.cursor
    assert packets == field.packets()
    assert {name: found[name] for name in field.brief()} == field.brief()


def test_a_paused_session_takes_nothing_until_it_is_resumed(graphs, field, make):
    packet = field.packets()[0]
    cursor = field.pause("the night")
    for act in (
        lambda: field.submit([make.hits("gcn_4")]),
        lambda: field.assess(packet, []),
        lambda: field.open_focus("what of it?"),
        lambda: field.open_bucket("another"),
        lambda: field.frontier.add({"text": "more"}),
        lambda: field.obligations.open("x", target_kind="gaia_qid", target_id="q"),
        field.pause,
    ):
        with pytest.raises(SessionStatusError) as caught:
            act()
        assert caught.value.status == "paused"
    assert field.cursor == cursor

    found = field.resume("the morning")

    assert found["status"] == "active"
    assert field.assess(packet, []).advanced
    with pytest.raises(SessionStatusError):
        field.resume()
    payloads = [
        one["payload"] for one in graphs.records()["events"] if one["type"] == "status_changed"
    ]
    assert [(one["to"], one["why"]) for one in payloads] == [
        ("paused", "the night"),
        ("active", "the morning"),
    ]


def test_a_paused_session_is_paused_for_everyone(graphs, make):
    with graphs.new() as session:
        session.submit([make.hits("gcn_1", buckets=[])])
        session.pause()
    (listed,) = Store(graphs.store.path).sessions()
    with graphs.open() as session:
        status = session.status()["status"]

    assert listed["summary"]["status"] == status == "paused"
    assert graphs.sql("select status from sessions").rows() == [("paused",)]


def test_what_was_known_before_the_pause_adds_nothing_and_is_not_refused(graphs, make):
    given = [make.hits("gcn_1", buckets=[])]
    with graphs.new() as session:
        first = session.submit(given, key="k")
        session.pause()

        assert session.submit(given).repeated == 1
        assert session.submit([], key="k").cursor == first.cursor
