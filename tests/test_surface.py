"""The public names, and the tree of errors."""

import re
import subprocess
import sys

import varvite
from varvite import errors

HEAVY = ("duckdb", "pyarrow", "polars", "pydantic", "rocksdict", "click")


def classes(root=errors.VarviteError, depth=0):
    yield depth, root
    for child in root.__subclasses__():
        yield from classes(child, depth + 1)


def test_every_public_name_is_listed_has_a_home_and_is_there():
    homes = set(varvite._HOMES) | {"VarviteError"}

    assert set(varvite.__all__) == homes
    assert varvite.__all__ == sorted(varvite.__all__)
    assert all(getattr(varvite, name) is not None for name in varvite.__all__)


def test_importing_the_package_loads_nothing_heavy():
    asked = f"import sys, varvite; print([name for name in {HEAVY} if name in sys.modules])"

    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_the_tree_of_errors_is_as_it_is_drawn():
    drawn = re.findall(r"^    ([│├└─ ]*)(\w+Error)\b", errors.__doc__, re.MULTILINE)

    assert [(len(lead) // 4, name) for lead, name in drawn] == [
        (depth, one.__name__) for depth, one in classes()
    ]


def test_every_error_has_a_code_of_its_own_and_the_exit_code_of_its_group():
    codes = [one.code for _, one in classes()]
    groups = {one: one.exit_code for one in errors.VarviteError.__subclasses__()}

    assert len(codes) == len(set(codes))
    for group, exit_code in groups.items():
        assert {one.exit_code for _, one in classes(group)} == {exit_code}
    assert sorted(groups.values()) == [1, 2, 3, 4, 5, 6, 7, 8, 9]
