"""Branches of kept runs in real repositories."""

import pytest

from varvite.errors import BranchExistsError, GitError, PickConflictError, PlanError
from varvite.experiment.branching import Branching
from varvite.experiment.finalizing import Group


def group(name, *commits):
    return Group(name, name, tuple(f"r{n}" for n in commits), commits, f"experiment/s/{name}")


def branched(repository, groups):
    branching = Branching(str(repository.path))
    branching.check(groups)
    tips = branching.make(groups, repository.base)
    branching.name(tips)
    return tips


def test_each_group_is_a_branch_from_the_base_and_together_they_are_the_tip(repository):
    first, second, third = (repository.commit(name, "1") for name in ("a", "b", "c/d"))
    fourth = repository.commit("a", "2")
    before = repository.files()

    groups = [group("one", first, fourth), group("two", second), group("three", third)]
    tips = branched(repository, groups)

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

    branched(repository, [group("one", first)])

    assert repository.files() == before
    assert repository("status", "--porcelain").split("\n") == ["M readme", "?? new"]


def overlapping(repository):
    first, second = repository.commit("a", "1"), repository.commit("a", "2")
    return [group("one", first), group("two", second)], PlanError, "a is changed by"


def existing(repository):
    first = repository.commit("a", "1")
    repository("branch", "experiment/s/one")
    return [group("one", first)], BranchExistsError, "exists: experiment/s/one"


def above(repository):
    first = repository.commit("a", "1")
    repository("branch", "experiment")
    return [group("one", first)], BranchExistsError, "exists: experiment"


def below(repository):
    first = repository.commit("a", "1")
    repository("branch", "experiment/s/one/more")
    return [group("one", first)], BranchExistsError, "exists: experiment/s/one"


def unnamable(repository):
    first = repository.commit("a", "1")
    return [group("a..b", first)], GitError, "a..b"


def incomplete(repository):
    first, _, third = (repository.commit(name, "1") for name in ("a", "b", "c"))
    return [group("one", first), group("two", third)], GitError, "b differ"


def conflicting(repository):
    repository.commit("a", "1")
    second = repository.commit("a", "2")
    return [group("one", second)], PickConflictError, "cherry-pick"


def missing(repository):
    return [group("one", "f" * 40)], GitError, "diff-tree"


@pytest.mark.parametrize(
    "case", [overlapping, existing, above, below, unnamable, incomplete, conflicting, missing]
)
def test_what_fails_leaves_the_repository_as_it_was(repository, case):
    groups, error, said = case(repository)
    before = repository.state()

    with pytest.raises(error, match=said):
        branched(repository, groups)

    assert repository.state() == before


def test_outside_a_repository_there_is_nothing_to_branch(tmp_path):
    with pytest.raises(GitError):
        Branching(str(tmp_path))


def test_a_conflict_says_in_which_group_and_at_which_commit(repository):
    groups, _, _ = conflicting(repository)

    with pytest.raises(PickConflictError) as caught:
        branched(repository, groups)

    assert (caught.value.group, caught.value.commit) == ("one", *groups[0].commits)
    assert "a" in caught.value.stderr


def test_branches_get_their_names_all_or_none(repository):
    branching, base = Branching(str(repository.path)), repository.base
    repository("branch", "x/two")
    before = repository.state()

    with pytest.raises(GitError, match="x/two"):
        branching.name({"x/one": base, "x/two": base})

    assert repository.state() == before
    assert not branching.all_there({"x/one": base, "x/two": base})


def test_what_is_taken_back_is_only_what_is_as_it_was_made(repository):
    branching, base = Branching(str(repository.path)), repository.base
    branching.name({"x/one": base, "x/two": base})
    repository("branch", "-f", "x/two", repository.commit("a", "1"))

    branching.remove({"x/one": base, "x/two": base, "x/three": base})

    assert repository.branches("refs/heads/x") == ["x/two"]


def test_branches_are_made_in_a_linked_work_tree_too(repository, tmp_path):
    first = repository.commit("a", "1")
    repository("worktree", "add", "-q", "-b", "linked", str(tmp_path / "linked"))

    branching = Branching(str(tmp_path / "linked"))
    branching.name(branching.make([group("one", first)], repository.base))

    assert repository("diff", "--name-only", repository.base, "experiment/s/one") == "a"
