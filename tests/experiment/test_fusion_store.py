"""What Fusion's own store did, in its rules; and what ours refuse of it."""

import json

import pytest

from varvite.errors import SessionStatusError, VarviteError
from varvite.experiment.session import Metric
from varvite.store import Store

METRIC = Metric("m", "", "maximize")
STEPS = {
    "active": [],
    "finalizing": ["finalizing"],
    "finalized": ["finalizing", "finalized"],
    "archived": ["archived"],
}


@pytest.fixture
def vectors(shared):
    path = shared / "data" / "experiments" / "experiment_vectors.json"
    return {each["id"]: each for each in json.loads(path.read_text())["fusion_store"]}


@pytest.fixture
def strict(tmp_path):
    return Store(str(tmp_path / "store")).experiments()


@pytest.fixture
def fusion(tmp_path):
    return Store(str(tmp_path / "store")).experiments(rules="fusion")


def made(experiments, status="active", session_id="s"):
    experiments.create("n", METRIC, session_id=session_id)
    for step in STEPS[status]:
        experiments.update(session_id, status=step)
    return session_id


def run(experiments, session_id="s", **more):
    payload = {"primaryMetric": 1, "secondaryMetrics": [{"name": "x", "value": 1}]}
    payload |= {"status": "keep", "asi": {"a": 1}} | more
    return experiments.append_record(session_id, "run", payload)


def tried(act, **names):
    """What came of it in the vectors' words, with the ids that they leave out."""
    try:
        act()
    except VarviteError as error:
        text = error.message
        for word, name in names.items():
            text = text.replace(name, f"<{word}>")
        return {"ok": False, "error": text}
    return {"ok": True}


def test_a_session_begins_as_fusions_does(vectors, fusion):
    expected = vectors["fusion_store-001"]["expected"]

    found = fusion.create("n", METRIC)

    assert found.id.upper().startswith(expected.pop("idPrefix"))
    names = {
        "status": found.status,
        "currentSegment": found.current_segment,
        "keptRunIds": found.kept_run_ids,
        "tags": found.tags,
        "baselineRunId": found.baseline_run_id,
        "finalizedAt": found.finalized_at,
    }
    assert names == expected


@pytest.mark.parametrize("number", ["004", "006", "009", "010", "011"])
def test_by_fusions_rules_a_session_takes_any_step(vectors, fusion, number):
    vector = vectors[f"fusion_store-{number}"]
    status, to = vector["input"]["case"].removeprefix("transition ").split("->")
    session_id = made(fusion, status)
    already = fusion.get(session_id).finalized_at is not None

    found = fusion.update(session_id, status=to)

    assert found.status == to
    finalized = found.finalized_at is not None and not already
    assert {"ok": True, "finalizedAtSet": finalized} == vector["expected"]


@pytest.mark.parametrize("number", ["009", "010", "011"])
def test_by_ours_a_session_that_is_done_does_not_go_back(vectors, strict, number):
    case = vectors[f"fusion_store-{number}"]["input"]["case"]
    status, to = case.removeprefix("transition ").split("->")
    made(strict, status)

    with pytest.raises(SessionStatusError):
        strict.update("s", status=to)


@pytest.mark.parametrize("number", ["012", "014", "016", "018"])
def test_appending_ends_as_fusions_does_in_each_state(vectors, fusion, number):
    vector = vectors[f"fusion_store-{number}"]
    made(fusion, vector["input"]["case"].removeprefix("append when "))

    found = tried(lambda: fusion.append_record("s", "hook", {}), ID=": s")

    expected = vector["expected"]
    if "error" in expected:
        expected["error"] = expected["error"].replace(": <ID>", "<ID>")
    assert found == expected


@pytest.mark.parametrize("number", ["017", "019"])
def test_only_fusions_rules_open_a_segment_of_a_session_that_is_done(
    vectors, fusion, strict, number
):
    vector = vectors[f"fusion_store-{number}"]
    made(fusion, vector["input"]["case"].removeprefix("startNewSegment when "))

    with pytest.raises(SessionStatusError):
        strict.start_new_segment("s")

    assert tried(lambda: fusion.start_new_segment("s")) == vector["expected"]


def test_what_is_missing_is_missed_in_fusions_words(vectors, fusion):
    made(fusion)
    acts = {
        "003": lambda: fusion.update("nope", name="x"),
        "021": lambda: fusion.start_new_segment("nope"),
        "025": lambda: fusion.set_best_run("nope", "nope"),
        "026": lambda: fusion.set_best_run("s", "nope"),
        "034": lambda: fusion.update_record_payload("nope", {"a": 1}),
    }

    found = {number: tried(act) for number, act in acts.items()}

    assert found == {number: vectors[f"fusion_store-{number}"]["expected"] for number in acts}


def test_a_pointer_goes_to_a_run_of_the_session(vectors, fusion):
    made(fusion), made(fusion, session_id="t")
    hook, foreign = fusion.append_record("s", "hook").id, run(fusion, "t").id

    no_run = tried(lambda: fusion.set_best_run("s", hook), REC=hook)
    elsewhere = tried(lambda: fusion.set_best_run("s", foreign), REC=foreign)

    assert no_run["error"] == vectors["fusion_store-027"]["expected"]["error"]
    text = vectors["fusion_store-028"]["expected"]["error"]
    assert elsewhere["error"] == text.replace("<SES>", "s")


def test_seq_counts_by_session_from_its_config_on(vectors, fusion):
    made(fusion, session_id="a"), made(fusion, session_id="b")
    expected = vectors["fusion_store-022"]["expected"]["seqs"]

    found = [[name, fusion.append_record(name, "hook").seq - 1] for name, _ in expected]

    assert found == expected


def test_by_fusions_rules_a_record_may_name_its_segment(vectors, fusion):
    made(fusion)
    for _ in range(3):
        fusion.append_record("s", "hook")

    record = fusion.append_record("s", "hook", segment=99)

    found = {"segment": record.segment, "seq": record.seq - 1}
    found["currentSegment"] = fusion.get("s").current_segment
    assert found == vectors["fusion_store-023"]["expected"]


def test_by_ours_a_record_is_of_the_current_segment(strict):
    made(strict)

    with pytest.raises(VarviteError, match="segment 99"):
        strict.append_record("s", "hook", segment=99)


def test_by_fusions_rules_pointers_and_metric_go_on_into_a_new_segment(vectors, fusion):
    made(fusion)
    record = run(fusion)
    fusion.set_baseline_run("s", record.id), fusion.set_best_run("s", record.id)

    opened = fusion.start_new_segment("s")

    session = fusion.get("s")
    place = [one.id for one in fusion.list_records("s")[1:]].index(opened.id) + 1
    assert {
        "segment": session.current_segment,
        "baselineKept": session.baseline_run_id == record.id,
        "bestKept": session.best_run_id == record.id,
        "metric": {name: session.metric[name] for name in ("name", "direction")},
        "kept": len(session.kept_run_ids),
        "recordSegment": opened.segment,
        "recordSeq": place,
    } == vectors["fusion_store-024"]["expected"]


def test_only_fusions_rules_patch_anything_of_a_session_that_is_done(vectors, fusion, strict):
    made(fusion)
    record = run(fusion)
    for step in STEPS["finalized"]:
        fusion.update("s", status=step)

    with pytest.raises(SessionStatusError):
        strict.update_record_payload(record.id, {"note": "n"})

    found = tried(lambda: fusion.update_record_payload(record.id, {"note": "n"}))
    assert found == vectors["fusion_store-031"]["expected"]


@pytest.mark.parametrize(
    ("number", "patch"),
    [("032", {"asi": {"b": 2}, "commit": "abc"}), ("033", {"asi": {"b": 2}, "status": None})],
)
def test_a_patch_merges_as_fusions_does(vectors, fusion, number, patch):
    made(fusion)
    record = run(fusion)

    found = fusion.update_record_payload(record.id, patch)

    assert found.payload == vectors[f"fusion_store-{number}"]["expected"]["payload"]


def test_a_metric_that_is_no_number_is_stored_as_null(vectors, fusion):
    made(fusion)
    payload = {"primaryMetric": float("nan"), "secondaryMetrics": [], "status": "errored"}

    found = fusion.append_record("s", "run", payload)

    assert found.payload == vectors["fusion_store-035"]["expected"]["stored"]


def test_records_are_paged_by_seq(vectors, fusion):
    made(fusion)
    for _ in range(4):
        fusion.append_record("s", "hook")
    pages = {
        "all": {"type": "hook"},
        "limit": {"type": "hook", "limit": 2},
        "limoff": {"type": "hook", "limit": 2, "offset": 1},
    }

    found = {
        name: [one.seq - 1 for one in fusion.list_records("s", **page)]
        for name, page in pages.items()
    }

    found["byType"] = len(fusion.list_records("s", type="finalize"))
    assert found == vectors["fusion_store-036"]["expected"]


def test_deleting_says_whether_there_was_one(vectors, fusion):
    made(fusion)
    run(fusion)

    found = {"first": fusion.delete("s"), "second": fusion.delete("s")}

    found["records"] = len(fusion.list_records("s"))
    assert found == vectors["fusion_store-039"]["expected"]


def test_a_name_cannot_be_taken_away(vectors, fusion):
    made(fusion)

    found = tried(lambda: fusion.update("s", name=None))

    assert found["ok"] == vectors["fusion_store-040"]["expected"]["ok"]


def test_changes_are_told_in_fusions_order(vectors, fusion):
    told = []
    fusion.listen(lambda name, session_id: told.append((name, session_id)))
    made(fusion)
    record = run(fusion)
    fusion.start_new_segment("s")
    fusion.update("s", status="finalized")
    fusion.record_kept("s", record.id)
    fusion.delete("s")

    assert [name for name, _ in told] == vectors["fusion_store-041"]["expected"]["ev"]
    assert {session_id for _, session_id in told} == {"s"}
