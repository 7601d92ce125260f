"""The checkpoint `narrative`: a report of the field, from the records alone."""

import html
import json
import re
from collections import Counter

import pytest
from click.testing import CliRunner

import varvite
from varvite.adapters.growth import GrowthLog
from varvite.checkpoints import narrative
from varvite.cli.main import cli
from varvite.graph import payloads
from varvite.testing import mixed, worked
from varvite.testing.worked import latest

OPEN = ("candidate", "accepted")


def found(store, session="s", **options):
    (ran,) = store.checkpoint("narrative", session, **options)
    return ran


def real(shared, tmp_path):
    """The real session with its growth, as it was replayed, in four buckets."""
    data = shared / "data/gaia"
    by_file = {
        one.file: one for one in payloads.in_file(str(data / "twodheg__lkm_payloads.ndjson"))
    }
    store = varvite.open(tmp_path / "store")
    with store.graph("s", create=True, level="fast") as session:
        for label in ("effective mass", "spin susceptibility", "Monte Carlo", "gallium arsenide"):
            session.open_bucket(label, terms=[label])
        for line in (data / "twodheg__retrieval_log.jsonl").read_text().splitlines():
            event = json.loads(line)
            one = by_file[f"artifacts/lkm-discovery/{event['raw_output']}"]
            session.submit([one._replace(query=event["request"].get("text"))])
        session.import_growth(GrowthLog(str(data / "twodheg__graph_growth_log.jsonl")))
    return store


def plain_counts(store):
    """Every figure of `counts`, counted from the journal."""
    streams = ("nodes", "edges", "frontier", "buckets", "focuses", "obligations", "packets")
    streams += ("candidates", "decisions", "repair_contexts", "projections", "memberships")
    of = {stream: latest(store, stream) for stream in streams}
    sightings, events = latest(store, "sightings"), latest(store, "events")
    steps = sum(one["type"] == "batch.submitted" for one in events)
    counts = {
        "nodes": Counter(one["node_kind"] for one in of["nodes"]),
        "edges": Counter(one["edge_kind"] for one in of["edges"] if one["status"] == "active"),
        "calls": Counter(one["status"] for one in of["frontier"]),
        "nodes placed": Counter(one["state"] for one in of["memberships"]),
        "parts of the field": Counter(one["coverage_status"] for one in of["buckets"]),
        "decisions": Counter(f"{one['action']} {one['outcome']}" for one in of["decisions"]),
        "projections": Counter(one["state"] for one in of["projections"]),
        "variables met": {"in results": len({one["node_id"] for one in sightings})},
        "appearances": {"in results": len(sightings)},
        "steps": {"submitted": steps},
    }
    named = {"relations": "candidates", "repair contexts": "repair_contexts"}
    for what in ("focuses", "obligations", "packets", "relations", "repair contexts"):
        counts[what] = Counter(one["status"] for one in of[named.get(what, what)])
    return {what: dict(kinds) for what, kinds in counts.items() if kinds}


def plain_lists(store):
    """The ids and figures of every list, whole and in order, found the plain way."""
    seen = {}
    for one in latest(store, "sightings"):
        times, best = seen.get(one["node_id"], (0, one["rank"]))
        seen[one["node_id"]] = (times + 1, min(best, one["rank"]))
    focuses = [one for one in latest(store, "focuses") if one["status"] in OPEN]
    obligations = [one for one in latest(store, "obligations") if one["status"] == "open"]
    calls = latest(store, "frontier")
    done = {}
    for one in calls:
        if one["status"] == "done" and one.get("dedup_key"):
            done[one["dedup_key"]] = max(done.get(one["dedup_key"], 0), one["seq"])
    coverage = ("missing", "thin", "partial", "covered", "out_of_scope")
    return {
        "parts": [
            (one["id"], one["coverage_status"], one["nodes"], one["papers"], one["claims"])
            for one in sorted(
                latest(store, "buckets"),
                key=lambda one: (coverage.index(one["coverage_status"]), one["id"]),
            )
        ],
        "seen": sorted(
            ((one, *figures) for one, figures in seen.items()),
            key=lambda one: (-one[1], one[2], one[0]),
        ),
        "questions": [
            (one["id"], one["score"], one["open_obligations"])
            for one in sorted(focuses, key=lambda one: (-one["score"], one["id"]))
        ],
        "unanswered": sorted(
            ((one["id"], one["overdue"]) for one in obligations), key=lambda one: (-one[1], one[0])
        ),
        "failures": sorted(
            (one["id"], one["code"])
            for one in calls
            if one["status"] == "failed" and done.get(one.get("dedup_key"), 0) < one["seq"]
        ),
        "relations": {
            status: [
                (one["id"], one["relation_type"], tuple(one["claim_refs"]), one.get("decision_id"))
                for one in sorted(latest(store, "candidates"), key=lambda one: -one["seq"])
                if one["status"] == status
            ]
            for status in {one["status"] for one in latest(store, "candidates")}
        },
    }


COUNTS = re.compile(r"- ([a-z ]+): (.+)")
TOLD = re.compile(r"(\d+) of (\d+); table `(\w+)`, by `narrative_(\w+)`\.")
CELLS = {
    "parts": (0, 3, 4, 5, 6),
    "seen": (0, 1, 2),
    "questions": (0, 1, 5),
}
ITEMS = {
    "unanswered": re.compile(r"- `(\w+)` on \w+ `.+?`, overdue (\d+): .*"),
    "failures": re.compile(r"- `(\w+)` \w+, code (\d+): .*"),
    "relations": re.compile(r"- `(\w+)` (\w+)(?: of ((?:`\w+`(?:, )?)+))?: .*?(?:\(`(decision_\w+)` .*\))?"),
}  # fmt: skip


def value(text):
    text = text.strip("`")
    return (
        int(text) if text.isdigit() else float(text) if re.fullmatch(r"-?\d+\.\d+", text) else text
    )


def read(report):
    """What a report says: counts, lists, and how many of all each list shows.

    A line of it that is none of these is an error.
    """
    counts, lists, told = {}, {}, {}
    name = status = None
    lines = report.splitlines()
    assert re.fullmatch(r"# `s` as of cursor \d+", lines[0])
    for line in lines[4:]:
        cells = re.split(r"(?<!\\)\|", line)[1:-1]
        if heading := re.fullmatch(r"## (?:Relations: )?(.+)", line):
            status = heading[1]
        elif match := TOLD.fullmatch(line):
            assert match[3] == match[4]
            name = match[3]
            told[name, status] = (int(match[1]), int(match[2]))
            lists.setdefault(name, {})[status] = []
        elif name in CELLS and cells:
            if cells[0].strip(" -") not in {"", "id"}:
                picked = [cells[at].strip() for at in CELLS[name]]
                lists[name][status].append(tuple(value(one) for one in picked))
        elif name == "relations" and line:
            one = ITEMS[name].fullmatch(line)
            claims = tuple(re.findall(r"\w+", one[3] or ""))
            lists[name][status].append((one[1], one[2], claims, one[4]))
        elif name in ITEMS and line:
            lists[name][status].append(tuple(map(value, ITEMS[name].fullmatch(line).groups())))
        elif name is None and (match := COUNTS.fullmatch(line)):
            figures = (one.split(" ", 1) for one in match[2].split(", "))
            counts[match[1]] = {kind: int(number) for number, kind in figures}
        else:
            assert line in {"", "Table `counts`, by `narrative_counts`."}, line
    return counts, lists, told


def check(store, ran, most):
    counts, lists, told = read(ran.answers.text("report"))
    assert counts == plain_counts(store)
    want = plain_lists(store)
    for name, whole in want.items():
        by_status = whole if name == "relations" else {None: whole}
        got = lists.get(name, {})
        if name != "relations":
            got = {None: next(iter(got.values()), [])}
        cut = len(whole) if name == "parts" else most
        assert got == {one: rows[:cut] for one, rows in by_status.items()}, name
        for status, rows in by_status.items():
            if rows:
                (figures,) = [
                    figures
                    for (of, section), figures in told.items()
                    if of == name and status in {None, section}
                ]
                assert figures == (min(cut, len(rows)), len(rows)), name


@pytest.mark.parametrize(("seed", "most"), [(1, 20), (2, 3)])
def test_every_figure_is_that_of_the_plain_way(tmp_path, seed, most):
    store = worked.fill(varvite.open(tmp_path / "store"), seed)
    store.compact()

    check(store, found(store, parameters={"most": most}), most)


def test_every_figure_of_a_real_session_is_that_of_the_plain_way(shared, tmp_path):
    store = real(shared, tmp_path)

    ran = found(store)

    check(store, ran, 20)
    counts, lists, _ = read(ran.answers.text("report"))
    assert counts["variables met"] == {"in results": 562}
    assert counts["calls"]["failed"] == 54
    assert counts["nodes"]["paper"] == 405
    assert sum(counts["relations"].values()) == 24
    assert len(lists["relations"]["demoted"]) == 1


def test_the_same_records_give_the_same_bytes_compacted_or_not(tmp_path):
    one, other = (worked.fill(varvite.open(tmp_path / name)) for name in ("one", "other"))
    other.compact()

    texts = [found(store).answers.text("report") for store in (one, other)]

    assert texts[0] == texts[1]


TEXTS = [
    "a | b",
    "`code` and *stars* and _under_ ~~gone~~",
    "<script>alert(1)</script> &amp; <b>",
    "[link](http://x) ![image](y) https://x.org www.x.org me@x.org @someone",
    "line\nbreak\r\n\n# heading\t| cell |",
    "\u202eright to left\u2066 \x1b[31mred\x07",
    "\\` back\\slash \\|",
    "$x_1$ a_b snake_case __init__",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_of_a_record_is_nothing_but_text(text):
    made = narrative.escaped(text)

    hidden = re.compile(r"[\x00-\x1f\x7f\u2028-\u202e\u2066-\u2069]")
    assert not hidden.search(made)
    assert not re.search(r"(?<!\\)(?:\\\\)*(?<!\\)[|`*\[\]~$@<>]", made)
    assert not re.search(r"https?://|www\.", made)
    bare = html.unescape(re.sub(r"\\(.)", r"\1", made))
    assert bare == " ".join(hidden.sub(" ", text).split())


def test_a_long_text_is_cut_and_says_so():
    assert narrative.escaped("x" * 200) == "x" * 200
    assert narrative.escaped("x" * 201) == "x" * 199 + "…"


@pytest.mark.parametrize(
    ("text", "shown"),
    [("node_1", "`node_1`"), ("a`b", r"a\`b"), ("a|b", r"a\|b"), ("ü x", "`ü x`")],
)
def test_an_id_is_code_unless_it_would_end_it(text, shown):
    assert narrative.identity(text) == shown


@pytest.mark.parametrize(
    ("statuses", "told"),
    [
        (["failed", "done"], []),
        (["done", "failed"], ["call_1"]),
        (["failed", "failed"], ["call_0", "call_1"]),
    ],
)
def test_a_call_that_a_later_one_made_good_is_no_failure(tmp_path, statuses, told):
    store = varvite.open(tmp_path / "store")
    store.graph("s", create=True).close()
    call = {"stream": "frontier", "item_kind": "query", "dedup_key": "k", "attempt": 1}
    for number, status in enumerate(statuses):
        mixed.append(store, "s", [call | {"id": f"call_{number}", "status": status, "code": 1}])

    ran = found(store)

    assert [row["call_id"] for row in ran.answers.table("failures").to_pylist()] == told


def test_odd_records_break_no_line_of_a_report(tmp_path):
    store = varvite.open(tmp_path / "store")
    mixed.fill(store)

    for session in ("search", "odd"):
        report = found(store, session).answers.text("report")

        assert "<" not in report
        rows = [line for line in report.splitlines() if line.startswith("|")]
        widths = {len(re.split(r"(?<!\\)\|", line)) for line in rows}
        assert widths <= {6, 9, 10}


def test_of_nothing_it_says_nothing(tmp_path):
    store = varvite.open(tmp_path / "store")
    store.graph("s", create=True).close()

    report = found(store).answers.text("report")

    assert read(report)[1:] == ({}, {})
    assert [one for one in report.splitlines() if one.startswith("- ")] == [
        "- appearances: 0 in results",
        "- steps: 0 submitted",
        "- variables met: 0 in results",
    ]


def test_the_command_shows_the_report_as_it_is(tmp_path):
    store = worked.fill(varvite.open(tmp_path / "store"), steps=3)
    text = found(store).answers.text("report")
    command = [
        "--store",
        store.path,
        "checkpoint",
        "narrative",
        "--session",
        "s",
        "--show",
        "report",
    ]

    as_text = CliRunner().invoke(cli, command)
    as_json = CliRunner().invoke(cli, [*command, "--format", "json"])

    assert as_text.output == text
    assert json.loads(as_json.output) == [{"session_id": "s", "report": text}]
