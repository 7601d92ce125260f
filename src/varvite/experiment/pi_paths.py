"""Where pi-autoresearch keeps its files in a working folder, and where older versions did."""

import os
from collections.abc import Callable

CURRENT = {
    "log": ".auto/log.jsonl",
    "prompt": ".auto/prompt.md",
    "ideas": ".auto/ideas.md",
    "checks": ".auto/checks.sh",
    "measure": ".auto/measure.sh",
    "config": ".auto/config.json",
    "hook_before": ".auto/hooks/before.sh",
    "hook_after": ".auto/hooks/after.sh",
}
OLDER = {
    "log": "autoresearch.jsonl",
    "prompt": "autoresearch.md",
    "ideas": "autoresearch.ideas.md",
    "checks": "autoresearch.checks.sh",
    "measure": "autoresearch.sh",
    "config": "autoresearch.config.json",
    "hook_before": "autoresearch.hooks/before.sh",
    "hook_after": "autoresearch.hooks/after.sh",
}
_TELLING = (*list(CURRENT.values())[:6], ".auto/hooks")


def session_paths(exists: Callable[[str], bool]) -> dict[str, str]:
    """The path of each file, from the working folder.

    The older place counts where the file is there and `.auto` has nothing of pi's.
    """
    if any(exists(path) for path in _TELLING):
        return dict(CURRENT)
    return {name: OLDER[name] if exists(OLDER[name]) else path for name, path in CURRENT.items()}


def session_path(cwd: str, name: str) -> str:
    """The whole path of one of the files."""

    def exists(path: str) -> bool:
        return os.path.exists(os.path.join(cwd, path))

    return os.path.join(cwd, session_paths(exists)[name])
