"""Each vector has the one test that shows it."""

import ast
from collections import Counter
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def claims():
    """The groups that tests show, read from their marks."""
    for path in HERE.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            named = isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.vectors"
            if named and not node.keywords:
                yield ast.literal_eval(node.args[0])


@pytest.fixture
def groups(known_vectors):
    return {name: group for name, group in known_vectors.items() if name != "_meta"}


def test_each_group_is_shown_by_one_test(groups):
    assert Counter(claims()) == dict.fromkeys(groups, 1)


def test_each_vector_is_of_one_group_and_none_is_left_out(groups, known_vectors):
    names = [vector["id"] for group in groups.values() for vector in group]

    assert len(set(names)) == len(names) == known_vectors["_meta"]["total"]
    for name, group in groups.items():
        assert {vector["id"].rsplit("-", 1)[0] for vector in group} == {name}
