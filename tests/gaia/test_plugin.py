"""`gaia session`, where Gaia and this package are installed together."""

import json
import subprocess

from gaia_environments import Cli
from gaia_making import node, source_bytes

import varvite
from varvite.graph.payloads import from_hits

HITS = [{"id": f"v{number}", "content": f"Body {number} floats."} for number in range(3)]


def sessions_in(package):
    store = varvite.open(package / ".gaia/research/sessions")
    with store.graph("floating", create=True, title="What floats") as session:
        session.submit([from_hits(HITS)])
    return store


def test_the_command_line_of_gaia_has_a_group_for_sessions(both_python):
    gaia = Cli(both_python)

    root, group = gaia("--help"), gaia("session", "--help")

    assert " session " in root.stdout
    assert (group.returncode, "status" in group.stdout) == (0, True), group.stderr


def test_gaia_session_status_shows_the_sessions_of_a_package(both_python, package):
    gaia = Cli(both_python)

    empty = gaia("session", "status", "--path", str(package))
    sessions_in(package)
    found = gaia("session", "status", cwd=package)

    assert (empty.returncode, empty.stdout.startswith("no sessions in ")) == (0, True)
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith("floating (graph) cursor ")
    assert "nodes 3" in found.stdout


def test_gaia_starts_without_loading_what_sessions_need(both_python):
    code = "import sys, gaia.cli.main; print([n for n in sys.modules if n.split('.')[0] in {'duckdb', 'polars', 'pyarrow', 'rocksdict'}])"

    done = subprocess.run([both_python, "-c", code], capture_output=True, text=True, check=False)

    assert done.stdout == "[]\n", done.stderr


def test_the_same_port_works_inside_the_interpreter_that_has_both(both_python, package):
    code = (
        "import json, sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from gaia_making import node, relation\n"
        "from varvite.gaia.find import find\n"
        "from varvite.graph.port import Promotion, OpenObligation\n"
        "port = find(owner='s1')\n"
        "port.open_package(sys.argv[2])\n"
        "before = set(sys.path)\n"
        "refs = [o.result['package_ref'] for o in port.add_source_shard('s1-0001', [node(0), node(1)])]\n"
        "port.sync_obligations([OpenObligation('o1', refs[0], 'Show.', 'other')], [])\n"
        "candidate = relation(1, refs)\n"
        "written = port.write_candidates([candidate])\n"
        "gate = port.promote(Promotion('d1', candidate, 'contradict', 'pr_1', 'Read.'))\n"
        "left = [n for n in sys.modules if n.split('.')[0] in {'field', 's1_0001'}]\n"
        "print(json.dumps([type(port).__name__, port.probe().version, gate.outcome, left,"
        " sorted(set(sys.path) - before), port.check().operators]))\n"
    )
    here = str(__file__).rpartition("/")[0]

    done = subprocess.run(
        [both_python, "-c", code, here, str(package)],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["InProcess", "0.5.0a9", "applied", [], [], 1]


def test_a_store_inside_a_package_does_not_disturb_gaia(port, package, gaia):
    made = port.add_source_shard("s1-0001", [node(0), node(1)])
    (package / "src/field/mine.py").write_text(
        "from gaia.engine.lang import claim\n\nmine = claim('Mine.')\n"
    )
    compiled = gaia("build", "compile", str(package))
    alone = source_bytes(package)

    store = sessions_in(package)
    store.compact()
    with store.graph("other", create=True):
        pass
    store.delete("other")
    kept = {
        name for name in source_bytes(package) if not name.startswith(".gaia/research/sessions/")
    }
    checked = gaia("build", "check", str(package))
    review = gaia("inquiry", "review", "--no-infer", "--json", str(package))
    again = gaia("build", "compile", str(package))
    rows = store.sql("select count(*) from nodes").rows()

    after = source_bytes(package)
    sessions = package / ".gaia/research/sessions"
    assert made[0].failure is None
    assert {path.name for path in sessions.iterdir()} >= {"_lake", "_trash", "floating"}
    assert [one.returncode for one in (compiled, checked, review, again)] == [0, 0, 0, 0], (
        review.stderr
    )
    assert kept == set(alone)
    assert after[".gaia/ir_hash"] == alone[".gaia/ir_hash"]
    assert rows == [(3,)]
