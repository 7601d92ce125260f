import pytest

from varvite.bench.counting import Counts
from varvite.bench.figures import COUNTED, Rounds
from varvite.bench.growth import INDEX_FILES_MAX, PAGE_BYTES, TABLE_PAGES, judge, slope

SMALL, LARGE = 10_000, 1_000_000


def counts(seconds=1.0, **named):
    return Counts(seconds=seconds, cpu_s=seconds, **(dict.fromkeys(COUNTED, 0) | named))


def figure(records, *, history=False, operation="step", rounds=1, **named):
    each = [counts(**named) for _ in range(rounds)]
    return Rounds(each).figure(operation, records, history=history, floor="none")


def grown(small, large, **options):
    """What is judged to grow from the one set of counts to the other."""
    made = [figure(SMALL, **small, **options), figure(LARGE, **large, **options)]
    return {one.what for one in judge(made) if one.failed}


BOUNDS = [
    ("bytes_read", 0, PAGE_BYTES),
    ("bytes_read_outside", 0, PAGE_BYTES),
    ("bytes_read_outside", 3, 6 * PAGE_BYTES),
    ("files_opened", 0, 0),
    ("files_touched", 5, 0),
    ("index_files", 0, INDEX_FILES_MAX - 7),
]


@pytest.mark.parametrize(("what", "keys", "allowed"), BOUNDS)
def test_a_cost_may_grow_by_what_is_allowed_and_by_no_more(what, keys, allowed):
    given = {"keys": keys}

    assert grown(given | {what: 7}, given | {what: 7 + allowed}) == set()
    assert grown(given | {what: 7}, given | {what: 7 + allowed + 1}) == {what}


def test_each_table_that_a_larger_index_has_more_may_be_opened():
    read = PAGE_BYTES + 2 * TABLE_PAGES * PAGE_BYTES
    short, long = {"keys": 0, "index_files": 7}, {"keys": 0, "index_files": 9}

    assert grown(short, long | {"bytes_read_outside": read}) == set()
    assert grown(short, long | {"bytes_read_outside": read + 1}) == {"bytes_read_outside"}


@pytest.mark.parametrize(("keys", "allowed"), [(0, 8), (80, 8), (500, 50)])
def test_keys_may_grow_by_eight_or_a_tenth(keys, allowed):
    assert grown({"keys": keys}, {"keys": keys + allowed}) == set()
    assert grown({"keys": keys}, {"keys": keys + allowed + 1}) == {"keys"}


def test_more_keys_do_not_allow_more_bytes():
    small, large = {"keys": 1}, {"keys": 1_000, "bytes_read_outside": 100_000}

    assert grown(small, large) == {"keys", "bytes_read_outside"}


def test_time_and_bytes_written_never_decide():
    assert grown({}, {"seconds": 1e6, "bytes_written": 10**9, "bytes_read_all": 10**9}) == set()


def test_what_may_read_history_is_shown_and_not_judged():
    assert grown({}, dict.fromkeys(COUNTED, 10**9), history=True) == set()


def test_a_smaller_cost_of_a_larger_history_is_flat():
    assert grown({"bytes_read": 10**6, "files_opened": 9}, {"files_opened": 1}) == set()


def test_each_larger_history_is_held_against_the_smallest():
    sizes = {1_000: 0, 10_000: 10**6, 100_000: 0}
    made = [figure(size, bytes_read=value) for size, value in sizes.items()]

    (found,) = [one for one in judge(made) if one.failed]

    assert (found.what, found.grown, found.share) == ("bytes_read", 10**6, 10**6 / PAGE_BYTES)


def test_one_history_alone_is_flat():
    found = judge([figure(SMALL, bytes_read=10**9)])

    assert not any(one.failed for one in found)


def test_a_slope_is_the_exponent_of_the_history():
    for exponent in (0, 0.5, 1, 2):
        points = [(10**n, 3.0 * (10**n) ** exponent) for n in (3, 4, 6)]

        assert slope(points) == pytest.approx(exponent)

    assert slope([(10, 1.0)]) is None
    assert slope([(10, 0.0), (100, 1.0)]) is None
    assert slope([(10, 1.0), (10, 2.0)]) is None


def test_a_figure_is_the_middle_of_its_rounds_and_its_noise_that_of_every_other_one():
    seconds, sizes = (1.0, 2.0, 3.0, 4.0), (5, 5, 9, 9)
    each = [counts(one, bytes_read=size) for one, size in zip(seconds, sizes, strict=True)]

    found = Rounds(each, [0.5, 1.0, 2.0]).figure("step", SMALL, floor="a write")

    assert (found.seconds, found.floor_s, found.ratio) == (2.5, 1.0, 2.5)
    assert found.noise == pytest.approx(1 / 3)
    assert found.counts["bytes_read"] == 9


def test_one_round_has_no_noise_and_nothing_written_no_floor():
    found = Rounds([counts()]).figure("step", SMALL, floor="a write")

    assert (found.noise, found.floor, found.ratio) == (None, None, None)
