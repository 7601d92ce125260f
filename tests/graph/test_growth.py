"""A growth log taken over: the real one from beside the checkout, and made ones."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from varvite.adapters.growth import DECISIONS, GrowthLog
from varvite.errors import SessionStatusError, StateConflictError
from varvite.graph import candidates, payloads
from varvite.session.rebuild import rebuild

ROOT = Path(__file__).parents[2]


class One:
    """A log that gives one line at a time."""

    def __init__(self, log):
        self._log, self.source = log, log.source

    def read(self, after):
        yield next(iter(self._log.read(after)))


@pytest.fixture
def log(shared):
    return GrowthLog(shared / "data/gaia/twodheg__graph_growth_log.jsonl", source="growth")


@pytest.fixture(scope="module")
def given(shared):
    return list(payloads.in_file(str(shared / "data/gaia/twodheg__lkm_payloads.ndjson")))


def items(session):
    """The index, but for how far it is applied, which names the session."""
    found = dict(session._writer.index.items())
    return {key: value for key, value in found.items() if not key.startswith(b"applied\0")}


VIEWS = ("candidates", "promotions", "edges", "events")


def rows(graphs, name):
    dropped = "session_id, session_uid, committed_at"
    return [
        graphs.sql(
            f"select * exclude ({dropped}) from {view} where session_id = '{name}' order by seq"
        ).rows()
        for view in VIEWS
    ]


def test_every_event_of_the_real_log_is_accounted_for(graphs, log):
    with graphs.new() as session:
        report = session.import_growth(log)

    records = graphs.records()
    events = [one for one in records["events"] if one["type"].startswith("growth.")]
    assert report.lines == sum(report.decisions.values()) == len(events) == 101
    assert report.decisions == Counter(one["type"].partition(".")[2] for one in events)
    assert (report.unknown, report.unmatched, report.quarantined) == ([], [], [])
    assert report.unread == []
    assert set(report.decisions) == set(DECISIONS)
    lines = Path(log.path).read_text().splitlines()
    assert [one["payload"]["event"] for one in events] == [json.loads(line) for line in lines]


def test_24_are_accepted_and_one_of_them_is_demoted_in_round_6(graphs, given, log):
    with graphs.new() as session:
        session.submit(given)
        report = session.import_growth(log)

    made = graphs.latest("candidates")
    decisions = list(graphs.latest("decisions").values())
    (demoted,) = [one for one in made.values() if one["status"] == "demoted"]
    (undone,) = [one for one in decisions if one["action"] == "demote"]
    assert (report.candidates, report.demotions) == (len(made), 1) == (24, 1)
    assert len(decisions) == 25
    assert {one["origin"] for one in decisions} == {"import"}
    assert demoted["label"] == "n_quarter_scaling_vs_shell_filling_noise"
    assert (undone["candidate_id"], demoted["decision_id"]) == (demoted["id"], undone["id"])
    (event,) = [
        one
        for one in graphs.records()["events"]
        if undone["id"] in (one.get("refs") or {}).get("decisions", [])
    ]
    assert event["payload"]["event"]["round_id"] == "round_0006"
    assert event["type"] == "growth.repair"


def test_imported_relations_stand_between_nodes_of_the_session(graphs, given, log):
    with graphs.new() as session:
        session.submit(given)
        session.import_growth(log)

    nodes = graphs.latest("nodes")
    edges = [one for one in graphs.latest("edges").values() if one["origin"] == "gaia"]
    assert Counter((one["edge_kind"], one["status"]) for one in edges) == {
        ("deduction", "active"): 13,
        ("support", "active"): 6,
        ("contradiction", "active"): 1,
        ("contradiction", "retracted"): 1,
    }
    for one in edges:
        assert {one["src"], one["dst"]} <= nodes.keys()
    for one in graphs.latest("candidates").values():
        assert one["claim_refs"]
        assert set(one["claim_refs"]) <= nodes.keys()


def test_nothing_of_it_passes_a_packet_or_reaches_gaia(graphs, given, log):
    with graphs.new() as session:
        session.submit(given)
        session.import_growth(log)

    records = graphs.records()
    assert {one["validation"] for one in records["candidates"]} == {"imported"}
    assert records["projections"] == records["repair_contexts"] == []


def test_stopping_and_resuming_after_every_event_gives_the_same_state(graphs, given, log):
    with graphs.new("whole") as session:
        session.submit(given)
        session.import_growth(log)
        whole = items(session)
    with graphs.new("stopped") as session:
        session.submit(given)
    for _ in range(101):
        with graphs.open("stopped") as session:
            session.import_growth(One(log))
    with graphs.open("stopped") as session:
        again = session.import_growth(log)
        stopped = items(session)

    assert again.lines == 0
    assert stopped == whole
    assert rows(graphs, "stopped") == rows(graphs, "whole")


def test_a_rebuild_makes_the_same_index(graphs, given, log):
    with graphs.new() as session:
        session.submit(given[:40])
        session.import_growth(log)
        kept = dict(session._writer.index.items())

    rebuild(graphs.store, "s", session._writer.kind)

    with graphs.open() as session:
        assert dict(session._writer.index.items()) == kept


def table():
    """The rows of the page: decision, becomes, relation, pattern, how often in the real log."""
    text = (ROOT / "docs" / "graph.md").read_text()
    row = r"^\| (\w+) \| (candidate|event) \| (\w*) ?\| (\w*) ?\| (\d+) \|$"
    return re.findall(row, text, re.MULTILINE)


def test_the_document_has_the_table_that_the_adapter_follows():
    assert [found[:4] for found in table()] == [
        (name, rule.becomes, rule.relation_type or "", rule.pattern or "")
        for name, rule in DECISIONS.items()
    ]


def test_the_document_accounts_for_every_line_of_the_real_log(graphs, log):
    with graphs.new() as session:
        report = session.import_growth(log)

    assert {found[0]: int(found[4]) for found in table()} == report.decisions


def event(decision="accepted_claim", *, added=(), removed=(), edges=(), **fields):
    delta = {
        "nodes_added": [{"id": one, "label": f"about {one}"} for one in added],
        "nodes_removed": [{"id": one} for one in removed],
        "edges_added": [{"from": a, "to": b, "kind": "support"} for a, b in edges],
        "edges_removed": [],
    }
    made = {"decision": decision, "event_id": f"e-{decision}", "actor": "a", "seq": 1}
    return json.dumps(made | {"graph_delta": delta} | fields)


@pytest.fixture
def written(tmp_path):
    def write(*lines, end="\n"):
        path = tmp_path / "growth.jsonl"
        path.write_text("\n".join(lines) + end)
        return GrowthLog(path)

    return write


def test_what_is_removed_again_after_it_was_accepted_again_is_the_later_one(graphs, written):
    with graphs.new() as session:
        report = session.import_growth(
            written(
                event(added=["x"]),
                event("repair", removed=["x"]),
                event(added=["x"]),
                event("repair", removed=["x"]),
            )
        )

    assert report.demotions == 2
    assert [one["status"] for one in graphs.latest("candidates").values()] == ["demoted"] * 2


def test_what_nothing_made_and_what_no_table_has_is_told_and_kept(graphs, written):
    with graphs.new() as session:
        report = session.import_growth(written(event("celebrated", removed=["nothing"])))

    assert (report.unknown, report.unmatched) == (["celebrated"], ["nothing"])
    (kept,) = [one for one in graphs.records()["events"] if one["type"] == "growth.celebrated"]
    assert kept["payload"]["event"]["decision"] == "celebrated"


def test_what_has_no_id_in_the_log_is_told_by_its_place_and_kept_in_the_event(graphs, written):
    delta = {
        "nodes_added": [{"id": "x"}, {"id": 7}, "y"],
        "nodes_removed": {"id": "x"},
        "edges_added": [{"from": "x"}, {"from": "x", "to": "y"}],
    }
    with graphs.new() as session:
        report = session.import_growth(
            written(event(graph_delta=delta), event(graph_delta=[]), event(graph_delta=None))
        )

    path = "$.graph_delta"
    places = [f"1:{path}.{one}" for one in ("nodes_added[1]", "nodes_added[2]")]
    places += [f"1:{path}.nodes_removed", f"1:{path}.edges_added[0]", f"2:{path}"]
    (first, *_) = [one for one in graphs.records()["events"] if one["type"].startswith("growth.")]
    assert report.unread == places
    assert report.candidates == 3
    assert first["payload"]["event"]["graph_delta"] == delta


def test_an_edge_that_is_removed_alone_is_told(graphs, written):
    cut = [{"from": "a", "to": "x", "kind": "operand"}, {"from": "a", "to": "b", "kind": "support"}]
    delta = {"nodes_removed": [{"id": "x"}], "edges_removed": cut}
    with graphs.new() as session:
        report = session.import_growth(
            written(event(added=["x"]), event("repair", graph_delta=delta))
        )

    assert (report.demotions, report.unmatched) == (1, ["a support b"])


def test_what_is_removed_twice_is_demoted_once(graphs, written):
    removed = event("repair", removed=["x"])
    with graphs.new() as session:
        report = session.import_growth(written(event(added=["x"]), removed, removed))

    assert (report.demotions, report.unmatched) == (1, ["x"])
    assert len(graphs.latest("decisions")) == 2


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("{", "malformed"),
        ('{"decision": 1}', "unknown_shape"),
        ("[]", "not_an_object"),
        ('{"decision": "x", "decision": "y"}', "malformed"),
    ],
)
def test_a_line_that_cannot_be_read_is_kept_and_the_others_are_taken(graphs, written, line, kind):
    with graphs.new() as session:
        report = session.import_growth(written(event(added=["x"]), line, event(added=["y"])))

    (kept,) = graphs.records()["quarantine"]
    assert (kept["kind"], kept["raw"], kept["source_line"]) == (kind, line, 2)
    assert (report.candidates, len(report.quarantined), report.lines) == (2, 1, 3)


def test_a_log_that_grows_is_followed_and_its_last_line_waits_for_its_end(graphs, written):
    with graphs.new() as session:
        first = session.import_growth(written(event(added=["x"]), event(added=["y"]), end=""))
        second = session.import_growth(written(event(added=["x"]), event(added=["y"])))

    assert (first.candidates, second.candidates) == (1, 1)
    assert first.unfinished > 0 == second.unfinished


def test_a_log_that_was_changed_below_is_refused(graphs, written):
    with graphs.new() as session:
        session.import_growth(written(event(added=["x"])))
        cursor = session.cursor

        with pytest.raises(StateConflictError):
            session.import_growth(written(event(added=["z"]), event(added=["y"])))
        assert session.cursor == cursor


def test_a_paused_session_imports_nothing(graphs, written):
    with graphs.new() as session:
        session.pause()

        with pytest.raises(SessionStatusError):
            session.import_growth(written(event(added=["x"])))


def test_a_candidate_is_found_by_what_the_log_called_it(graphs, written):
    with graphs.new() as session:
        session.import_growth(written(event(added=["x", "y"])))

        (own,) = graphs.latest("candidates")
        assert candidates.imported(session.look, "growth.jsonl", "y") == own
        assert candidates.imported(session.look, "other", "y") is None
