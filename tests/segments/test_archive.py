from varvite.segments import archive
from varvite.segments.compact import compact
from varvite.session import parts
from varvite.session.writer import Writer


def sealed(lab, name):
    return sorted(path.name for path in (lab.path / name / "journal").iterdir())


def test_sealed_parts_that_are_compacted_are_kept_compressed_and_read_the_same(lab, nodes):
    lab.create("s", nodes(60), batch=10, seal_bytes=1_000)
    before, plain = lab.lines("s"), sealed(lab, "s")
    contents = {name: (lab.path / "s" / "journal" / name).read_bytes() for name in plain}

    receipt = compact(lab.store)

    assert receipt.parts_archived == len(plain) > 2
    assert sealed(lab, "s") == [f"{name}.zst" for name in plain]
    assert lab.lines("s") == before
    for name, data in contents.items():
        packed = (lab.path / "s" / "journal" / f"{name}.zst").read_bytes()
        assert parts.decompress(packed, name) == data


def test_a_part_that_is_not_wholly_compacted_stays_as_it_is(lab, nodes):
    lab.create("s", nodes(60), batch=10, seal_bytes=1_000)
    plain = sealed(lab, "s")
    firsts = [int(name[:12]) for name in plain]

    with lab.store.folder("s") as session:
        found = [archive.finished(session, seq) for seq in range(firsts[2])]

    assert [len(one) for one in found] == [
        sum(f <= seq + 1 for f in firsts[1:]) for seq in range(firsts[2])
    ]


def test_a_writer_goes_on_over_archived_parts(lab, nodes):
    lab.create("s", nodes(60), batch=10, seal_bytes=1_000)
    compact(lab.store)

    with Writer(lab.store, "s", lab.kind, seal_bytes=1_000) as writer:
        for one in nodes(30):
            writer.append([one])
    compact(lab.store)

    assert lab.segment_rows() == lab.journal_rows()
    assert len(lab.lines("s")) == 90
