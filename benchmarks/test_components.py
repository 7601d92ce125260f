"""Components beside scipy's at a tiny size, so that the benchmark does not rot."""

import pytest

from benchmarks import components


@pytest.mark.extras
def test_components_are_those_of_scipy_and_have_their_rows(benchmark):
    found = benchmark.pedantic(lambda: components.main(["--nodes", "3000", "--rounds", "1"]))

    assert [row.what for row in found] == ["components, random links", "components, paths"]
    assert found[1].facts["components"] == 3
