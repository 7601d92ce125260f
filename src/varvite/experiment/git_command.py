"""One call of git."""

import os
import subprocess
from collections.abc import Mapping

from varvite.errors import GitError

_QUIET = ("-c", "gc.auto=0", "-c", "maintenance.auto=false")
_NO_HOOKS = ("-c", "core.hooksPath=/dev/null")


def git(
    cwd: str,
    *words: str,
    given: str = "",
    env: Mapping[str, str] | None = None,
    hooks: bool = False,
) -> str:
    """Run git in a folder; without the user's hooks, unless these are asked for.

    Raises:
        GitError: .command, .stderr
    """
    done = subprocess.run(  # noqa: S603  (words are never joined into a shell line)
        ["git", *_QUIET, *(() if hooks else _NO_HOOKS), *words],  # noqa: S607  (the user's own git)
        cwd=cwd,
        env=os.environ | {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8"} | dict(env or {}),
        input=os.fsencode(given),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
        raise GitError(f"git {words[0]}: {said[:500]}", command=words[0], stderr=said)
    return os.fsdecode(done.stdout)


def paths(output: str) -> list[str]:
    """What git lists with -z."""
    return [one for one in output.split("\0") if one]
