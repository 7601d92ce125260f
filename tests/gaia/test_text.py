"""What is written and read as text, with no Gaia to ask."""

import ast
import re
import sys
from pathlib import Path

import pytest

from varvite.errors import InputError
from varvite.gaia import find as finding
from varvite.gaia.inprocess import InProcess
from varvite.gaia.live import dependencies, statements
from varvite.gaia.live.building import TRIES_MAX, sift
from varvite.gaia.live.faults import Fault, is_ours
from varvite.gaia.none import Without
from varvite.gaia.worker import Worker
from varvite.graph.port import GATE_UNAVAILABLE

HEAD = '[project]\nname = "a-gaia"\ndependencies = ["b-gaia"]\n'
TAIL = "\n[tool.gaia]\ntype = 'x' # kept\n"


def test_every_code_that_we_give_is_documented():
    root = Path(__file__).parents[2]
    source = "".join(path.read_text() for path in (root / "src/varvite/gaia").rglob("*.py"))
    page = (root / "docs/graph-gaia.md").read_text()

    given = set(re.findall(r'(?:Fault|refuse|Failure)\(\s*"(\w+)"', source))
    given |= set(re.findall(r'"code": "(\w+)"', source)) | {
        "not_compiled",
        "uv_missing",
        "state_newer",
    }
    table = re.findall(r"^\| ([\w, ]+) \| (yes|no) \|", page, re.MULTILINE)
    documented = {code for codes, _ in table for code in codes.split(", ")}
    assert documented | {"build_check"} == given | {"state_malformed", "uv_failed", "build_check"}


def test_a_workspace_member_becomes_a_path_source_and_all_else_stays():
    given = (
        HEAD + '\n[tool.uv.workspace]\nmembers = [\n    "sub/b-gaia",\n]\n'
        "\n[tool.uv.sources]\nb-gaia = { workspace = true, editable = true }\n" + TAIL
    )

    made = dependencies.as_path_source(given, "b-gaia", "sub/b-gaia")

    assert made == (
        HEAD + '\n[tool.uv.sources]\nb-gaia = { path = "sub/b-gaia", editable = true }\n' + TAIL
    )


@pytest.mark.parametrize(
    ("members", "left"),
    [
        ('members = ["sub/b-gaia", "other"]', 'members = ["other"]'),
        ('members = ["other", "sub/b-gaia"]', 'members = ["other", ]'),
        ('members = [\n    "other",\n    "sub/b-gaia",\n]', 'members = [\n    "other",\n]'),
    ],
)
def test_other_workspace_members_are_kept(members, left):
    given = (
        f"[tool.uv.workspace]\n{members}\n\n[tool.uv.sources]\nb-gaia = {{ workspace = true }}\n"
    )

    made = dependencies.as_path_source(given, "b-gaia", "sub/b-gaia")

    assert made.startswith(f"[tool.uv.workspace]\n{left}\n")
    assert 'b-gaia = { path = "sub/b-gaia", editable = true }' in made


@pytest.mark.parametrize(
    "text", ["a", "'", '"', "'''\"\"\"", "\\", "a\nb\r\n\t", "μ😀", "[@key] @key \\@key a@b.c"]
)
def test_any_text_is_written_as_a_literal_that_reads_back(text):
    made = statements.knowledge("n", "claim", text, text, {"a": [text, None, 1.5]})

    call = ast.parse(made).body[0].value
    assert ast.literal_eval(call.args[0]) == statements.escaped(text)
    assert ast.literal_eval(call.keywords[1].value) == {"a": [text, None, 1.5]}


def test_escaping_leaves_addresses_and_what_is_escaped_alone():
    assert statements.escaped("a@b.c \\@k @k [see @k; @l]") == "a@b.c \\@k \\@k [see \\@k; \\@l]"


def test_statements_are_read_back_with_what_made_them():
    source = (
        b"from other import c as d\n"
        b'a = claim("text", metadata={"k": 1})\n'
        b"b: object = contradict(a, d, label='l')\n"
        b"materialize(b, by=['l'], label='m')\n"
        b"def f(): ...\n"
    )

    found = statements.bound(source, "pkg.mod")

    assert list(found) == ["d", "a", "b", "<materialize:m>", "f"]
    assert found["d"].imported == ("other", "c")
    assert (found["a"].call, found["a"].metadata) == ("claim", {"k": 1})
    assert (found["b"].call, found["b"].label) == ("contradict", "l")


def test_a_module_that_is_no_python_is_a_broken_package():
    with pytest.raises(Fault) as caught:
        statements.bound(b"def (", "pkg.mod")

    assert (caught.value.code, caught.value.retryable) == ("package_broken", True)


@pytest.mark.parametrize("bad", [set(), {0}, {7}, {3, 4}, set(range(8)), {1, 2, 5, 6}])
def test_sifting_keeps_all_that_builds_and_leaves_it_written(bad):
    written = []

    def attempt(items):
        written[:] = items
        return [{"code": "c", "message": f"{one}"} for one in items if one in bad]

    good, refused = sift(range(8), attempt)

    assert good == written == [one for one in range(8) if one not in bad]
    assert [(one, fault.message) for one, fault in refused] == [
        (one, f"{one}") for one in sorted(bad)
    ]


def test_sifting_gives_up_after_a_bounded_number_of_builds():
    tries = []

    def attempt(items):
        tries.append(1)
        return [{"code": "c", "message": "no"}] if items else []

    good, refused = sift(range(1000), attempt)

    assert good == []
    assert len(refused) == 1000
    assert {fault.code for _, fault in refused} == {"c", "not_tried"}
    assert len(tries) <= TRIES_MAX + 2


def test_ids_decide_whether_metadata_is_ours():
    given = {"varvite": {"node_id": "n", "session": "s", "seq": 4}}

    assert is_ours({"varvite": {"node_id": "n", "session": "s", "seq": 5}}, given)
    assert not is_ours({"varvite": {"node_id": "n", "session": "t"}}, given)
    assert not is_ours({"varvite": "n"}, given)
    assert not is_ours(None, given)


def test_an_interpreter_that_is_named_is_asked_through_a_worker(monkeypatch):
    monkeypatch.setenv(finding.PYTHON, "/somewhere/python")

    found = finding.find(owner="s1", open_max=9)

    assert isinstance(found, Worker)
    assert (found.python, found.owner, found.open_max, found.starts) == (
        "/somewhere/python",
        "s1",
        9,
        0,
    )


def test_gaia_in_this_interpreter_is_asked_here(monkeypatch):
    monkeypatch.delenv(finding.PYTHON, raising=False)
    monkeypatch.setattr(finding, "has_gaia", lambda: True)

    assert isinstance(finding.find(), InProcess)


@pytest.mark.parametrize(
    ("version", "installed", "code"),
    [
        ((3, 11), None, "python_too_old"),
        ((3, 12), None, "gaia_missing"),
        ((3, 12), "0.4.4", "gaia_too_old"),
    ],
)
def test_without_gaia_the_gate_is_closed_and_a_probe_says_why(
    monkeypatch, version, installed, code
):
    monkeypatch.delenv(finding.PYTHON, raising=False)
    monkeypatch.setattr(finding, "has_gaia", lambda: False)
    monkeypatch.setattr(sys, "version_info", (*version, 0, "final", 0))
    monkeypatch.setattr(finding.probing, "installed", lambda: installed)

    found = finding.find()

    assert isinstance(found, Without)
    assert found.probe().failure.code == code
    assert found.add_package("x").failure.code == GATE_UNAVAILABLE
    assert found.add_package("x").failure.message == found.probe().failure.message


def test_a_worker_needs_an_interpreter(monkeypatch):
    monkeypatch.delenv(finding.PYTHON, raising=False)

    with pytest.raises(InputError):
        finding.find("worker")


def test_gaia_can_be_turned_off(monkeypatch):
    monkeypatch.setenv(finding.PYTHON, "/somewhere/python")

    assert finding.find("none").probe().failure.code == "gaia_off"
