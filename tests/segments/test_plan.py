from varvite.segments.manifest import Gone, Manifest, Segment, Span, Through
from varvite.segments.plan import FAN_IN_MAX, FAN_IN_MIN, Compact, End, Merge, Range, plan


def segment(number, tier=0, stream="nodes", size=10):
    return Segment(
        f"{stream}/{number}-0-aa.parquet",
        stream,
        tier,
        1,
        size,
        0,
        "",
        {"u": Span(number, number, 1)},
    )


def test_nothing_to_do_is_no_step():
    assert plan(Manifest(), {}) == []
    assert (
        plan(Manifest(sessions={"u": Through("s", "graph", 5, 1, 1)}), {"u": End("s", "graph", 5)})
        == []
    )


def test_ranges_go_from_the_segments_to_the_journals_end_by_session():
    manifest = Manifest(sessions={"u2": Through("a", "graph", 5, 1, 1)})

    steps = plan(
        manifest,
        {"u1": End("b", "graph", 3), "u2": End("a", "graph", 9), "u3": End("c", "graph", 0)},
    )

    assert steps == [Compact((Range("a", "u2", "graph", 5, 9), Range("b", "u1", "graph", 0, 3)))]


def test_a_deleted_session_is_left_alone():
    assert plan(Manifest(deleted={"u": Gone("s", "now")}), {"u": End("s", "graph", 5)}) == []


def test_a_tier_merges_when_it_is_full():
    few = tuple(segment(n) for n in range(FAN_IN_MIN - 1))
    full = tuple(segment(n) for n in range(FAN_IN_MIN))
    many = tuple(segment(n) for n in range(FAN_IN_MAX + 3))

    assert plan(Manifest(segments=few), {}) == []
    assert plan(Manifest(segments=full), {}) == [Merge("nodes", 1, full)]
    assert plan(Manifest(segments=many), {}) == [Merge("nodes", 1, many[:FAN_IN_MAX])]


def test_streams_tiers_and_large_segments_do_not_merge_with_one_another():
    mixed = (
        *(segment(n) for n in range(7)),
        *(segment(n, stream="edges") for n in range(7)),
        *(segment(n + 10, tier=1) for n in range(7)),
        segment(30, size=1 << 30),
    )

    assert plan(Manifest(segments=mixed), {}) == []
