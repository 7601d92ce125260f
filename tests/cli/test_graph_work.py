import json

import pytest

from varvite.store import Store


@pytest.fixture
def worked(varvite, tmp_path):
    """A session `s` with one bucket, three claims in it, and a packet that waits."""
    varvite.json("graph", "open", "s", "--create")
    hits = [
        {"id": f"gcn_{n}", "content": f"claim {n}", "variable_type": "claim", "bucket_ids": ["b"]}
        for n in range(3)
    ]
    file = tmp_path / "hits.json"
    file.write_text(json.dumps({"query": "q", "hits": hits}))
    with Store(str(varvite.store)).graph("s") as session:
        session.open_bucket("Scaling", bucket_id="b")
    varvite.json("graph", "submit", "--session", "s", file)
    return varvite


def answer(*claims, **fields):
    made = {"type": "opposes", "claim": "c", "source_refs": claims[:1], "claim_refs": claims}
    return made | fields


def assess(varvite, *drafts, wrap=False):
    (packet,) = varvite.json("graph", "packets", "s")
    given = {"relations": list(drafts)} if wrap else list(drafts)
    return varvite.json("graph", "assess", "s", packet["id"], "-", stdin=json.dumps(given))


def test_a_packet_is_answered_and_what_is_wrong_comes_back_to_be_mended(worked):
    first = assess(worked, answer("gcn_0", "gcn_1"), answer("gcn_0", "gcn_9"), wrap=True)
    (repair,) = first["repairs"]
    brief = worked.json("graph", "brief", "s")
    second = assess(worked, answer("gcn_0", "gcn_2", repairs=repair["id"]))

    assert (len(first["candidates"]), first["advanced"]) == (1, False)
    assert repair["codes"] == ["ref_ungrounded"]
    assert brief["repair_contexts"][0]["id"] == repair["id"]
    assert brief["next_action"].startswith("assess: mend")
    assert second["advanced"]
    assert worked.json("graph", "packets", "s") == []


def test_a_draft_is_dropped(worked):
    (repair,) = assess(worked, answer("gcn_0", "gcn_9"))["repairs"]

    assert worked.json("graph", "drop", "s", repair["id"], "--why", "no")["advanced"]
    assert worked.refused(8, "graph", "drop", "s", repair["id"], "--why", "no")["code"] == (
        "state_conflict"
    )


@pytest.mark.parametrize("given", ["{", '{"a": 1}', "7", '[{"claim": 1}]'])
def test_what_is_no_answer_is_refused(worked, given):
    (packet,) = worked.json("graph", "packets", "s")

    refused = worked.refused(2, "graph", "assess", "s", packet["id"], "-", stdin=given)

    assert refused["code"] == "malformed_input"


def test_an_answer_that_is_no_json_is_refused_with_its_line(worked):
    (packet,) = worked.json("graph", "packets", "s")

    refused = worked.refused(
        2, "graph", "assess", "s", packet["id"], "-", stdin="\n[\n  7,\n  tru\n]\n"
    )

    assert (refused["line"], refused["offset"]) == (4, 10)


def test_focuses_are_opened_listed_and_set(worked):
    own = worked.json("graph", "focus", "open", "s", "why?", "--bucket", "b", "--priority", "high")
    worked.json("graph", "focus", "set", "s", own["id"], "--status", "accepted")

    first, second = worked.json("graph", "focus", "list", "s")
    assert (first["id"], first["status"], first["bucket_ids"]) == (own["id"], "accepted", ["b"])
    assert second["question"] == "What is established about Scaling?"
    assert worked.refused(3, "graph", "focus", "set", "s", "focus_none", "--status", "closed")


def test_a_conflict_that_no_retry_can_end_says_so(worked):
    own = worked.json(
        "graph", "obligations", "open", "s", "why", "--target", "b", "--target-kind", "bucket"
    )["id"]
    worked.json("graph", "obligations", "close", "s", own, "--why", "answered")

    for verb in (
        ("obligations", "close", "s", own, "--why", "answered"),
        ("open", "s", "--set", "overdue_after=3"),
    ):
        error = worked.refused(8, "graph", *verb)
        assert (error["code"], error["retryable"]) == ("state_conflict", False)


def test_obligations_are_opened_listed_and_closed(worked):
    options = ("--target", "b", "--target-kind", "bucket", "--kind", "coverage_gap")
    own = worked.json("graph", "obligations", "open", "s", "answer it", *options)["id"]
    (listed,) = worked.json("graph", "obligations", "list", "s")
    states = [
        worked.json("graph", "obligations", act, "s", own, "--why", "so")["status"]
        for act in ("defer", "reopen", "close")
    ]

    assert (listed["id"], listed["diagnostic_kind"]) == (own, "focus_weakness")
    assert states == ["deferred", "open", "closed"]
    assert worked.json("graph", "obligations", "list", "s") == []


def test_calls_are_added_leased_failed_and_tried_again(worked):
    request = '{"limit": 5}'
    own = worked.json("graph", "frontier", "add", "s", "exponents", "--request", request)["id"]
    (leased,) = worked.json("graph", "frontier", "lease", "s", "--for-steps", "2", "--by", "me")
    worked.json("graph", "frontier", "failed", "s", own, "--by", "me", "--message", "timeout")
    again = worked.json("graph", "frontier", "retry", "s", own)
    until = ("--until", "2026-01-01T12:00:00Z", "--now", "2026-01-01T11:00:00Z")
    (second,) = worked.json("graph", "frontier", "lease", "s", *until)
    done = worked.json("graph", "frontier", "done", "s", second["id"])

    assert leased["request"] == {"text": "exponents", "limit": 5}
    assert (again["retry_of"], second["id"], second["attempt"]) == (own, again["id"], 2)
    assert done["status"] == "done"
    assert worked.refused(8, "graph", "frontier", "skip", "s", own)["code"] == "state_conflict"
    assert worked.refused(2, "graph", "frontier", "lease", "s")["code"] == "invalid_input"


@pytest.mark.parametrize(("request_", "message"), [("[1]", "not an object"), ("{", "Expecting")])
def test_a_request_that_is_no_object_is_bad_input(worked, request_, message):
    error = worked.refused(2, "graph", "frontier", "add", "s", "more", "--request", request_)

    assert (error["code"], error["file"]) == ("malformed_input", "--request")
    assert message in error["message"]


@pytest.mark.parametrize(("given", "line"), [("{", 1), ('{"a": 1,\n "b" 2}', 2)])
def test_a_request_that_is_no_json_is_refused_with_its_line(worked, given, line):
    error = worked.refused(2, "graph", "frontier", "add", "s", "more", "--request", given)

    assert error["line"] == line


def test_without_gaia_everything_waits_and_the_gate_says_why(worked):
    (own,) = assess(worked, answer("gcn_0", "gcn_1"))["candidates"]
    node = worked.json("sql", "select id from nodes where source_key like '%gcn_2'")[0]["id"]
    accepted = worked.json("graph", "accept", "s", node)
    drained = worked.json("graph", "project", "s", "--check")
    decided = ("--by", "human:ada", "--why", "it was read")
    refused = worked.json("graph", "promote", "s", own, *decided)
    rejected = worked.json("graph", "reject", "s", own, *decided)

    assert len(accepted["projections"]) == 1
    assert (drained["applied"], drained["left"]) == (0, 3)
    assert drained["codes"] == {"gate_unavailable": 1}
    assert (refused["outcome"], refused["codes"]) == ("refused", ["gate_unavailable"])
    assert (rejected["action"], rejected["outcome"]) == ("reject", "applied")
    assert worked.refused(8, "graph", "demote", "s", own, *decided)["code"] == "state_conflict"


def test_what_has_not_failed_for_good_is_not_tried_again(worked):
    assess(worked, answer("gcn_0", "gcn_1"))
    own = worked.json("sql", "select id from projections limit 1")[0]["id"]

    assert worked.refused(8, "graph", "again", "s", own)["code"] == "state_conflict"
    assert worked.refused(3, "graph", "again", "s", "none")["code"] == "record_not_found"


def test_a_session_is_made_with_the_parameters_that_are_set(varvite):
    varvite.json("graph", "open", "t", "--create", "--set", "evidence=7", "--set", "accept=all")
    other = varvite.refused(8, "graph", "open", "t", "--set", "evidence=8")
    wrong = varvite.refused(2, "graph", "open", "u", "--create", "--set", "evidence=x")
    bare = varvite.refused(2, "graph", "open", "u", "--create", "--set", "evidence")

    kept = json.loads((varvite.store / "t/session.json").read_text())["parameters"]
    assert (kept["evidence"], kept["accept"], kept["queue"]) == (7, "all", 64)
    assert [one["code"] for one in (other, wrong, bare)] == [
        "state_conflict",
        "invalid_input",
        "invalid_input",
    ]
    assert not (varvite.store / "u").exists()


def test_the_chains_of_a_claim_are_accepted_from_the_answer_that_has_them(worked, tmp_path):
    node = worked.json("sql", "select id from nodes where source_key like '%gcn_2'")[0]["id"]
    refused = worked.refused(3, "graph", "accept", "s", node, "--chains")
    factor = {"id": "gfac_1", "conclusion": {"id": "gcn_2", "content": "It floats."}}
    factor["premises"] = [{"id": "gcn_9", "content": "Density is below one."}]
    chains = [{"source_package": "paper:1", "factors": [factor]}]
    data = {"claim": factor["conclusion"], "evidence_chains": chains}
    file = tmp_path / "chains.json"
    file.write_text(json.dumps({"code": 0, "data": data}))
    worked.json("graph", "submit", "--session", "s", file)

    accepted = worked.json("graph", "accept", "s", node, "--chains")

    assert refused["code"] == "record_not_found"
    assert worked.json("sql", "select id, kind, subject_id, state from projections") == [
        {
            "id": accepted["projections"][0],
            "kind": "materialise",
            "subject_id": node,
            "state": "planned",
        }
    ]


def test_a_session_is_paused_and_resumed(worked):
    paused = worked.json("graph", "pause", "s", "--why", "night")
    refused = worked.refused(8, "graph", "frontier", "add", "s", "more")
    resumed = worked.json("graph", "resume", "s")

    assert (paused["status"], refused["code"], refused["status"]) == (
        "paused",
        "session_status",
        "paused",
    )
    assert resumed["status"] == "active"
    assert len(resumed["packets"]) == 1


def test_a_growth_log_is_imported_once(worked, tmp_path):
    log = tmp_path / "growth.jsonl"
    delta = {"nodes_added": [{"id": "gcn_0", "label": "a claim"}]}
    lines = [
        {"decision": "accepted_claim", "event_id": "e1", "graph_delta": delta},
        {"decision": "round_close", "event_id": "e2"},
    ]
    log.write_text("".join(json.dumps(one) + "\n" for one in lines))

    first = worked.json("graph", "import", "s", log, "--source", "growth")
    again = worked.json("graph", "import", "s", log, "--source", "growth")

    assert (first["lines"], first["candidates"]) == (2, 1)
    assert first["decisions"] == {"accepted_claim": 1, "round_close": 1}
    assert (again["lines"], again["cursor"]) == (0, first["cursor"])


def test_looking_needs_no_lock(worked):
    with Store(str(worked.store)).graph("s"):
        brief = worked.json("graph", "brief", "s", "--size", "2")
        packets = worked.json("graph", "packets", "s")

        assert worked.refused(4, "graph", "pause", "s")["code"] == "session_locked"
    assert brief["packets"][0]["id"] == packets[0]["id"]
    assert worked.refused(3, "graph", "brief", "none")["code"] == "session_not_found"


def test_every_verb_says_what_it_does(varvite):
    for verb in (["graph"], ["graph", "focus"], ["graph", "obligations"], ["graph", "frontier"]):
        listed = varvite(*verb, "--help").stdout.partition("Commands:")[2]
        names = [
            line.split()[0]
            for line in listed.splitlines()
            if line.startswith("  ") and line[2] != " "
        ]
        assert names
        for name in names:
            assert varvite(*verb, name, "--help").exit_code == 0


@pytest.mark.parametrize(
    ("verb", "word"),
    [
        (("assess", "s", "none", "-"), "varvite graph packets"),
        (("drop", "s", "none", "--why", "w"), "repair_contexts"),
        (("again", "s", "none"), "projections"),
        (("reject", "s", "none", "--by", "human:a", "--why", "w"), "candidates"),
        (("promote", "s", "none", "--by", "human:a", "--why", "w"), "candidates"),
        (("accept", "s", "gcn_0"), "node_id"),
        (("obligations", "close", "s", "none", "--why", "w"), "obligations"),
    ],
)
def test_an_id_that_there_is_not_is_refused_with_where_to_look(worked, verb, word):
    assert word in worked.refused(3, "graph", *verb, stdin="[]")["hint"]


def test_a_lease_without_an_end_names_the_options(worked):
    assert "--for-steps" in worked.refused(2, "graph", "frontier", "lease", "s")["hint"]
