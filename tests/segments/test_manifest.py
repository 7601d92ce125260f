from dataclasses import replace

import pytest

from varvite.errors import CorruptError, ManifestConflictError, NewerFormatError
from varvite.segments import manifest as manifests
from varvite.segments.compact import compact
from varvite.segments.manifest import Gone, Manifest, Segment, Span, Through
from varvite.segments.publishing import publish

ONE = Segment("nodes/1-0-ab.parquet", "nodes", 0, 3, 99, 7, "ab", {"u1": Span(1, 3, 3)})


def newest(lab):
    return lab.path / "_lake" / "manifests" / f"{manifests.latest(lab.store):020d}.json"


def test_a_store_without_segments_has_generation_zero(lab):
    assert manifests.load(lab.store) == Manifest()


def test_what_is_published_is_read_back(lab):
    made = Manifest(
        0, "", {"u1": Through("s", "graph", 3, 1, 9)}, (ONE,), {"u2": Gone("t", "2026")}
    )

    published = manifests.publish(lab.store, made)

    assert published.generation == 1
    assert manifests.load(lab.store) == published == replace(made, generation=1, at=published.at)


def test_the_loser_of_a_race_gets_a_conflict(lab):
    base = manifests.load(lab.store)
    manifests.publish(lab.store, base)

    with pytest.raises(ManifestConflictError):
        manifests.publish(lab.store, base)

    assert manifests.generations(lab.store) == [1]


def test_the_loser_derives_its_change_again(lab):
    calls = []

    def change(base):
        calls.append(base.generation)
        if len(calls) == 1:
            manifests.publish(lab.store, replace(base, deleted={"u9": Gone("x", "now")}))
        return replace(base, segments=(ONE,))

    made = publish(lab.store, change)

    assert calls == [0, 1]
    assert (made.generation, made.segments, set(made.deleted)) == (2, (ONE,), {"u9"})


@pytest.mark.parametrize("hint", [b"", b"garbage", b"-1", b"99", b"1", b"\xff"])
def test_a_wrong_hint_misleads_nobody(lab, nodes, hint):
    for _ in range(3):
        manifests.publish(lab.store, manifests.load(lab.store))
    (lab.path / "_lake" / "latest").write_bytes(hint)

    assert manifests.latest(lab.store) == 3


def test_every_flipped_bit_of_a_manifest_is_found(lab, nodes):
    lab.create("s", nodes(3))
    compact(lab.store)
    whole = newest(lab).read_bytes()

    for bit in range(0, 8 * len(whole), 23):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        newest(lab).write_bytes(damaged)
        try:
            same = manifests.load(lab.store)
        except (CorruptError, NewerFormatError):
            continue
        newest(lab).write_bytes(whole)
        assert same == manifests.load(lab.store)


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[]", b"null", b'{"crc":0}', b"\x00" * 99, b"[" * 100_000]
)
def test_bytes_that_are_no_manifest_are_refused_by_name(lab, nodes, data):
    lab.create("s", nodes(3))
    compact(lab.store)
    newest(lab).write_bytes(data)

    with pytest.raises(CorruptError, match=r"00001\.json is damaged"):
        manifests.load(lab.store)


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "../x.parquet", "nodes/../../x.parquet", "a/b/c.parquet", "nodes/x*.parquet"],
)
def test_a_path_that_leads_elsewhere_is_refused(lab, path):
    manifests.publish(lab.store, Manifest(segments=(replace(ONE, path=path),)))

    with pytest.raises(CorruptError):
        manifests.load(lab.store)


def test_a_newer_format_says_both_versions(lab, monkeypatch):
    with monkeypatch.context() as later:
        later.setattr(manifests, "FORMAT", 2)
        manifests.publish(lab.store, Manifest())

    with pytest.raises(NewerFormatError, match=r"format 2.*up to 1"):
        manifests.load(lab.store)
