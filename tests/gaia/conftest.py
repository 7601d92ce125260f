import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from environments import OLD, ROOT, VERSION, make

from varvite.gaia.worker import Worker
from varvite.graph.port import Relation, SourceNode


def pytest_collection_modifyitems(items):
    here = str(Path(__file__).parent)
    for item in items:
        if str(item.path).startswith(here) and "gaia_python" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.gaia)


@pytest.fixture(scope="session")
def gaia_python():
    return make(f"gaia-{VERSION}", f"gaia-lang=={VERSION}")


@pytest.fixture(scope="session")
def old_gaia_python(gaia_python):
    """The release that pip takes by default, as it is: without its dependencies it says the same."""
    return make(f"gaia-{OLD}", "--no-config", "--no-deps", f"gaia-lang=={OLD}")


@pytest.fixture(scope="session")
def both_python(gaia_python):
    """Gaia and this very checkout in one interpreter."""
    return make(f"gaia-{VERSION}-varvite", f"gaia-lang=={VERSION}", "uv", "--editable", str(ROOT))


class Cli:
    """The real command line of Gaia."""

    def __init__(self, python):
        self.python = python

    def __call__(self, *arguments, cwd=None, **environment):
        program = str(Path(self.python).parent / "gaia")
        env = dict(os.environ) | {"GAIA_NO_UPDATE_CHECK": "1"} | environment
        return subprocess.run(
            [program, *arguments], cwd=cwd, env=env, capture_output=True, text=True, timeout=240
        )


@pytest.fixture(scope="session")
def gaia(gaia_python):
    return Cli(gaia_python)


@pytest.fixture(scope="session")
def scaffold(gaia, tmp_path_factory):
    """A package that the real command line made, to be copied."""
    root = tmp_path_factory.mktemp("scaffold") / "field-gaia"
    made = gaia("pkg", "scaffold", "--target", str(root), "--name", "field-gaia")
    assert made.returncode == 0, made.stderr
    return root


@pytest.fixture
def package(scaffold, tmp_path):
    return Path(shutil.copytree(scaffold, tmp_path / "field-gaia"))


@pytest.fixture(scope="session")
def shared_worker(gaia_python):
    worker = Worker(gaia_python, owner="s1", timeout_s=120)
    yield worker
    worker.close()


@pytest.fixture
def port(shared_worker, package):
    """One worker for all tests, as one is for all packages; each test has its own package."""
    shared_worker.open_package(str(package))
    return shared_worker


def node(number, *, content=None, kind="claim", session="s1"):
    return SourceNode(
        f"node_{number:04}",
        f"node_{number:04}",
        kind,
        content if content is not None else f"Statement number {number} holds.",
        f"Title {number}",
        {"provider": "lkm", "varvite": {"session_id": session}},
    )


def relation(number, claims, pattern="contradict", *, session="s1", binding=None):
    name = binding or f"cr_{number:012x}"
    ours = {"candidate_id": f"candidate_{number}", "session_id": session}
    return Relation(
        f"candidate_{number}", name, name, tuple(claims), pattern, "They differ.", {"varvite": ours}
    )


def source_bytes(root):
    """Every byte below the package but what locks and caches leave."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(Path(root).rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
