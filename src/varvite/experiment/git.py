"""What the loop does in a git repository: commit, save or take back the files of its scope.

No other path is ever written or staged, and what is taken back was saved under a ref
of this project first. git and what it starts hold a lock file, so that whoever takes
the lock knows that a git of a killed process has ended.
"""

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import orjson

from varvite.errors import GitError
from varvite.experiment.change import DIFF, fingerprint
from varvite.experiment.git_command import git, locked

RUN_TRAILER, SESSION_TRAILER = "Varvite-Run", "Varvite-Session"
_FROM_STDIN = ("--pathspec-from-file=-", "--pathspec-file-nul")


def preserved(path: str) -> bool:
    """Whether a path is pi's own, at any depth: never committed, never taken back."""
    parts = path.split("/")
    return ".auto" in parts or any(part.startswith("autoresearch.") for part in parts)


def message(description: str, result: Mapping[str, Any], trailers: Mapping[str, str]) -> str:
    """A commit's message: pi's, with our trailers behind."""
    text = orjson.dumps({name: _as_in_js(value) for name, value in result.items()}).decode()
    tail = [f"Result: {text}", *(f"{name}: {value}" for name, value in trailers.items())]
    return f"{description.strip() or 'experiment'}\n\n" + "\n".join(tail) + "\n"


def _as_in_js(value: Any) -> Any:
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15  # noqa: PLR2004
    return int(value) if whole else value


@dataclass(frozen=True, slots=True)
class Changed:
    """A path below the repository's top that differs from HEAD. code: of `git status`."""

    path: str
    code: str


class Repository:
    """The repository around a working folder. scope: files and folders, from that folder."""

    def __init__(self, cwd: str, scope: Sequence[str], *, exclude: Sequence[str] = ()) -> None:
        """Find the repository.

        Raises:
            GitError: there is none.
        """
        self.cwd, self.scope = cwd, list(scope)
        self._fds: tuple[int, ...] = ()
        self.top = self._git("rev-parse", "--show-toplevel", cwd=cwd).strip()
        self._folder = self._git("rev-parse", "--absolute-git-dir", cwd=cwd).strip()
        self._exclude = [os.path.relpath(os.path.realpath(one), self.top) for one in exclude]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the repository against other loops, and wait for what a killed one left running."""
        with locked(self._folder) as fd:
            self._fds = (fd,)
            try:
                yield
            finally:
                self._fds = ()

    def head(self) -> str:
        """The commit that is checked out.

        Raises:
            GitError: there is none yet.
        """
        return self._git("rev-parse", "--verify", "HEAD").strip()

    def changed(self) -> list[Changed]:
        """What of the scope differs from HEAD; ignored files and pi's own do not count."""
        shape = ("--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")
        found = self._git("status", *shape, "--", *self.scope, cwd=self.cwd)
        entries = [Changed(one[3:], one[:2]) for one in found.split("\0") if one]
        return [one for one in entries if not preserved(one.path) and not self._excluded(one.path)]

    def commit(self, changed: Sequence[Changed], text: str) -> str:
        """Commit these paths alone, whatever else is staged.

        Raises:
            GitError: nothing was committed, and what was untracked is so again.
        """
        fresh = [one.path for one in changed if one.code == "??"]
        try:
            self._at("add", fresh, "--intent-to-add")
            with tempfile.NamedTemporaryFile("w", suffix=".msg", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                paths = [one.path for one in changed]
                self._at("commit", paths, "--quiet", "--only", "--file", file.name)
        except GitError:
            self._at("reset", fresh, "--quiet")
            raise
        return self.head()

    def change(self, changed: Sequence[Changed]) -> str | None:
        """A fingerprint of what these paths change, the same on another HEAD; None of none."""
        if not changed:
            return None
        fresh = [one.path for one in changed if one.code == "??"]
        known = [one.path for one in changed if one.code != "??"]
        diff = self._git("diff", *DIFF, "HEAD", "--", *known) if known else ""
        return fingerprint(diff, [(path, self._content(path)) for path in fresh])

    def save(self, changed: Sequence[Changed], ref: str, text: str) -> str:
        """Make a commit of these paths as they are, beside all branches, and name it `ref`."""
        with tempfile.TemporaryDirectory() as folder:
            own = {"GIT_INDEX_FILE": os.path.join(folder, "index")}
            self._git("read-tree", "HEAD", env=own)
            there = [one.path for one in changed if os.path.lexists(self._full(one.path))]
            gone = [one.path for one in changed if one.path not in set(there)]
            self._at("add", there, "-A", env=own)
            self._git("update-index", "-z", "--force-remove", "--stdin", given=gone, env=own)
            tree = self._git("write-tree", env=own).strip()
        sha = self._git("commit-tree", tree, "-p", "HEAD", "-m", text).strip()
        self._git("update-ref", ref, sha)
        return sha

    def take_back(self, paths: Iterable[str], saved: str) -> None:
        """Bring paths back to HEAD, save for those that are no longer as they were saved."""
        same = [path for path in paths if self._is_as_in(saved, path)]
        known = [path for path in same if self._blob("HEAD", path)]
        for path in set(same) - set(known):
            if os.path.lexists(self._full(path)):
                os.remove(self._full(path))
        self._at("reset", [path for path in same if path not in known], "--quiet")
        self._at("restore", known, "--source=HEAD", "--staged", "--worktree")

    def find(self, run_id: str, after: str) -> str | None:
        """The commit of a run, by its trailer, on any branch beyond the commit `after`."""
        shape = ("--all", "HEAD", "-n1", "--fixed-strings", f"--grep={RUN_TRAILER}: {run_id}")
        return self._git("rev-list", *shape, f"^{after}").strip() or None

    def _is_as_in(self, commit: str, path: str) -> bool:
        blob, full = self._blob(commit, path), self._full(path)
        if not os.path.lexists(full) or blob is None:
            return blob is None and not os.path.lexists(full)
        if os.path.islink(full):
            return self._git("cat-file", "blob", blob) == os.readlink(full)
        return self._git("hash-object", f"--path={path}", "--", full).strip() == blob

    def _blob(self, commit: str, path: str) -> str | None:
        row = self._git("ls-tree", "--full-tree", commit, "--", path)
        return row.split()[2] if row else None

    def _content(self, path: str) -> bytes:
        full = self._full(path)
        if os.path.islink(full):
            return os.fsencode(os.readlink(full))
        with open(full, "rb") as file:
            return file.read()

    def _full(self, path: str) -> str:
        return os.path.join(self.top, path)

    def _excluded(self, path: str) -> bool:
        return any(path == one or path.startswith(f"{one}/") for one in self._exclude)

    def _at(self, verb: str, paths: Sequence[str], *options: str, env: Any = None) -> None:
        if paths:
            self._git(verb, *options, *_FROM_STDIN, given=paths, env=env)

    def _git(
        self,
        *words: str,
        cwd: str | None = None,
        given: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> str:
        """Run git. Paths are given NUL-separated on stdin.

        Raises:
            GitError: .command, .stderr
        """
        return git(
            cwd or self.top,
            "--literal-pathspecs",
            *words,
            given="".join(f"{path}\0" for path in given),
            env=env,
            hooks=True,
            held=self._fds,
        )
