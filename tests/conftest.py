import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Time decides nothing: machines are shared. A run of CI is the same run every time.
settings.register_profile(
    "tests",
    deadline=None,
    derandomize="CI" in os.environ,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tests")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Remember verified segments in a folder of this run, its child processes too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def shared():
    """The folder of real logs and payloads that may lie beside the checkout."""
    folder = Path(__file__).parents[1].parent / "shared"
    if not folder.is_dir():
        pytest.skip("no folder of real data beside the checkout")
    return folder
