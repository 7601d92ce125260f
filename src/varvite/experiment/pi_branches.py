"""pi-autoresearch's way to end a session: each group of a groups file becomes one commit.

A group's files are what changed since the last commit of the group before it. They go
onto a branch from the base as they are in its own last commit. Work tree, index and
HEAD are left alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from varvite.disk import strict_json
from varvite.errors import BranchExistsError, GitError, InputError, MalformedInputError, PlanError
from varvite.experiment.git import preserved
from varvite.experiment.git_command import git, paths, tree_with


@dataclass(frozen=True, slots=True)
class SplitGroup:
    """A group as the file has it. Its files are those since the group before."""

    title: str
    body: str
    last_commit: str
    slug: str


@dataclass(frozen=True, slots=True)
class Split:
    """A groups file. base: where the branches begin. final_tree: what they must come to."""

    base: str
    trunk: str
    final_tree: str
    goal: str
    groups: tuple[SplitGroup, ...]


def read(path: str) -> Split:
    """Read a groups file.

    Raises:
        InputError: there is none.
        MalformedInputError: .file, .path
    """
    try:
        with open(path, "rb") as file:
            value = strict_json.loads(file.read(), file=path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    groups = value.get("groups") if isinstance(value, dict) else None
    if not isinstance(groups, list) or not groups:
        raise MalformedInputError(f"{path}: no list `groups`", file=path, path="groups")
    names = ("title", "last_commit", "slug")
    made = [
        SplitGroup(**_texts(group, names, path, f"groups[{at}]"), body=_body(group))
        for at, group in enumerate(groups)
    ]
    return Split(
        **_texts(value, ("base", "trunk", "final_tree", "goal"), path, ""), groups=tuple(made)
    )


def split(cwd: str, wanted: Split) -> dict[str, str]:
    """Make the branches; name to tip. A group without files is skipped.

    As with pi, branches that do not come to the final tree are left for a person to
    look at; where one cannot be made, none is.

    Raises:
        PlanError: HEAD is on no branch or on the trunk, or groups share a file.
        BranchExistsError
        GitError: a commit is missing, or the branches are not the final tree.
    """
    top = git(cwd, "rev-parse", "--show-toplevel").strip()
    for tree in (wanted.base, wanted.final_tree):
        git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{tree}^{{tree}}")
    _check_head(top, wanted)
    files = [_files(top, *ends) for ends in _ends(wanted)]
    _check_disjoint(wanted, files)
    made = {
        f"autoresearch/{wanted.goal}/{number:02d}-{group.slug}": (group, of)
        for number, (group, of) in enumerate(zip(wanted.groups, files, strict=True), 1)
        if of
    }
    _check_free(top, made)
    tips = {name: _commit(top, wanted.base, group, of) for name, (group, of) in made.items()}
    given = "".join(f"create refs/heads/{name} {tip}\n" for name, tip in tips.items())
    git(top, "update-ref", "--stdin", given=given)
    _verify(top, wanted, [path for of in files for path in of])
    return tips


def _check_head(top: str, wanted: Split) -> None:
    try:
        branch = git(top, "symbolic-ref", "--short", "HEAD").strip()
    except GitError:
        raise PlanError("HEAD is on no branch", hint="check out the session's branch") from None
    if branch == wanted.trunk:
        raise PlanError(f"HEAD is on {branch}", hint="check out the session's branch")


def _ends(wanted: Split) -> Iterator[tuple[str, str]]:
    """The two commits between which a group's files changed."""
    before = wanted.base
    for group in wanted.groups:
        yield before, group.last_commit
        before = group.last_commit


def _files(top: str, before: str, last: str) -> list[str]:
    shape = ("-r", "-z", "--no-renames", "--name-only")
    found = paths(git(top, "diff-tree", *shape, before, last))
    return [path for path in found if not preserved(path)]


def _check_disjoint(wanted: Split, files: list[list[str]]) -> None:
    owner: dict[str, str] = {}
    for group, of in zip(wanted.groups, files, strict=True):
        for path in of:
            if path in owner:
                raise PlanError(
                    f"{path} is changed by {owner[path]} and by {group.title}",
                    hint="put them into one group",
                    path=path,
                )
            owner[path] = group.title


def _check_free(top: str, names: Any) -> None:
    for name in names:
        git(top, "check-ref-format", "--branch", name)
        if git(top, "for-each-ref", f"refs/heads/{name}"):
            raise BranchExistsError(f"Branch already exists: {name}", branch=name)


def _commit(top: str, base: str, group: SplitGroup, files: list[str]) -> str:
    """One commit on the base with these files as they are in the group's last commit."""
    tree = tree_with(top, base, group.last_commit, files)
    text = "\n\n".join(filter(None, [group.title, group.body]))
    return git(top, "commit-tree", tree, "-p", base, "-m", text).strip()


def _verify(top: str, wanted: Split, files: list[str]) -> None:
    """See that what no group has is as it was in the base."""
    left = set(_files(top, wanted.base, wanted.final_tree)) - set(files)
    last = wanted.groups[-1].last_commit
    differing = left | set(_files(top, last, wanted.final_tree))
    if differing:
        told = ", ".join(sorted(differing)[:5])
        raise GitError(
            f"the branches are not {wanted.final_tree[:7]}: {told} differ",
            hint="the branches were made; put the files into a group",
            command="diff-tree",
            stderr="",
        )


def _texts(value: Any, names: tuple[str, ...], file: str, where: str) -> dict[str, Any]:
    for name in names:
        if not isinstance(value, dict) or not isinstance(value.get(name), str):
            path = f"{where}.{name}".lstrip(".")
            raise MalformedInputError(f"{file}: {path} is no text", file=file, path=path)
    return {name: value[name] for name in names}


def _body(group: Any) -> str:
    body = group.get("body")
    return body if isinstance(body, str) else ""
