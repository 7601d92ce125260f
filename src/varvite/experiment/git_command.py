"""One call of git, and what is made of few."""

import fcntl
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from varvite.errors import GitError

LOCK = "varvite.lock"
_QUIET = ("-c", "gc.auto=0", "-c", "maintenance.auto=false")
_NO_HOOKS = ("-c", "core.hooksPath=/dev/null")


def git(
    cwd: str,
    *words: str,
    given: str = "",
    env: Mapping[str, str] | None = None,
    hooks: bool = False,
    held: tuple[int, ...] = (),
) -> str:
    """Run git in a folder; without the user's hooks, unless these are asked for.

    held: locks that git holds too, until it ends.

    Raises:
        GitError: .command, .stderr
    """
    try:
        done = subprocess.run(  # noqa: S603  (words are never joined into a shell line)
            ["git", *_QUIET, *(() if hooks else _NO_HOOKS), *words],  # noqa: S607  (the user's git)
            cwd=cwd,
            env=os.environ | {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8"} | dict(env or {}),
            input=os.fsencode(given),
            capture_output=True,
            check=False,
            pass_fds=held,
        )
    except OSError as error:
        raise GitError(f"git in {cwd}: {error}", command=_verb(words), stderr=str(error)) from error
    if done.returncode:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
        raise GitError(f"git {_verb(words)}: {said[:500]}", command=_verb(words), stderr=said)
    return os.fsdecode(done.stdout)


def _verb(words: tuple[str, ...]) -> str:
    return next(word for word in words if not word.startswith("-"))


@contextmanager
def locked(git_dir: str) -> Iterator[int]:
    """Hold a repository against other loops, and wait for what a killed one left running."""
    fd = os.open(os.path.join(git_dir, LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield fd
    finally:
        os.close(fd)


def paths(output: str) -> list[str]:
    """What git lists with -z."""
    return [one for one in output.split("\0") if one]


def tree_with(top: str, base: str, other: str, names: Sequence[str]) -> str:
    """A tree like that of `base`, with these paths as they are in `other`."""
    with tempfile.TemporaryDirectory() as folder:
        own = {"GIT_INDEX_FILE": os.path.join(folder, "index")}
        git(top, "read-tree", base, env=own)
        rows = "".join(f"{_row(top, other, path)}\0" for path in names)
        git(top, "update-index", "-z", "--index-info", given=rows, env=own)
        return git(top, "write-tree", env=own).strip()


def _row(top: str, commit: str, path: str) -> str:
    """The path as `update-index` takes it; mode 0 takes it away."""
    found = git(top, "--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--", path)
    return found.rstrip("\0") if found else f"0 {'0' * 40}\t{path}"
