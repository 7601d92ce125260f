"""docs/experiments.md tells a loop in commands; here they are run."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "experiments.md"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
GIT = {
    f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}


def steps(text):
    """Each command of the page's blocks with what it should print."""
    for block in BLOCK.finditer(text):
        for step in re.split(r"^\$ ", block[1], flags=re.MULTILINE)[1:]:
            command, _, printed = step.partition("\n")
            yield command, printed.rstrip("\n")


def matches(expected, printed):
    pattern = ".*".join(re.escape(part) for part in expected.split("…"))
    return re.fullmatch(pattern, printed, re.DOTALL)


def test_the_loop_goes_as_the_page_tells_it(tmp_path):
    env = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"} | GIT
    env.pop("VARVITE_STORE", None)
    for command, expected in steps(PAGE.read_text()):
        words = shlex.split(command)
        if words[0] == "cat":
            (tmp_path / words[1]).write_text(expected + "\n")
            continue
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        printed = done.stdout.rstrip("\n")
        assert matches(expected, printed), f"{command}\n{printed}\n{done.stderr}"
