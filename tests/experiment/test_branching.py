"""Branches of kept runs in real repositories."""

import pytest

from varvite.errors import GitError, PlanError
from varvite.experiment.branching import Branching
from varvite.experiment.finalizing import Group


def group(name, *commits):
    return Group(name, name, tuple(f"r{n}" for n in commits), commits, f"experiment/s/{name}")


def test_each_group_is_a_branch_from_the_base_and_together_they_are_the_tip(repository):
    first, second, third = (repository.commit(name, "1") for name in ("a", "b", "c/d"))
    fourth = repository.commit("a", "2")
    before = repository.files()

    groups = [group("one", first, fourth), group("two", second), group("three", third)]
    tips = Branching(str(repository.path)).make(groups, repository.base)

    assert repository.files() == before
    assert repository("symbolic-ref", "--short", "HEAD") == "main"
    for name, paths in {"one": ["a"], "two": ["b"], "three": ["c/d"]}.items():
        branch = f"experiment/s/{name}"
        assert repository("rev-parse", branch) == tips[branch]
        found = repository("diff", "--name-only", repository.base, branch).split()
        assert found == paths
        assert repository("merge-base", repository.base, branch) == repository.base
    assert repository("show", "experiment/s/one:a") == "2"


def test_a_dirty_work_tree_is_left_as_it_is(repository):
    first = repository.commit("a", "1")
    (repository.path / "readme").write_text("mine")
    (repository.path / "new").write_text("mine")
    before = repository.files()

    Branching(str(repository.path)).make([group("one", first)], repository.base)

    assert repository.files() == before
    assert repository("status", "--porcelain").split("\n") == ["M readme", "?? new"]


def overlapping(repository):
    first, second = repository.commit("a", "1"), repository.commit("a", "2")
    return [group("one", first), group("two", second)], PlanError, "a is changed by"


def existing(repository):
    first = repository.commit("a", "1")
    repository("branch", "experiment/s/one")
    return [group("one", first)], GitError, "exists"


def incomplete(repository):
    first, _, third = (repository.commit(name, "1") for name in ("a", "b", "c"))
    return [group("one", first), group("two", third)], GitError, "b differ"


def conflicting(repository):
    repository.commit("a", "1")
    second = repository.commit("a", "2")
    return [group("one", second)], GitError, "cherry-pick"


def missing(repository):
    return [group("one", "f" * 40)], GitError, "diff-tree"


@pytest.mark.parametrize("case", [overlapping, existing, incomplete, conflicting, missing])
def test_what_fails_leaves_the_repository_as_it_was(repository, case):
    groups, error, said = case(repository)
    before = repository.state()

    with pytest.raises(error, match=said):
        Branching(str(repository.path)).make(groups, repository.base)

    assert repository.state() == before


def test_outside_a_repository_there_is_nothing_to_branch(tmp_path):
    with pytest.raises(GitError):
        Branching(str(tmp_path))
