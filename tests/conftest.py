from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared():
    """The folder of real logs and payloads that may lie beside the checkout."""
    folder = Path(__file__).parents[1].parent / "shared"
    if not folder.is_dir():
        pytest.skip("no folder of real data beside the checkout")
    return folder
