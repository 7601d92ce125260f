"""docs/graph.md tells the life of one hit in commands; here they are run."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "graph.md"
BLOCK = re.compile(r"^```console( gaia)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def steps(text, *, gaia):
    """Each command of the page's blocks with what it should print."""
    for block in BLOCK.finditer(text):
        if bool(block[1]) == gaia:
            for step in re.split(r"^\$ ", block[2], flags=re.MULTILINE)[1:]:
                command, _, printed = step.partition("\n")
                yield command, printed.rstrip("\n")


def matches(expected, printed):
    pattern = ".*".join(re.escape(part) for part in expected.split("…"))
    return re.fullmatch(pattern, printed, re.DOTALL)


def play(folder, *, gaia=False, **environment):
    env = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"} | environment
    env.pop("VARVITE_STORE", None)
    for command, expected in steps(PAGE.read_text(), gaia=gaia):
        words = shlex.split(command)
        if words[0] == "cat":
            (folder / words[1]).write_text(expected)
            continue
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        printed = done.stdout.rstrip("\n")
        assert matches(expected, printed), f"{command}\n{printed}\n{done.stderr}"


def test_the_life_of_one_hit_is_as_the_page_tells_it(tmp_path):
    play(tmp_path)
