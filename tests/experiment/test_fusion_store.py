"""What Fusion's own store and executor did, in its rules; and what ours refuse of it."""

import itertools
import math
import re

import pytest

from varvite.errors import (
    ExperimentGitNotConfiguredError,
    ExperimentMaxIterationsError,
    GitError,
    SessionStatusError,
    VarviteError,
)
from varvite.experiment.fusion_executor import FusionExecutor, RunResult
from varvite.experiment.session import Metric
from varvite.store import Store

METRIC = Metric("m", "", "maximize")
STEPS = {
    "active": [],
    "finalizing": ["finalizing"],
    "finalized": ["finalizing", "finalized"],
    "archived": ["archived"],
}
NAMED = (ExperimentGitNotConfiguredError, ExperimentMaxIterationsError)
"""Errors that have a name in Fusion, which the vectors tell; the others are its plain ones."""


@pytest.fixture
def strict(tmp_path):
    return Store(str(tmp_path / "store")).experiments()


@pytest.fixture
def fusion(tmp_path):
    return Store(str(tmp_path / "store")).experiments(rules="fusion")


def made(experiments, status="active", session_id="s", **about):
    experiments.create("n", METRIC, session_id=session_id, **about)
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
            text = re.sub(rf"\b{re.escape(name)}\b", f"<{word}>", text)
        name = f"{type(error).__name__}: " if isinstance(error, NAMED) else ""
        return {"ok": False, "error": name + text}
    return {"ok": True}


class Git:
    """Stands in for Fusion's git operations, and counts their calls."""

    def __init__(self, fails=False):
        self.calls, self.messages, self._fails = [], [], fails

    def add(self, paths):
        self.calls.append("add")

    def commit(self, message):
        self.calls.append("commit")
        self.messages.append(message)
        if self._fails:
            raise GitError("commit failed", command="commit", stderr="")
        return f"sha{len(self.calls)}"

    def status_porcelain(self):
        self.calls.append("status")
        return ""

    def reset_hard(self, commit):
        self.calls.append("reset")


class World:
    """A store in Fusion's rules, and its executor."""

    def __init__(self, experiments, cwd):
        self.store, self.cwd, self.git = experiments, str(cwd), Git()
        self.executor = FusionExecutor(experiments, self.git)

    def run(self, command="echo METRIC m=1"):
        return self.executor.run("s", command, cwd=self.cwd)

    def log(self, outcome="keep", value=1.0, **told):
        primary = {"name": "m", "value": value} if value is not None else None
        status = "pending" if primary else "errored"
        return self.executor.log("s", RunResult(status, 0, "", 5, primary), outcome, **told)

    def hooks(self, count, session_id="s"):
        return [self.store.append_record(session_id, "hook") for _ in range(count)]


def create_defaults(world, _):
    found = world.store.create("n", METRIC)
    return {
        "status": found.status,
        "currentSegment": found.current_segment,
        "keptRunIds": found.kept_run_ids,
        "tags": found.tags,
        "idPrefix": found.id[:4].upper(),
        "baselineRunId": found.baseline_run_id,
        "finalizedAt": found.finalized_at,
    }


def update_missing(world, _):
    return tried(lambda: world.store.update("nope", name="x"))


def transition(world, match):
    made(world.store, match[1])
    already = world.store.get("s").finalized_at is not None
    found = world.store.update("s", status=match[2])
    assert found.status == match[2]
    return {"ok": True, "finalizedAtSet": found.finalized_at is not None and not already}


def append_when(world, match):
    made(world.store, match[1])
    return tried(lambda: world.store.append_record("s", "hook", {}), ID="s")


def segment_when(world, match):
    made(world.store, match[1])
    return tried(lambda: world.store.start_new_segment("s"))


def append_missing(world, _):
    return tried(lambda: world.store.append_record("nope", "hook", {}))


def segment_missing(world, _):
    return tried(lambda: world.store.start_new_segment("nope"))


def interleaved(world, _):
    """Our seq counts the config of `create` too, which Fusion does not record."""
    made(world.store, session_id="a"), made(world.store, session_id="b")
    names = ("a", "b", "a", "b", "a")
    return {"seqs": [[name, world.hooks(1, name)[0].seq - 1] for name in names]}


def explicit_segment(world, _):
    made(world.store)
    world.hooks(3)
    record = world.store.append_record("s", "hook", segment=99)
    current = world.store.get("s").current_segment
    return {"segment": record.segment, "seq": record.seq - 1, "currentSegment": current}


def segment_keeps(world, _):
    made(world.store)
    record = run(world.store)
    for setter in (world.store.set_baseline_run, world.store.set_best_run, world.store.record_kept):
        setter("s", record.id)
    opened = world.store.start_new_segment("s")
    session = world.store.get("s")
    place = [one.id for one in world.store.list_records("s")[1:]].index(opened.id) + 1
    return {
        "segment": session.current_segment,
        "baselineKept": session.baseline_run_id == record.id,
        "bestKept": session.best_run_id == record.id,
        "metric": {name: session.metric[name] for name in ("name", "direction")},
        "kept": len(session.kept_run_ids),
        "recordSegment": opened.segment,
        "recordSeq": place,
    }


def best_missing_session(world, _):
    return tried(lambda: world.store.set_best_run("nope", "nope"))


def best_missing_record(world, _):
    made(world.store)
    return tried(lambda: world.store.set_best_run("s", "nope"))


def best_not_run(world, _):
    made(world.store)
    (hook,) = world.hooks(1)
    return {"error": tried(lambda: world.store.set_best_run("s", hook.id), REC=hook.id)["error"]}


def best_foreign(world, _):
    made(world.store), made(world.store, session_id="t")
    record = run(world.store, "t")
    said = tried(lambda: world.store.set_best_run("s", record.id), REC=record.id, SES="s")
    return {"error": said["error"]}


def patch_after_finalized(world, _):
    made(world.store)
    record = run(world.store)
    for step in STEPS["finalized"]:
        world.store.update("s", status=step)
    return tried(lambda: world.store.update_record_payload(record.id, {"note": "n"}))


def patched(world, **patch):
    made(world.store)
    return {"payload": world.store.update_record_payload(run(world.store).id, patch).payload}


def patch_missing(world, _):
    return tried(lambda: world.store.update_record_payload("nope", {"a": 1}))


def nan_metric(world, _):
    made(world.store)
    payload = {"primaryMetric": math.nan, "secondaryMetrics": [], "status": "errored"}
    found = world.store.append_record("s", "run", payload)
    given = "NaN" if math.isnan(payload["primaryMetric"]) else payload["primaryMetric"]
    return {"inMemory": given, "stored": found.payload}


def record_pages(world, _):
    made(world.store)
    world.hooks(4)
    pages = {"all": {}, "limit": {"limit": 2}, "limoff": {"limit": 2, "offset": 1}}
    found = {
        name: [one.seq - 1 for one in world.store.list_records("s", type="hook", **page)]
        for name, page in pages.items()
    }
    return found | {"byType": len(world.store.list_records("s", type="finalize"))}


def deleted(world, _):
    made(world.store)
    run(world.store)
    found = {"first": world.store.delete("s"), "second": world.store.delete("s")}
    return found | {"records": len(world.store.list_records("s"))}


def undefined_name(world, _):
    """Ours names the field; what Fusion says is JavaScript's."""
    made(world.store)
    said = tried(lambda: world.store.update("s", name=None))
    assert said["error"].startswith("name:")
    return said | {"error": "String: undefined"}


def event_order(world, _):
    told = []
    world.store.listen(lambda name, session_id: told.append((name, session_id)))
    made(world.store)
    record = run(world.store)
    world.store.start_new_segment("s")
    world.store.update("s", status="finalized")
    world.store.record_kept("s", record.id)
    world.store.delete("s")
    assert {session_id for _, session_id in told} == {"s"}
    return {"ev": [name for name, _ in told]}


def worse_keep(world, _):
    made(world.store)
    first, second = world.log(value=2.0), world.log(value=1.0)
    session = world.store.get("s")
    message = world.git.messages[-1].replace(second.record.id, "<REC>").replace("(s)", "(<SES>)")
    assert session.kept_run_ids == [first.record.id, second.record.id]
    return {
        "bestIsSecond": session.best_run_id == second.record.id,
        "baselineRunId": session.baseline_run_id,
        "kept": len(session.kept_run_ids),
        "returnedRecordHasCommit": second.record.payload.get("commit"),
        "storedCommit": world.store.get_record(second.record.id).payload["commit"],
        "gitCalls": world.git.calls,
        "msg": message,
    }


def first_metric(world, _):
    made(world.store)
    return {"primary": world.run("echo METRIC other=3; echo METRIC m=5").primary}


def keep_without_metric(world, _):
    made(world.store)
    return tried(lambda: world.log(value=None))


def invalid_outcome(world, _):
    made(world.store)
    return tried(lambda: world.log("crash"))


def discard_without_baseline(world, _):
    made(world.store)
    return tried(lambda: world.log("discard"))


def errored_without_baseline(world, _):
    made(world.store)
    done = world.log("errored", value=None)
    metric = done.record.payload["primaryMetric"]
    assert world.store.get_record(done.record.id).payload["primaryMetric"] is None
    given = "NaN" if math.isnan(metric) else metric
    return {"ok": True, "reverted": done.reverted_to, "metric": given}


def pending(world, _):
    made(world.store)
    return tried(lambda: world.log("pending"))


def init_again(world, _):
    session = world.executor.init("n", METRIC, max_iterations=10)
    best = run(world.store, session.id)
    world.store.set_best_run(session.id, best.id)
    other = Metric("other", "", "minimize")
    found = world.executor.init("n", other, max_iterations=3)
    assert found.id == session.id
    return {
        "segment": found.current_segment,
        "metric": {name: found.metric[name] for name in ("name", "direction")},
        "maxIterations": found.max_iterations,
        "best": found.best_run_id == best.id,
    }


def run_while(world, match):
    made(world.store, match[1])
    return tried(world.run)


def log_while(world, match):
    made(world.store, match[1])
    return tried(world.log, SES="s")


def keep_without_git(world, _):
    made(world.store)
    world.executor = FusionExecutor(world.store)
    return tried(world.log) | {"records": len(world.store.list_records("s", type="run"))}


def not_counted(world, _):
    made(world.store, max_iterations=1)
    world.run()
    return {"ok": world.run().status}


def max_iterations(world, _):
    made(world.store, max_iterations=1)
    world.log()
    return tried(world.run, SES="s")


def commit_failure(world, _):
    made(world.store)
    world.executor = FusionExecutor(world.store, Git(fails=True))
    with pytest.raises(GitError) as caught:
        world.log()
    (record,) = world.store.list_records("s", type="run")
    return {
        "error": caught.value.message,
        "records": 1,
        "status": record.payload["status"],
        "commit": record.payload.get("commit"),
        "kept": len(world.store.get("s").kept_run_ids),
    }


ACTS = {
    "create defaults": create_defaults,
    "update missing": update_missing,
    r"transition (\w+)->(\w+)": transition,
    r"append when (\w+)": append_when,
    r"startNewSegment when (\w+)": segment_when,
    "append missing": append_missing,
    "startNewSegment missing": segment_missing,
    "interleaved seq": interleaved,
    "explicit segment accepted": explicit_segment,
    "new segment keeps pointers and metric": segment_keeps,
    "setBest missing session": best_missing_session,
    "setBest missing record": best_missing_record,
    "setBest not run": best_not_run,
    "setBest foreign run": best_foreign,
    "updateRecordPayload after finalized": patch_after_finalized,
    "payload patch shallow merge": lambda world, _: patched(world, asi={"b": 2}, commit="abc"),
    "payload patch undefined/null": lambda world, _: patched(world, asi={"b": 2}, status=None),
    "payload patch missing": patch_missing,
    "NaN metric round trip": nan_metric,
    "listRecords filters": record_pages,
    "delete": deleted,
    "update undefined overrides": undefined_name,
    "event order": event_order,
    "executor keep of worse run moves best": worse_keep,
    "first METRIC is primary even if name differs": first_metric,
    "keep without metric": keep_without_metric,
    "invalid outcome": invalid_outcome,
    r"(?:discard|checks_failed) without baseline.*": discard_without_baseline,
    "errored without baseline": errored_without_baseline,
    "pending outcome accepted": pending,
    r"init same name => segment, keeps old metric\+maxIterations": init_again,
    r"run while (\w+)": run_while,
    r"log while (\w+)(?: ok)?": log_while,
    "keep without git": keep_without_git,
    "run not counted until logged": not_counted,
    "max iterations": max_iterations,
    "git commit failure leaves kept-status run without commit": commit_failure,
}


@pytest.mark.vectors("fusion_store")
def test_store_and_executor_do_as_fusions_do(vector, fusion, tmp_path):
    case = vector["input"]["case"]
    (act,) = [(act, match) for name, act in ACTS.items() if (match := re.fullmatch(name, case))]

    found = act[0](World(fusion, tmp_path), act[1])

    assert found == vector["expected"]


@pytest.mark.parametrize("number", ["009", "010", "011"])
def test_by_ours_a_session_that_is_done_does_not_go_back(vectors, strict, number):
    case = vectors[f"fusion_store-{number}"]["input"]["case"]
    status, to = case.removeprefix("transition ").split("->")
    made(strict, status)

    with pytest.raises(SessionStatusError):
        strict.update("s", status=to)

    assert strict.get("s").status == status


@pytest.mark.parametrize("number", ["017", "019"])
def test_by_ours_a_session_that_is_done_opens_no_segment(vectors, strict, number):
    case = vectors[f"fusion_store-{number}"]["input"]["case"]
    status = case.removeprefix("startNewSegment when ")
    made(strict, status)

    with pytest.raises(SessionStatusError) as caught:
        strict.start_new_segment("s")

    assert caught.value.message == f"Cannot append record to {status} session: s"


def test_by_ours_a_session_that_is_done_takes_no_patch_but_a_commit(vectors, strict):
    assert vectors["fusion_store-031"]["expected"] == {"ok": True}
    made(strict)
    record = run(strict)
    for step in STEPS["finalized"]:
        strict.update("s", status=step)

    with pytest.raises(SessionStatusError):
        strict.update_record_payload(record.id, {"note": "n"})

    assert strict.get_record(record.id) == record


def test_by_ours_a_record_is_of_the_current_segment(strict):
    made(strict)

    with pytest.raises(VarviteError, match="segment 99"):
        strict.append_record("s", "hook", segment=99)


def test_fusions_executor_reverts_to_what_it_is_told(fusion, tmp_path):
    world = World(fusion, tmp_path)
    made(fusion)

    done = world.log("discard", baseline_commit="base")

    assert (done.reverted_to, world.git.calls) == ("base", ["status", "reset"])


FAULTS = {
    "Experiment session not found: nope": {"session": "nope"},
    "Invalid outcome: crash": {"outcome": "crash"},
    "keep outcome requires primary metric": {"outcome": "keep", "metric": None},
    "baselineCommit is required for discard/checks_failed": {"outcome": "discard"},
    "Git ops not configured": {"outcome": "keep", "git": None},
    "Cannot append record to archived session: s": {"status": "archived"},
}
"""What `log` refuses, in the order of its checks."""

PAIRS = [
    (first, second)
    for first, second in itertools.combinations(FAULTS, 2)
    if all(FAULTS[first].get(name, value) == value for name, value in FAULTS[second].items())
]


@pytest.mark.parametrize(("first", "second"), [*PAIRS, *((fault, fault) for fault in FAULTS)])
def test_of_two_faults_of_a_log_the_earlier_is_told(fusion, tmp_path, first, second):
    given = {"session": "s", "outcome": "keep", "metric": 1.0, "git": Git(), "status": "active"}
    given |= FAULTS[first] | FAULTS[second]
    made(fusion, given["status"])
    primary = {"name": "m", "value": given["metric"]} if given["metric"] is not None else None
    result = RunResult("pending", 0, "", 5, primary)

    with pytest.raises(VarviteError) as caught:
        FusionExecutor(fusion, given["git"]).log(given["session"], result, given["outcome"])

    assert caught.value.message == first
    assert fusion.list_records("s", type="run") == []


@pytest.mark.parametrize("status", STEPS)
@pytest.mark.parametrize("full", [False, True])
def test_a_run_is_refused_for_its_session_before_its_limit(fusion, tmp_path, status, full):
    world = World(fusion, tmp_path)
    made(fusion, max_iterations=1)
    if full:
        world.log()
    for step in STEPS[status]:
        fusion.update("s", status=step)

    said = tried(world.run, SES="s")

    if status != "active":
        assert said["error"] == "Session not active"
    elif full:
        assert said["error"].endswith("Session <SES> reached max iterations")
    else:
        assert said == {"ok": True}
