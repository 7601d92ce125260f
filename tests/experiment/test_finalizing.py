import pytest

from varvite.errors import PlanError
from varvite.experiment.finalizing import (
    Baseline,
    Group,
    KeptRun,
    check_disjoint,
    overridden,
    plan,
    slug,
)


def kept_run(record):
    group = record.get("asi", {}).get("group")
    names = ("id", "seq", "segment", "status")
    return KeptRun(*(record[name] for name in names), record.get("commit"), group)


def planned(given):
    session, runs = given["session"], {}
    for record in given["records"]:
        if record["type"] == "run":
            runs[record["id"]] = kept_run(record)
    kept = [runs[name] for name in session["keptRunIds"]]
    told = session.get("metadata", {}).get("baselineCommit")
    first = runs.get(session.get("baselineRunId"))
    return plan("EXP-1", kept, Baseline(told, first.commit if first else None, "mb"))


def words(group):
    return {
        "id": group.id,
        "title": group.title,
        "runs": list(group.runs),
        "commits": list(group.commits),
        "branch": group.branch,
    }


def default_plan():
    """Two runs in the first segment, one in the second."""
    runs = [KeptRun(f"r{n}", n, 1 + n // 3, "keep", f"c{n}") for n in (1, 2, 3)]
    return plan("EXP-1", runs, Baseline(None, None, "mb"))


@pytest.mark.vectors("finalize_plan")
def test_runs_are_grouped_as_fusion_groups_them(vector):
    made = planned(vector["input"])

    assert {
        "groups": [words(group) for group in made.groups],
        "orphaned": list(made.orphaned),
        "baseline_commit": made.baseline_commit,
        "warning_count": len(made.warnings),
    } == vector["expected"]


@pytest.mark.vectors("finalize_override")
def test_groups_can_be_given_as_to_fusion(vector):
    groups = vector["input"]["override"]["groups"]
    try:
        found = overridden("EXP-1", default_plan(), groups, "fusion").groups
        said = {"groups": [words(group) for group in found]}
    except PlanError as error:
        said = {"error": error.code}

    assert said == vector["expected"]


def test_by_our_rules_a_run_is_in_one_group():
    with pytest.raises(PlanError, match="r1"):
        overridden("s", default_plan(), [{"runRecordIds": ["r1"]}, {"runRecordIds": ["r1", "r2"]}])


def test_a_run_that_is_not_to_be_finalized_is_in_no_group():
    with pytest.raises(PlanError, match="r9"):
        overridden("s", default_plan(), [{"runRecordIds": ["r9"]}])


@pytest.mark.vectors("group_slug")
def test_a_title_becomes_part_of_a_branch_name(vector):
    assert {"slug": slug(vector["input"]["title"])} == vector["expected"]


def test_a_kept_run_without_a_commit_is_told_and_left_out():
    runs = [KeptRun("r1", 1, 1, "keep", None, "g"), KeptRun("r2", 2, 1, "keep", "c2", " ")]

    made = plan("s", runs, Baseline("b", None, "mb"))

    assert (made.orphaned, len(made.warnings)) == (("r1",), 1)
    assert [(group.id, group.runs) for group in made.groups] == [("segment:1", ("r2",))]


def test_groups_that_change_one_file_are_refused():
    groups = [
        Group("a", "A", ("r1", "r2"), ("c1", "c2"), "x"),
        Group("b", "B", ("r3",), ("c3",), "y"),
    ]
    check_disjoint(groups, {"c1": ["f"], "c2": ["f", "g"], "c3": ["h"]})

    with pytest.raises(PlanError) as caught:
        check_disjoint(groups, {"c1": ["f"], "c2": ["g"], "c3": ["g"]})

    assert caught.value.path == "g"
