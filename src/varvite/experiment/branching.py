"""The branches of a plan, made beside the user's work tree, all of them or none."""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from varvite.errors import BranchExistsError, GitError, PickConflictError
from varvite.experiment.finalizing import Group, check_disjoint
from varvite.experiment.git import preserved
from varvite.experiment.git_command import git, locked, paths, tree_with


@dataclass(frozen=True, slots=True)
class Beside:
    """A work tree beside the user's."""

    tree: str
    env: Mapping[str, str]

    def git(self, *words: str) -> str:
        return git(self.tree, *words, env=self.env)


class Branching:
    """A repository in which branches are made. Its work tree and its HEAD are left alone."""

    def __init__(self, cwd: str) -> None:
        """Find the repository.

        Raises:
            GitError: there is none.
        """
        self.top = git(cwd, "rev-parse", "--show-toplevel").strip()
        self._folder = self._git("rev-parse", "--absolute-git-dir").strip()
        self._common = os.path.join(self.top, self._git("rev-parse", "--git-common-dir").strip())

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
        """Those of the commits that the base does not hold, each once.

        One that changes pi's own files alone is left out.
        """
        held = set(self._git("rev-list", base).split())
        found = [one for one in dict.fromkeys(map(self.full, commits)) if one not in held]
        return [one for one in found if self.files(one) or not self._touched(one)]

    def name(self, tips: Mapping[str, str]) -> None:
        """Give branches their names, all of them or none.

        Raises:
            GitError: one is there by now.
        """
        with locked(self._folder) as held:
            self._update([f"create refs/heads/{name} {tip}" for name, tip in tips.items()], held)

    def all_there(self, tips: Mapping[str, str]) -> bool:
        """Whether each branch is as it was made; waits for what a killed process left running."""
        with locked(self._folder):
            return all(self._tip(name) == tip for name, tip in tips.items())

    def remove(self, tips: Mapping[str, str]) -> None:
        """Take back the branches that are still as they were made."""
        with locked(self._folder) as held:
            ours = {name: tip for name, tip in tips.items() if self._tip(name) == tip}
            self._update([f"delete refs/heads/{name} {tip}" for name, tip in ours.items()], held)

    def files(self, commit: str) -> list[str]:
        """The paths that a commit changes, but for pi's own."""
        return [path for path in self._touched(commit) if not preserved(path)]

    def _touched(self, commit: str) -> list[str]:
        shape = ("--no-commit-id", "--name-only", "--no-renames", "-r", "-z", "--root")
        return paths(self._git("diff-tree", *shape, commit))

    def check(self, groups: Sequence[Group]) -> None:
        """Refuse what cannot be made, before anything is.

        Raises:
            PlanError: groups change the same file.
            BranchExistsError
            GitError: a commit is missing, or no branch can have the name.
        """
        check_disjoint(groups, {one: self.files(one) for group in groups for one in group.commits})
        for group in groups:
            self._git("check-ref-format", "--branch", group.branch)
            self._check_free(group.branch)

    def make(self, groups: Sequence[Group], base: str) -> dict[str, str]:
        """Pick each branch's commits onto `base`, in order; branch to its tip, without its name.

        Raises:
            PickConflictError: .group .commit
            GitError: branches that together are not what the last of the commits holds.
        """
        with self._beside(base) as beside:
            tips = {group.branch: self._picked(beside, base, group) for group in groups}
        self._verify(groups, base, list(tips.values()))
        return tips

    @contextmanager
    def _beside(self, base: str) -> Iterator[Beside]:
        """A work tree with a HEAD and an index of its own, of which the repository does not know.

        It has the repository's objects, refs and settings; nothing of it stays but objects.
        """
        with tempfile.TemporaryDirectory() as folder:
            own, tree = os.path.join(folder, "git"), os.path.join(folder, "tree")
            for path in (own, tree):
                os.mkdir(path)
            _write(os.path.join(own, "HEAD"), base)
            _write(os.path.join(own, "commondir"), self._common)
            yield Beside(tree, {"GIT_DIR": own, "GIT_WORK_TREE": tree})

    def _picked(self, beside: Beside, base: str, group: Group) -> str:
        beside.git("checkout", "--quiet", "--force", "--detach", base)
        for commit in group.commits:
            try:
                beside.git("cherry-pick", "--allow-empty", self._without_pis(commit))
            except GitError as error:
                raise PickConflictError(
                    f"{group.branch}: {error.message}",
                    hint="put runs that build on one another together",
                    group=group.id,
                    commit=commit,
                    **error.data,
                ) from error
        return beside.git("rev-parse", "HEAD").strip()

    def _without_pis(self, commit: str) -> str:
        """The commit, or where it changes pi's own files, one like it that does not."""
        own = [path for path in self._touched(commit) if preserved(path)]
        if not own:
            return commit
        tree = tree_with(self.top, commit, f"{commit}^", own)
        author = self._git("log", "-1", "--format=%an%x00%ae%x00%aI%x00%B", commit)
        name, email, at, message = author.split("\0", 3)
        who = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email, "GIT_AUTHOR_DATE": at}
        words = ("commit-tree", tree, "-p", f"{commit}^", "-m", message.strip())
        return git(self.top, *words, env=who).strip()

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
        """What each path that differs from `base` is at `tip`, mode and blob; not pi's own."""
        shape = ("-r", "-z", "--no-renames", "--raw", "--no-abbrev")
        parts = paths(self._git("diff-tree", *shape, base, tip))
        return {
            path: " ".join(meta.split()[1:4:2])
            for meta, path in zip(parts[::2], parts[1::2], strict=True)
            if not preserved(path)
        }

    def _check_free(self, branch: str) -> None:
        """Refuse a name that is a branch's, or lies above or below one.

        Raises:
            BranchExistsError: .branch
        """
        parts = branch.split("/")
        above = ["/".join(parts[:count]) for count in range(1, len(parts))]
        taken = [name for name in above if self._tip(name)]
        if taken or self._git("for-each-ref", f"refs/heads/{branch}"):
            raise BranchExistsError(
                f"Branch already exists: {(taken or [branch])[0]}",
                hint="rename or delete it",
                branch=(taken or [branch])[0],
            )

    def _tip(self, branch: str) -> str | None:
        shape = "--format=%(objectname) %(refname)"
        rows = self._git("for-each-ref", shape, f"refs/heads/{branch}").splitlines()
        found = (row.split(" ", 1) for row in rows)
        return next((sha for sha, name in found if name == f"refs/heads/{branch}"), None)

    def _update(self, lines: Sequence[str], held: int) -> None:
        given = "".join(f"{line}\n" for line in lines)
        git(self.top, "update-ref", "--stdin", given=given, held=(held,))

    def _git(self, *words: str, given: str = "") -> str:
        return git(self.top, *words, given=given)


def _differs(path: str, one: dict[str, str], other: dict[str, str]) -> bool:
    return one.get(path) != other.get(path)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{text}\n")
