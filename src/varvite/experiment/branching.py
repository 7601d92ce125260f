"""The branches of a plan, made beside the user's work tree, all of them or none."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from varvite.errors import GitError
from varvite.experiment.finalizing import Group, check_disjoint
from varvite.experiment.git_command import git, paths


class Branching:
    """A repository in which branches are made. Its work tree and its HEAD are left alone."""

    def __init__(self, cwd: str) -> None:
        """Find the repository.

        Raises:
            GitError: there is none.
        """
        self.top = git(cwd, "rev-parse", "--show-toplevel").strip()

    def merge_base(self, trunk: str) -> str:
        """Where the commit that is checked out left the trunk."""
        return self._git("merge-base", "--end-of-options", trunk, "HEAD").strip()

    def full(self, commit: str) -> str:
        """The whole name of a commit.

        Raises:
            GitError: there is no such commit.
        """
        return self._git(
            "rev-parse", "--verify", "--end-of-options", f"{commit}^{{commit}}"
        ).strip()

    def parent(self, commit: str) -> str:
        return self.full(f"{commit}^")

    def beyond(self, commits: Sequence[str], base: str) -> list[str]:
        """Those of the commits that the base does not hold, each once."""
        held = set(self._git("rev-list", base).split())
        return [one for one in dict.fromkeys(map(self.full, commits)) if one not in held]

    def remove(self, tips: dict[str, str]) -> None:
        """Take back branches that `make` made, where they are still as it made them."""
        given = "".join(f"delete refs/heads/{name} {tip}\n" for name, tip in tips.items())
        self._git("update-ref", "--stdin", given=given)

    def files(self, commit: str) -> list[str]:
        """The paths that a commit changes."""
        shape = ("--no-commit-id", "--name-only", "--no-renames", "-r", "-z", "--root")
        return paths(self._git("diff-tree", *shape, commit))

    def check(self, groups: Sequence[Group]) -> None:
        """Refuse what cannot be made, before anything is.

        Raises:
            PlanError: groups change the same file.
            GitError: a commit is missing, or a branch is there already.
        """
        check_disjoint(groups, {one: self.files(one) for group in groups for one in group.commits})
        for group in groups:
            self._git("check-ref-format", "--branch", group.branch)
            if self._git("for-each-ref", f"refs/heads/{group.branch}"):
                raise GitError(f"branch {group.branch} exists", hint="rename or delete it")

    def make(self, groups: Sequence[Group], base: str) -> dict[str, str]:
        """Make each branch from `base`, its commits picked in order; branch to its tip.

        Raises:
            PlanError: groups change the same file.
            GitError: a conflict, a branch that is there, or branches that together are
                not what the last of the commits holds. No branch was made.
        """
        self.check(groups)
        with self._beside(base) as folder:
            tips = {group.branch: _picked(folder, base, group) for group in groups}
        self._verify(groups, base, list(tips.values()))
        given = "".join(f"create refs/heads/{name} {tip}\n" for name, tip in tips.items())
        self._git("update-ref", "--stdin", given=given)
        return tips

    @contextmanager
    def _beside(self, base: str) -> Iterator[str]:
        """A work tree of its own, which is gone afterwards whatever happened in it."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "tree")
            self._git("worktree", "add", "--quiet", "--detach", path, base)
            try:
                yield path
            finally:
                self._git("worktree", "remove", "--force", path)

    def _verify(self, groups: Sequence[Group], base: str, tips: Sequence[str]) -> None:
        """See that base and all branches' changes give the tree of the last commit."""
        last = self._last([commit for group in groups for commit in group.commits])
        wanted = self._changes(base, last)
        made: dict[str, str] = {}
        for tip in tips:
            made |= self._changes(base, tip)
        differing = sorted(
            path for path in wanted.keys() | made.keys() if _differs(path, wanted, made)
        )
        if differing:
            raise GitError(
                f"the branches together are not {last[:7]}: {', '.join(differing[:5])} differ",
                hint="commits between the kept ones belong to no group",
            )

    def _last(self, commits: Sequence[str]) -> str:
        """The newest of the commits by ancestry: the only one that no other is built on.

        Raises:
            GitError: they are not in one line.
        """
        tips = self._git("merge-base", "--independent", *commits).split()
        if len(tips) != 1:
            raise GitError("the kept commits are not in one line of history")
        return tips[0]

    def _changes(self, base: str, tip: str) -> dict[str, str]:
        """What each path that differs from `base` is at `tip`: mode and blob."""
        shape = ("-r", "-z", "--no-renames", "--raw", "--no-abbrev")
        parts = paths(self._git("diff-tree", *shape, base, tip))
        return {
            path: " ".join(meta.split()[1:4:2])
            for meta, path in zip(parts[::2], parts[1::2], strict=True)
        }

    def _git(self, *words: str, given: str = "") -> str:
        return git(self.top, *words, given=given)


def _differs(path: str, one: dict[str, str], other: dict[str, str]) -> bool:
    return one.get(path) != other.get(path)


def _picked(folder: str, base: str, group: Group) -> str:
    git(folder, "checkout", "--quiet", "--detach", base)
    try:
        for commit in group.commits:
            git(folder, "cherry-pick", "--allow-empty", commit)
    except GitError as error:
        raise GitError(
            f"{group.branch}: {error.message}", hint="put runs that build on one another together"
        ) from error
    return git(folder, "rev-parse", "HEAD").strip()
