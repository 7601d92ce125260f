import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from gaia_environments import OLD, ROOT, VERSION, Cli, make

from varvite.gaia.worker import Worker


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
