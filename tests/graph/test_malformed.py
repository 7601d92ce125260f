"""What is not of a known shape is refused whole, with the path of its fault."""

import contextlib
import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from varvite.errors import LimitError, MalformedInputError
from varvite.graph import landscape, payloads
from varvite.graph.payloads import Payload
from varvite.records.contracts import validate

SEARCH = {
    "code": 0,
    "trace_id": "t",
    "data": {
        "new_claim_likely": True,
        "papers": {"paper:1": {"id": "1", "doi": "10.1/x", "en_title": "T", "authors": "A | B"}},
        "variables": [
            {
                "id": "gcn_1",
                "type": "claim",
                "role": "premise",
                "content": "one",
                "content_hash": "00",
                "score": 0.5,
                "provenance": {
                    "representative_lcn": {"local_id": "paper:1::P1", "package_id": "paper:1"},
                    "source_packages": ["paper:1"],
                },
            },
            {"id": "gcn_2", "content": "two", "score": 1, "paper": {"en_title": "U"}},
        ],
    },
}
EVIDENCE = {
    "code": 0,
    "data": {
        "claim": {"id": "gcn_1", "content": "one"},
        "total_chains": 1,
        "evidence_chains": [
            {
                "source_package": "paper:1",
                "motivating_questions": [{"id": "q", "content": "why"}],
                "factors": [
                    {
                        "id": "gfac_1",
                        "factor_type": "strategy",
                        "premises": [{"id": "gcn_3", "content": "three"}],
                        "conclusion": {"id": "gcn_1", "content": "one"},
                        "steps": [{"step_id": "1", "reasoning": "because"}],
                    }
                ],
            }
        ],
        "papers": {},
    },
}
REASONING = {
    "code": 0,
    "data": {
        "reasoning_chains": [
            {
                "source_package": "paper:1",
                "graph": {
                    "nodes": [
                        {"id": "paper:1::P1", "global_id": "gcn_3", "type": "claim"},
                        {"id": "paper:1::P2", "type": "question", "content": "why"},
                        {"id": "gfac_2", "type": "factor", "steps": [{"reasoning": "so"}]},
                        {"id": "gcn_1", "type": "claim", "content": "one"},
                    ],
                    "edges": [
                        {"source": "paper:1::P1", "target": "gfac_2", "type": "premise"},
                        {"source": "paper:1::P2", "target": "gfac_2", "type": "subproblem_of"},
                        {"source": "gfac_2", "target": "gcn_1", "type": "concludes"},
                    ],
                },
            }
        ]
    },
}
FAILURE = {"code": 290001, "error": {"msg": "deadline", "title": ""}, "trace_id": "t"}
HITS = {
    "query": "q",
    "hits": [
        {"id": "gcn_1", "content": "one", "score": 1.5, "paper": {"id": "1", "title": "T"}},
        {"source_key": "arxiv:1", "package_ref": "ns:pkg::c", "rank": 4, "bucket_ids": ["b"]},
        {"content": "alone", "metadata": {"deep": [1, {"x": None}]}},
    ],
}
VALID = {
    "search": SEARCH,
    "evidence": EVIDENCE,
    "reasoning": REASONING,
    "failure": FAILURE,
    "hits": HITS,
}
MISSING = object()


def damaged(value, path, new):
    """A copy of `value` with the value at `path` replaced, or deleted."""
    value = copy.deepcopy(value)
    at = value
    for step in path[:-1]:
        at = at[step]
    if new is MISSING:
        del at[path[-1]]
    else:
        at[path[-1]] = new
    return value


def spelled(path):
    return "$" + "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in path)


def plan(raw):
    return landscape.plan([Payload(raw, "f.json")], lambda table, key: None)


DATA = ("data",)
VARIABLE = ("data", "variables", 0)
FACTOR = ("data", "evidence_chains", 0, "factors", 0)
GRAPH = ("data", "reasoning_chains", 0, "graph")
LONG = "x" * 201

CASES = [
    ("search", ("code",), MISSING, None),
    ("search", ("code",), None, None),
    ("search", ("code",), "0", None),
    ("search", ("code",), True, None),
    ("search", ("code",), 0.0, None),
    ("search", ("code",), 2**63, None),
    ("search", ("trace_id",), 7, None),
    ("search", DATA, MISSING, None),
    ("search", DATA, None, None),
    ("search", DATA, [], None),
    ("search", DATA, {}, None),
    ("search", DATA, {"claims": []}, None),
    ("search", ("data", "variables"), {}, None),
    ("search", ("data", "variables"), "none", None),
    ("search", ("data", "papers"), "none", None),
    ("search", ("data", "papers", "paper:1"), None, None),
    ("search", ("data", "papers", "paper:1"), [], None),
    ("search", ("data", "papers", "paper:1", "id"), "2", None),
    ("search", ("data", "papers", "paper:1", "doi"), 10.1, None),
    ("search", ("data", "papers", "paper:1", "authors"), ["A"], None),
    ("search", ("data", "papers"), [{"doi": "x"}], ("data", "papers", 0, "id")),
    ("search", VARIABLE, None, None),
    ("search", VARIABLE, "gcn_1", None),
    ("search", (*VARIABLE, "id"), MISSING, None),
    ("search", (*VARIABLE, "id"), None, None),
    ("search", (*VARIABLE, "id"), "", None),
    ("search", (*VARIABLE, "id"), 1, None),
    ("search", (*VARIABLE, "id"), LONG, None),
    ("search", (*VARIABLE, "id"), "a\nb", None),
    ("search", (*VARIABLE, "score"), "0.5", None),
    ("search", (*VARIABLE, "score"), False, None),
    ("search", (*VARIABLE, "score"), 10**400, None),
    ("search", (*VARIABLE, "content"), {"text": "one"}, None),
    ("search", (*VARIABLE, "type"), 1, None),
    ("search", (*VARIABLE, "provenance"), "paper:1", None),
    ("search", (*VARIABLE, "provenance", "representative_lcn"), "paper:1", None),
    ("search", (*VARIABLE, "provenance", "representative_lcn", "package_id"), 1, None),
    ("search", (*VARIABLE, "provenance", "source_packages"), "paper:1", None),
    ("search", (*VARIABLE, "provenance", "source_packages", 0), None, None),
    ("search", ("data", "variables", 1, "paper"), "U", None),
    ("evidence", ("data", "claim"), "gcn_1", None),
    ("evidence", ("data", "claim", "id"), MISSING, None),
    ("evidence", ("data", "evidence_chains"), {}, None),
    ("evidence", ("data", "evidence_chains", 0), [], None),
    ("evidence", ("data", "evidence_chains", 0, "source_package"), 1, None),
    ("evidence", ("data", "evidence_chains", 0, "motivating_questions", 0, "content"), 1, None),
    ("evidence", ("data", "evidence_chains", 0, "factors"), {}, None),
    ("evidence", (*FACTOR, "id"), MISSING, None),
    ("evidence", (*FACTOR, "premises"), "gcn_3", None),
    ("evidence", (*FACTOR, "premises", 0, "id"), MISSING, None),
    ("evidence", (*FACTOR, "conclusion"), MISSING, None),
    ("evidence", (*FACTOR, "conclusion", "id"), [], None),
    ("evidence", (*FACTOR, "steps", 0), "because", None),
    ("evidence", (*FACTOR, "steps", 0, "reasoning"), 1, None),
    ("reasoning", GRAPH, MISSING, None),
    ("reasoning", (*GRAPH, "nodes"), {}, None),
    ("reasoning", (*GRAPH, "nodes", 0, "id"), MISSING, None),
    ("reasoning", (*GRAPH, "nodes", 0, "global_id"), 3, None),
    ("reasoning", (*GRAPH, "nodes", 0, "type"), 3, None),
    ("reasoning", (*GRAPH, "edges", 0, "source"), "gone", None),
    ("reasoning", (*GRAPH, "edges", 0, "target"), MISSING, None),
    ("reasoning", (*GRAPH, "edges", 0, "type"), MISSING, None),
    ("failure", ("error",), ["deadline"], None),
    ("failure", ("error", "msg"), 1, None),
    ("hits", ("query",), 1, None),
    ("hits", ("hits",), {}, None),
    ("hits", ("hits", 0, "id"), "", None),
    ("hits", ("hits", 0, "content"), 1, None),
    ("hits", ("hits", 0, "paper", "title"), 1, None),
    ("hits", ("hits", 0, "score"), [], None),
    ("hits", ("hits", 0, "paper", "id"), MISSING, None),
    ("hits", ("hits", 1, "source_key"), 5, None),
    ("hits", ("hits", 1, "package_ref"), 5, None),
    ("hits", ("hits", 1, "rank"), 0, None),
    ("hits", ("hits", 1, "rank"), 1.5, None),
    ("hits", ("hits", 1, "bucket_ids"), "b", None),
    ("hits", ("hits", 1, "bucket_ids", 0), 1, None),
    ("hits", ("hits", 2, "content"), MISSING, ("hits", 2)),
    ("hits", ("hits", 2, "content"), "", ("hits", 2)),
    ("hits", ("hits", 2, "metadata"), [], None),
    ("hits", ("hits", 2, "metadata", "deep", 0), 2**64, None),
]


@pytest.mark.parametrize(("shape", "path", "new", "fault"), CASES)
def test_a_wrong_value_refuses_the_payload_with_its_path(shape, path, new, fault):
    raw = json.dumps(damaged(VALID[shape], path, new))

    with pytest.raises(MalformedInputError) as caught:
        plan(raw)

    assert caught.value.path == spelled(fault or path)
    assert caught.value.file == "f.json"


@pytest.mark.parametrize("value", [[], "x", 1, None, True])
def test_a_payload_that_is_no_object_is_refused(value):
    with pytest.raises(MalformedInputError) as caught:
        plan(json.dumps(value))

    assert caught.value.path == "$"


@pytest.mark.parametrize(
    ("raw", "offset"),
    [
        ("", 100),
        ('{"code": 0', 110),
        ('{"code": NaN}', 100),
        ('{"code": 0, "code": 1}', 100),
        ('{"code": 0} x', 112),
    ],
)
def test_a_text_that_is_no_json_is_refused_with_its_offset_in_the_file(raw, offset):
    with pytest.raises(MalformedInputError) as caught:
        payloads.read(Payload(raw, "f.ndjson", line=3, offset=100))

    assert (caught.value.file, caught.value.line) == ("f.ndjson", 3)
    assert caught.value.offset == offset


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        (
            '{"code": 0, "data": {"variables": [{"id": "a", "content": "\\ud800"}]}}',
            "$.data.variables[0].content",
        ),
        ('{"code": 0, "data": {"papers": {}}, "other": ["\\uDFFF"]}', "$.other[0]"),
        (
            '{"code": 0, "data": {"variables": [{"id": "a", "score": 1e999}]}}',
            "$.data.variables[0].score",
        ),
        ('{"code": 0, "x": "\ud800"}', "$"),
    ],
)
def test_what_has_no_utf8_form_or_is_not_finite_is_refused(raw, path):
    with pytest.raises(MalformedInputError) as caught:
        plan(raw)

    assert caught.value.path == path


def test_paired_surrogate_escapes_are_text_like_any_other():
    made = plan('{"code": 0, "data": {"variables": [{"id": "a", "content": "\\ud83d\\ude00"}]}}')

    assert made.records[1]["content"] == "\N{GRINNING FACE}"


def test_nothing_of_a_batch_is_kept_where_one_payload_is_malformed(graphs, make):
    good = make.payload(make.search(make.variable("gcn_1")))
    bad = make.payload(make.search(make.variable(None)), "b.json")

    with graphs.new() as session:
        with pytest.raises(MalformedInputError):
            session.submit([good, bad])

        assert session.cursor == 0
        assert session.submit([good]).new == 1


@pytest.mark.parametrize("shape", VALID)
def test_the_undamaged_shapes_are_taken_and_make_valid_records(shape):
    made = plan(json.dumps(VALID[shape]))

    for record in made.records:
        validate(record["stream"], [record])
    assert made.counts["responses"] == 1


def places(value, path=()):
    """The path of every value inside `value`."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for step, item in inner:
        yield (*path, step)
        if isinstance(item, dict | list):
            yield from places(item, (*path, step))


WRONG = st.one_of(
    st.just(MISSING),
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_a_damaged_payload_is_taken_or_refused_and_nothing_else(data):
    value = copy.deepcopy(VALID[data.draw(st.sampled_from(sorted(VALID)))])
    for _ in range(data.draw(st.integers(1, 3))):
        paths = list(places(value))
        if paths:
            value = damaged(value, data.draw(st.sampled_from(paths)), data.draw(WRONG))

    try:
        made = plan(json.dumps(value))
    except MalformedInputError:
        return

    for record in made.records:
        validate(record["stream"], [record])


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_cut_or_overwritten_text_is_taken_or_refused_and_nothing_else(data):
    raw = json.dumps(VALID[data.draw(st.sampled_from(sorted(VALID)))])
    begin = data.draw(st.integers(0, len(raw)))
    end = data.draw(st.integers(begin, min(len(raw), begin + 5)))

    text = raw[:begin] + data.draw(st.text(max_size=3)) + raw[end:]

    with contextlib.suppress(MalformedInputError):
        plan(text)


def test_a_response_that_is_no_record_is_refused_with_the_remedy(graphs, make):
    big = make.payload(make.search(make.variable("gcn_1", content="x" * (1 << 20))))

    with graphs.new() as session, pytest.raises(LimitError) as caught:
        session.submit([big])

    assert "fewer hits" in caught.value.hint
