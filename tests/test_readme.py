import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
COMMANDS = [
    "pip install uv && uv run varvite demo",
    "pip install uv && uv run pytest",
]


def blocks(language):
    return [text for found, text in BLOCKS if found == language]


def test_the_first_block_is_the_two_commands():
    assert BLOCKS[0] == ("sh", "\n".join(COMMANDS) + "\n")


def test_every_block_is_of_a_language_that_is_checked():
    assert {language for language, _ in BLOCKS} == {"sh", "python", "text"}


def test_every_link_within_the_project_leads_somewhere():
    links = re.findall(r"\]\((?!https?://)([^)#]+)", README)

    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_exit_code_of_the_tool_is_in_the_table():
    from varvite import errors

    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", README, re.MULTILINE)}
    raised = {
        kind.exit_code
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.VarviteError)
    }

    assert listed == raised | {0, 130}


def test_the_python_and_the_shell_run_as_they_stand(tmp_path):
    """One after the other, in one folder, as a reader would."""
    python = tmp_path / "readme.py"
    python.write_text("\n".join(blocks("python")))
    shell = tmp_path / "readme.sh"
    shell.write_text("set -euo pipefail\n" + "\n".join(blocks("sh")[1:]))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    for command in ([sys.executable, str(python)], ["bash", str(shell)]):
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    assert (tmp_path / "runs.parquet").read_bytes()[:4] == b"PAR1"
    assert "create schema if not exists streams" in (tmp_path / "views.sql").read_text()


@pytest.mark.parametrize("name", ["sessions", "graph", "experiment", "sql", "compact", "rebuild"])
def test_the_verbs_it_speaks_of_are_there(name):
    from varvite.cli.main import VERBS

    assert name in VERBS
    assert f"varvite {name}" in README or f"`{name}`" in README
