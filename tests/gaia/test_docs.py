"""The part of docs/graph.md's story that needs Gaia."""

import shutil

from tests.docs.test_docs_graph import play


def test_the_life_of_one_hit_goes_on_into_gaia(scaffold, gaia_python, tmp_path):
    package = tmp_path / "spin-gaia"
    shutil.copytree(scaffold, package)

    play(tmp_path)
    play(tmp_path, gaia=True, GAIA_PYTHON=str(gaia_python))
