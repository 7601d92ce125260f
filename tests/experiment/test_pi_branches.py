"""pi's way to end a session, in real repositories, and where ours is stricter."""

import json

import pytest

from varvite.errors import (
    BranchExistsError,
    GitError,
    InputError,
    MalformedInputError,
    PlanError,
    VarviteError,
)
from varvite.experiment.branching import Branching
from varvite.experiment.finalizing import Group
from varvite.experiment.pi_branches import read, split

GROUP = {"title": "t", "slug": "s", "last_commit": "c"}
SESSION_FILES = ("autoresearch.jsonl", "src/autoresearch.md", ".auto/log.jsonl", "src/.auto/x/y")


class Ending:
    """A repository on a session's branch, and its groups file."""

    def __init__(self, repository):
        self.repository, self.path = repository, repository.path
        repository("checkout", "-q", "-b", "session")
        self.groups, self.file = [], repository.path.parent / "groups.json"

    def group(self, slug, last_commit):
        title, body = slug.title(), f"Why {slug}"
        group = {"title": title, "body": body, "last_commit": last_commit, "slug": slug}
        self.groups.append(group)

    def kept(self, slug, *names):
        for name in names:
            last = self.repository.commit(name, f"{slug} {name}")
        self.group(slug, last)

    def write(self, **changes):
        base = {"base": self.repository.base, "trunk": "main", "goal": "speed"}
        whole = base | {"final_tree": self.repository("rev-parse", "HEAD")}
        self.file.write_text(json.dumps(whole | {"groups": self.groups} | changes))
        return str(self.file)

    def end(self, **changes):
        return split(str(self.path), read(self.write(**changes)))

    def changed(self, branch):
        return self.repository("diff", "--name-only", self.repository.base, branch).split()

    def branches(self):
        return self.repository.branches("refs/heads/autoresearch")


@pytest.fixture
def ending(repository):
    return Ending(repository)


def refused(ending, error, said, act=None):
    """That nothing at all came of it."""
    before = ending.repository.state()
    with pytest.raises(error, match=said) as caught:
        (act or ending.end)()
    assert ending.repository.state() == before
    return caught.value


def three_groups(ending):
    ending.kept("one", "a", "b")
    ending.kept("two", "c")
    ending.kept("three", "d/e")
    before = ending.repository.files()

    tips = ending.end()

    names = [f"autoresearch/speed/0{n}-{slug}" for n, slug in enumerate(("one", "two", "three"), 1)]
    assert list(tips) == names
    assert [ending.changed(name) for name in names] == [["a", "b"], ["c"], ["d/e"]]
    for name in names:
        assert ending.repository("rev-parse", f"{name}^") == ending.repository.base
    message = ending.repository("log", "-1", "--format=%B", names[0])
    assert message == "One\n\nWhy one"
    assert ending.repository.files() == before
    assert ending.repository("symbolic-ref", "--short", "HEAD") == "session"
    return {}


def empty_group(ending):
    ending.kept("one", "a")
    ending.group("none", ending.groups[0]["last_commit"])
    ending.kept("two", "b")

    made = ending.end()

    assert list(made) == ["autoresearch/speed/01-one", "autoresearch/speed/03-two"]
    return {"created": len(made)}


def overlap(ending):
    ending.kept("one", "a")
    ending.kept("two", "a", "b")

    error = refused(ending, PlanError, "a is changed by One and by Two")

    assert error.path == "a"
    return {"error": "overlap", "branches": len(ending.branches())}


def existing(ending):
    ending.kept("one", "a")
    ending.kept("two", "b")
    ending.repository("branch", "autoresearch/speed/02-two")

    error = refused(ending, BranchExistsError, "02-two")

    assert error.branch == ending.branches()[0]
    return {"error": "exists"}


def not_to_be_ended(ending):
    ending.kept("one", "a")
    tip = ending.repository("rev-parse", "HEAD")
    ending.write()
    broken, missing = ending.file.with_name("broken.json"), ending.file.with_name("missing.json")
    broken.write_text("{")

    refused(ending, MalformedInputError, "broken.json", lambda: read(str(broken)))
    refused(ending, InputError, "missing.json", lambda: read(str(missing)))
    ending.repository("checkout", "-q", "--detach", tip)
    refused(ending, PlanError, "no branch")
    ending.repository("checkout", "-q", "main")
    refused(ending, PlanError, "HEAD is on main", lambda: ending.end(final_tree=tip))
    return {"error": ending.branches() == []}


def session_files(ending):
    for number, name in enumerate(SESSION_FILES):
        ending.repository.commit(name, f"line {number}")
    ending.kept("one", "a", SESSION_FILES[0], SESSION_FILES[2])
    ending.kept("two", SESSION_FILES[3], "src/b")

    tips = ending.end()

    assert [ending.changed(name) for name in tips] == [["a"], ["src/b"]]
    return {}


def uncovered(ending):
    ending.kept("one", "a")
    ending.repository.commit("b", "in no group")
    before = ending.repository.files()

    with pytest.raises(GitError, match="b differ") as caught:
        ending.end()

    assert ending.branches() == ["autoresearch/speed/01-one"]
    assert ending.repository.files() == before
    assert ending.repository("symbolic-ref", "--short", "HEAD") == "session"
    return {"rc": "nonzero" if caught.value.exit_code else "zero"}


def single(ending):
    ending.kept("one", "a")
    return {"created": len(ending.end())}


CASES = {
    "three groups, chained by previous group tip for file lists": three_groups,
    "a group whose last commit equals the previous group: skipped, others created": empty_group,
    "file in two groups": overlap,
    "branch name already present": existing,
    "detached HEAD / on trunk / malformed JSON / missing file / no args": not_to_be_ended,
    "session files at root, nested, and under .auto at any depth never enter a branch": (
        session_files
    ),
    "groups do not cover the tip: verification fails, branches stay, back on original": uncovered,
    "single group ok": single,
}


@pytest.mark.vectors("finalize_branches")
def test_a_session_ends_as_pis_does(vector, ending):
    found = CASES[vector["input"]["case"]](ending)

    assert found == vector["expected"]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_each_way_to_end_holds_without_the_vectors(case, ending):
    case(ending)


def test_by_ours_no_branch_stays_that_is_not_the_whole(repository):
    first, _, third = (repository.commit(name, "1") for name in ("a", "b", "c"))
    groups = [Group(n, n, ("r",), (at,), f"x/{n}") for n, at in (("one", first), ("two", third))]
    before = repository.state()

    with pytest.raises(GitError, match="b differ"):
        Branching(str(repository.path)).make(groups, repository.base)

    assert repository.state() == before


def test_a_dirty_work_tree_is_left_as_it_is(ending):
    ending.kept("one", "a", "b")
    (ending.path / "a").write_text("mine")
    (ending.path / "new").write_text("mine")
    ending.repository("rm", "-q", "b")
    before = ending.repository.files(), ending.repository("status", "--porcelain")

    ending.end()

    assert (ending.repository.files(), ending.repository("status", "--porcelain")) == before


def test_a_file_that_was_taken_away_is_gone_on_its_branch(ending):
    ending.repository("rm", "-q", "readme")
    ending.repository("commit", "-q", "-m", "remove")
    ending.group("one", ending.repository("rev-parse", "HEAD"))

    (tip,) = ending.end().values()

    assert ending.repository("ls-tree", "--name-only", tip) == ""


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"base": 1, "groups": [GROUP]}, "base"),
        ({"groups": []}, "groups"),
        ({"groups": [1]}, "groups[0].title"),
        ({"groups": [{"title": "t", "slug": "s"}]}, "groups[0].last_commit"),
    ],
)
def test_a_groups_file_of_another_shape_is_refused_with_its_path(ending, changes, path):
    with pytest.raises(MalformedInputError) as caught:
        read(ending.write(**changes))

    assert caught.value.path == path


@pytest.mark.parametrize(
    "changes", [{"base": "f" * 40}, {"final_tree": "nope"}, {"goal": "a..b"}, {"trunk": "session"}]
)
def test_what_git_does_not_know_makes_no_branch(ending, changes):
    ending.kept("one", "a")

    refused(ending, VarviteError, None, lambda: ending.end(**changes))
