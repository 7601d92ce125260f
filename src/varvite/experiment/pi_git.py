"""What pi-autoresearch does in git: everything in a keep, everything back in what is none."""

import subprocess

from varvite.errors import GitError

_KEPT = ("**/.auto/**", "**/autoresearch.*")
"""pi's own files: no discard touches them."""


def commit_all(cwd: str, message: str) -> str | None:
    """Commit all that is changed; its short name, or None where nothing was staged.

    Raises:
        GitError
    """
    _git(cwd, "add", "-A")
    if _clean(cwd):
        return None
    _git(cwd, "commit", "--quiet", "-m", message)
    return _git(cwd, "rev-parse", "--short=7", "HEAD").strip()


def take_back(cwd: str) -> None:
    """Bring every file but pi's own back to the index, and remove what git does not know.

    Raises:
        GitError
    """
    spared = [f":(exclude,glob){pattern}" for pattern in _KEPT]
    changed = _git(cwd, "diff", "--name-only", "-z", "--", ".", *spared)
    if changed:
        _git(cwd, "checkout", "--quiet", "--", ".", *spared)
    excluded = [word for pattern in _KEPT for word in ("-e", pattern)]
    _git(cwd, "clean", "-fdq", *excluded)


def _clean(cwd: str) -> bool:
    """Whether nothing is staged."""
    return not _git(cwd, "diff", "--cached", "--name-only")


def _git(cwd: str, *words: str) -> str:
    """Run git.

    Raises:
        GitError: .command, .stderr
    """
    done = subprocess.run(  # noqa: S603  (words are never joined into a shell line)
        ["git", *words],  # noqa: S607  (the user's own git)
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.strip()
        raise GitError(f"git {words[0]}: {said[:500]}", command=words[0], stderr=said)
    return done.stdout
