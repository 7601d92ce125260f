"""What a loop's runs say of their change and their code."""

import subprocess

import pytest

from varvite.experiment.git import Repository
from varvite.experiment.session import Metric

SORT = "def sort(items):\n    return sorted(items)\n"
OTHER = "# a line above\n"


@pytest.fixture
def repo(tmp_path):
    path = tmp_path / "repo"
    path.mkdir()
    for words in (["init", "-q", "-b", "main"], ["config", "user.email", "a@example.com"]):
        git(path, *words)
    git(path, "config", "user.name", "A")
    (path / "sort.py").write_text(SORT)
    (path / "ms").write_text("9")
    git(path, "add", "-A")
    git(path, "commit", "-q", "-m", "start")
    return path


def git(path, *words):
    subprocess.run(["git", *words], cwd=path, check=True, capture_output=True)


def changed(repo):
    repository = Repository(str(repo), ["sort.py", "ms", "new"])
    return repository.change(repository.changed())


def test_nothing_changed_has_no_fingerprint(repo):
    assert changed(repo) is None


def test_the_same_change_on_another_commit_and_line_has_the_same_fingerprint(repo):
    (repo / "sort.py").write_text(SORT.replace("sorted(items)", "list(items)"))
    first = changed(repo)
    git(repo, "checkout", "-q", "--", "sort.py")
    (repo / "sort.py").write_text(OTHER + SORT)
    git(repo, "commit", "-q", "-a", "-m", "above")
    (repo / "sort.py").write_text(OTHER + SORT.replace("sorted(items)", "list(items)"))

    assert changed(repo) == first


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("sort.py", SORT.replace("sorted(items)", "list(items)")),
        ("sort.py", SORT.replace("    return", "        return")),
        ("sort.py", None),
        ("sort.py", b"\xff\x00\xfe"),
        ("ms", "8"),
        ("new", "8"),
        ("new", "9"),
        ("new", b""),
    ],
)
def test_each_change_has_a_fingerprint_of_its_own(repo, name, content):
    seen = {changed(repo)}
    (repo / "sort.py").write_text(SORT.replace("sorted", "reversed"))
    seen.add(changed(repo))
    git(repo, "checkout", "-q", "--", "sort.py")
    path = repo / name
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    assert changed(repo) not in seen
    assert changed(repo) == changed(repo)


@pytest.fixture
def looped(open_session, repo):
    session = open_session()
    told = {"scope": ["."], "command": "echo METRIC ms=$(cat ms)", "working_dir": str(repo)}
    session.start(Metric("ms"), **told)
    return session


def step(session, status, description):
    measured = session.run()
    session.log(status, description=description)
    return measured


def test_a_change_that_was_taken_back_is_known_again(looped, repo):
    step(looped, "keep", "Baseline")
    (repo / "ms").write_text("7")
    step(looped, "discard", "Try seven")
    (repo / "ms").write_text("7")
    measured = looped.run()
    told = looped.brief()["to_log"]
    looped.log("discard", description="Seven, once more")

    assert measured.warnings == ["run 2 changed the same: discard"]
    assert told["changed_before"]["ordinal"] == 2
    assert looped.brief()["dead_ends"] == [
        {
            "ordinal": 3,
            "status": "discard",
            "alike_in": "change",
            "of_ordinal": 2,
            "of_status": "discard",
            "of_metric": 7.0,
        }
    ]


def test_a_discard_that_is_kept_later_is_overturned(looped, repo):
    step(looped, "keep", "Baseline")
    (repo / "ms").write_text("7")
    step(looped, "discard", "Too risky")
    (repo / "ms").write_text("7")
    step(looped, "keep", "Worth it")

    (found,) = looped.brief()["overturned"]

    assert (found["ordinal"], found["keep_ordinal"], found["overturned_by"]) == (2, 3, "change")


def test_runs_without_a_change_measure_the_code_of_the_last_keep(looped, repo):
    step(looped, "keep", "Baseline")
    step(looped, "confirm", "Again")
    (repo / "ms").write_text("7")
    step(looped, "keep", "Seven")
    step(looped, "confirm", "Again")
    step(looped, "confirm", "And again")

    evidence = looped.brief()["evidence"]

    assert (evidence["noise_from"], evidence["noise_degrees"]) == ("runs", 3)
    assert (evidence["tries"], evidence["noise_width"]) == (2, 0.0)


def test_a_change_that_stays_is_not_the_code_without_it(looped, repo):
    step(looped, "keep", "Baseline")
    (repo / "ms").write_text("7")
    step(looped, "confirm", "Left there")

    assert looped.brief()["evidence"]["noise_from"] is None
