"""What pi-autoresearch does in git: everything in a keep, everything back in what is none."""

from varvite.experiment.git_command import git

_KEPT = ("**/.auto/**", "**/autoresearch.*")
"""pi's own files: no discard touches them."""


def commit_all(cwd: str, message: str) -> str | None:
    """Commit all that is changed; its short name, or None where nothing was staged.

    Raises:
        GitError
    """
    git(cwd, "add", "-A")
    if _clean(cwd):
        return None
    git(cwd, "commit", "--quiet", "-m", message, hooks=True)
    return git(cwd, "rev-parse", "--short=7", "HEAD").strip()


def take_back(cwd: str) -> None:
    """Bring every file but pi's own back to the index, and remove what git does not know.

    Raises:
        GitError
    """
    spared = [f":(exclude,glob){pattern}" for pattern in _KEPT]
    changed = git(cwd, "diff", "--name-only", "-z", "--", ".", *spared)
    if changed:
        git(cwd, "checkout", "--quiet", "--", ".", *spared)
    excluded = [word for pattern in _KEPT for word in ("-e", pattern)]
    git(cwd, "clean", "-fdq", *excluded)


def _clean(cwd: str) -> bool:
    """Whether nothing is staged."""
    return not git(cwd, "diff", "--cached", "--name-only")
