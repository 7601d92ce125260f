"""How much a whole process holds that finds communities in a large session."""

import json
import subprocess
import sys

import pytest

import varvite
from varvite.testing import clustered

LIMIT_BYTES = 2 << 30
LINKS_PER_NODE = 5
SIZES = [
    2_000,
    pytest.param(1_000_000, marks=[pytest.mark.slow, pytest.mark.timeout(3600)]),
]
METHODS = [
    ("method=components",),
    ("method=components", "components=sql"),
    pytest.param(("method=leiden",), marks=pytest.mark.extras),
]


@pytest.fixture(scope="module", params=SIZES)
def large(request, tmp_path_factory):
    store = varvite.open(tmp_path_factory.mktemp("large"))
    clustered.lay(store, "s", request.param, LINKS_PER_NODE * request.param)
    store.compact()
    return request.param, store.path


@pytest.mark.parametrize("method", METHODS, ids=" ".join)
def test_it_stays_below_two_gigabytes(large, method, record_property):
    nodes, path = large
    command = [sys.executable, "-m", "varvite.testing.clustered", path, "s", "1024", *method]

    done = subprocess.run(command, check=True, capture_output=True)

    found = json.loads(done.stdout)
    record_property("found", found)
    results = found["results"]
    assert results["variables"] == nodes
    assert 0.9 * LINKS_PER_NODE * nodes < results["links"] <= LINKS_PER_NODE * nodes
    assert f"method={results['method']}" == method[0]
    assert found["peak"] < LIMIT_BYTES
