"""What Fusion's executor would do in git, as a plan; for programs that were written for it.

Fusion stashes pi's files of the top folder, resets hard and pops the stash. The loop
does not: a hard reset takes what the user changed with it.
"""

import re
from typing import Any

import orjson

_FILES = frozenset(
    {
        "autoresearch.jsonl",
        "autoresearch.md",
        "autoresearch.ideas.md",
        "autoresearch.checks.sh",
        "autoresearch.config.json",
    }
)
_FOLDER = "autoresearch.hooks"


def preserved_by_fusion(path: str) -> bool:
    return path in _FILES or path.partition("/")[0] == _FOLDER


def fusion_revert(porcelain: str, baseline: str, stash: str | None) -> dict[str, Any]:
    """Fusion's calls for a discard. stash: the name that its stash would get, if it gets one."""
    lines = (re.match(r"..\s+(.+)", line) for line in re.split(r"\r?\n", porcelain))
    paths = [path for line in lines if line and preserved_by_fusion(path := line[1].strip())]
    calls = ["statusPorcelain"]
    if paths:
        calls += [f"add:{orjson.dumps(paths).decode()}", "stashPush"]
    calls.append(f"resetHard:{orjson.dumps(baseline).decode()}")
    if paths and stash:
        calls.append(f"stashPop:{orjson.dumps(stash).decode()}")
    return {"reverted_to": baseline, "preserved": paths, "git_calls": calls}
