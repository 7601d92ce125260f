"""What a step asks of the index, counted: the same beside 5 buckets and beside 500."""

import pytest

from varvite.graph import focus, obligations

FOCUSES_PER_BUCKET = 10


def grow(session, make, buckets):
    """So many buckets, each with ten focuses and an obligation on the first of them."""

    def fill(batch, numbers):
        for n in numbers:
            for m in range(FOCUSES_PER_BUCKET - 1):
                focus.open_focus(
                    batch, f"{m} of {n}?", session.parameters, session.cursor, bucket_ids=[f"b{n}"]
                )
            obligations.add(
                batch,
                f"answer {n}",
                session.parameters,
                session.cursor,
                target_kind="bucket",
                target_id=f"b{n}",
            )

    for start in range(0, buckets, 50):
        numbers = range(start, min(start + 50, buckets))
        for n in numbers:
            session.open_bucket(f"bucket number {n}", bucket_id=f"b{n}")
        session.act(lambda batch: fill(batch, numbers))  # noqa: B023


def figures(session, make, reads):
    """Reads of a step on one bucket, of an answer, of a brief, and what they touched."""
    found = {}
    for round_ in range(2):  # the first fills what is read before it is there
        names = [f"gcn_{round_}_{n}" for n in range(20)]
        with reads(session) as step:
            receipt = session.submit([make.hits(*names, buckets=["b1"], score=round_ + 0.5)])
        with reads(session) as answer:
            packet = session.packets(1)[0]
            session.assess(packet, [make.relation(*(one["id"] for one in packet.evidence[:2]))])
        with reads(session) as brief:
            session.brief()
        found = {
            "step": step.count,
            "answer": answer.count,
            "brief": brief.count,
            "focuses": len(receipt.touched["focuses"]),
            "packets": len(receipt.touched["packets"]),
        }
    return found


@pytest.fixture(scope="module")
def sizes():
    return (50, 500)


def test_no_step_asks_more_of_the_index_beside_500_buckets_and_5000_focuses(
    graphs, make, reads, sizes
):
    found = {}
    for size in sizes:
        with graphs.new(f"s{size}", focuses_per_bucket=16) as session:
            grow(session, make, size)
            focuses = {one["id"] for one in graphs.records(f"s{size}")["focuses"]}
            assert len(focuses) == size * FOCUSES_PER_BUCKET
            found[size] = figures(session, make, reads)

    assert found[sizes[0]]["focuses"] == FOCUSES_PER_BUCKET
    assert found[sizes[1]] == found[sizes[0]]
