import pytest

from varvite.errors import CorruptError, RecordNotFoundError
from varvite.graph import contents


@pytest.fixture
def session(graphs, make):
    """Nodes of very different lengths, some of them revised."""
    with graphs.new() as session:
        for n in range(60):
            content = "x" * (1 + (n * 7919) % 9_000)
            session.submit([make.hits(f"gcn_{n}", buckets=[], content=content)])
        yield session


def test_every_node_is_found_whole_by_its_id(graphs, session):
    nodes = graphs.latest("nodes")

    assert session.nodes(nodes) == list(nodes.values())
    assert session.nodes([]) == []


def test_the_latest_revision_is_found(graphs, session):
    (own,) = [one for one in graphs.latest("nodes").values() if one["source_key"].endswith("_7")]
    revised = {"node_kind": "variable", "content": "another", "projection": "applied"}
    session.act(lambda batch: batch.add("nodes", own["id"], revised))

    assert session.nodes([own["id"]])[0]["content"] == "another"


def test_finding_one_reads_a_few_pages_of_a_large_file(graphs, session):
    own = graphs.records()["nodes"][30]["id"]
    files = session._writer.folder.files
    before = files.io.copy()

    session.nodes([own])

    assert files.io.since(before)["bytes_read"] < 12 * (contents.PAGE_BYTES + 9_000)


def test_what_there_is_not_is_missed(session):
    with pytest.raises(RecordNotFoundError):
        session.nodes(["variable_none"])


def test_a_file_that_is_not_what_the_index_says_is_damage(graphs, session, tmp_path):
    own = graphs.records()["nodes"][30]["id"]
    path = tmp_path / "s" / "nodes.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)

    for data in (b"".join(lines[:20]), b"{}\n" * 40, b""):
        path.write_bytes(data)
        with pytest.raises(CorruptError) as caught:
            session.nodes([own])
        assert "rebuild" in caught.value.hint
