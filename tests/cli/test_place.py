import pytest

from varvite.cli.place import default_store


def test_the_variable_names_the_store(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.gaia]\n")

    assert default_store(str(tmp_path), {"VARVITE_STORE": "/somewhere"}) == "/somewhere"


def test_the_nearest_gaia_package_upward_has_the_store(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("[tool.gaia]\n")
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'gaia-less'\n")

    found = default_store(str(tmp_path / "a" / "b"), {})

    assert found == str(tmp_path / ".gaia" / "research" / "sessions")


@pytest.mark.parametrize(
    "text", [b"", b"[tool.gaia", b"tool = 'gaia'", b"[project]\nname='gaia'", b"\xff gaia"]
)
def test_a_project_file_that_does_not_name_gaia_is_passed_over(tmp_path, text):
    (tmp_path / "pyproject.toml").write_bytes(text)

    assert default_store(str(tmp_path), {}) == str(tmp_path / ".varvite")
