import shutil

import orjson
import pytest

from varvite.errors import CorruptError, DamageError, ForeignIndexError, StaleIndexError
from varvite.session.index import Index
from varvite.session.reader import Reader
from varvite.testing import notes
from varvite.testing.notes import note


def fill(store, count=5, *, seal_every=0, **options):
    with notes.writer(store, **options) as writer:
        for number in range(count):
            writer.append(
                [note(number, id=f"n{number % 3}"), note(number, actor=f"a{number % 2}")],
                key=f"k{number}",
            )
            if seal_every and (number + 1) % seal_every == 0:
                writer.seal()


def rebuilt_items(store):
    notes.rebuild(store)
    return notes.index_items(store)


def test_an_index_kept_batch_by_batch_is_what_a_rebuild_makes(store):
    for round_number in range(4):
        fill(store, 6, seal_every=round_number)
        kept = notes.index_items(store)

        assert len(kept) > 5
        assert rebuilt_items(store) == kept


def test_an_index_caught_up_from_any_cursor_is_what_a_rebuild_makes(store, session, tmp_path):
    copies = [tmp_path / "index0"]
    for number in range(5):
        with notes.writer(store) as writer:
            writer.append([note(number, id="same"), note(number)], key=f"k{number}")
        copies.append(tmp_path / f"index{number + 1}")
        shutil.copytree(session / "index", copies[-1])
    whole = rebuilt_items(store)

    for copy in copies:
        shutil.rmtree(session / "index")
        if copy.exists():
            shutil.copytree(copy, session / "index")
        notes.writer(store).close()
        assert notes.index_items(store) == whole


def test_a_deleted_index_is_made_anew_from_the_active_part(store, session):
    fill(store)
    whole = notes.index_items(store)
    shutil.rmtree(session / "index")

    with notes.writer(store) as writer:
        assert writer.append([note("other")], key="k3").replayed

    assert notes.index_items(store) == whole


def test_an_index_that_would_need_history_is_refused_until_a_rebuild(store, session):
    fill(store, seal_every=2)
    whole = notes.index_items(store)
    shutil.rmtree(session / "index")

    for _ in range(2):
        with pytest.raises(StaleIndexError, match="rebuild"):
            notes.writer(store)

    assert rebuilt_items(store) == whole
    with notes.writer(store) as writer:
        assert writer.append([note("other")], key="k0").replayed


def test_an_older_index_catches_up_within_the_active_part_and_is_refused_beyond(
    store, session, tmp_path
):
    fill(store, 2)
    shutil.copytree(session / "index", tmp_path / "older")
    with notes.writer(store) as writer:
        writer.append([note(2)])
    whole = notes.index_items(store)
    shutil.rmtree(session / "index")
    shutil.copytree(tmp_path / "older", session / "index")
    notes.writer(store).close()
    assert notes.index_items(store) == whole

    with notes.writer(store) as writer:
        writer.seal()
        writer.append([note(3)])
    shutil.rmtree(session / "index")
    shutil.copytree(tmp_path / "older", session / "index")
    with pytest.raises(StaleIndexError) as caught:
        notes.writer(store)
    assert caught.value.seq == 4


def test_an_index_at_the_end_of_the_last_sealed_part_catches_up(store, session, tmp_path):
    with notes.writer(store) as writer:
        writer.append([note(1, id="a")])
        writer.seal()
    shutil.copytree(session / "index", tmp_path / "older")
    with notes.writer(store) as writer:
        writer.append([note(2, id="a")])
    whole = notes.index_items(store)
    shutil.rmtree(session / "index")
    shutil.copytree(tmp_path / "older", session / "index")

    notes.writer(store).close()

    assert notes.index_items(store) == whole


@pytest.mark.parametrize("more", [0, 3])
def test_the_index_of_another_session_is_refused(store, session, tmp_path, more):
    fill(store)
    with notes.store(tmp_path / "other") as other:
        fill(other, 5 + more)
    shutil.rmtree(session / "index")
    shutil.copytree(tmp_path / "other" / "s" / "index", session / "index")

    for _ in range(2):
        with pytest.raises(ForeignIndexError, match="rebuild"):
            notes.writer(store)

    notes.rebuild(store)
    notes.writer(store).close()


@pytest.mark.parametrize(
    ("branch", "trunk"),
    [([1], [1]), ([1], [1, 1]), ([2], [1, 2]), ([1, 1], [2]), ([3], [1, 1, 1]), ([1], [3])],
)
def test_the_index_of_another_branch_of_the_same_session_is_refused(
    store, session, tmp_path, branch, trunk
):
    """As after a copy of the directory, from which both went on."""
    fill(store, 1)
    shutil.copytree(session, tmp_path / "copy" / "s")
    with notes.store(tmp_path / "copy") as copy:
        for size in branch:
            with notes.writer(copy) as writer:
                writer.append([note("branch")] * size)
    for size in trunk:
        with notes.writer(store) as writer:
            writer.append([note("trunk")] * size)
    shutil.rmtree(session / "index")
    shutil.copytree(tmp_path / "copy" / "s" / "index", session / "index")

    with pytest.raises((DamageError, StaleIndexError)):
        notes.writer(store)


def test_an_index_ahead_of_the_journal_is_refused(store, session, tmp_path):
    with notes.writer(store) as writer:
        writer.append([note(1)])
        older = (session / "events.ndjson").read_bytes()
        writer.append([note(2)])
    (session / "events.ndjson").write_bytes(older)

    for marker in (True, False):
        if not marker:
            (session / "CLEAN").unlink()
        with pytest.raises(CorruptError, match="seq 2 was committed"):
            notes.writer(store)
    assert (session / "events.ndjson").read_bytes() == older


@pytest.mark.parametrize("restarted", [False, True])
def test_an_index_may_outlive_unsynced_batches_over_a_restart_of_the_machine_alone(
    store, session, restarted
):
    writer = notes.writer(store, level="fast")
    writer.append([note(1)])
    size = (session / "events.ndjson").stat().st_size
    writer.append([note(2)])
    notes.abandon(writer)
    data = (session / "events.ndjson").read_bytes()
    (session / "events.ndjson").write_bytes(data[:size])
    if restarted:
        lock = orjson.loads((session / "lock").read_bytes())
        (session / "lock").write_bytes(orjson.dumps(lock | {"boot": "another"}))

    with pytest.raises(StaleIndexError if restarted else CorruptError):
        notes.writer(store)

    notes.rebuild(store)
    with notes.writer(store) as writer:
        assert (writer.cursor, writer.read("count", "notes")) == (1, b"1")


def test_the_journal_of_another_session_is_refused(store, session, tmp_path):
    fill(store)
    with notes.store(tmp_path / "other") as other:
        fill(other)
    shutil.copy(tmp_path / "other" / "s" / "events.ndjson", session / "events.ndjson")
    (session / "CLEAN").unlink()
    shutil.rmtree(session / "index")

    for attempt in (
        lambda: notes.writer(store),
        lambda: notes.rebuild(store),
        lambda: Reader(store, "s"),
    ):
        with pytest.raises(CorruptError, match="another session"):
            attempt()


@pytest.mark.parametrize("name", ["CURRENT", "MANIFEST", "log", "all"])
@pytest.mark.parametrize("damage", ["empty", "zero", "cut", "random"])
def test_a_damaged_index_is_refused_or_caught_up_never_believed(store, session, name, damage):
    fill(store, 4, seal_every=2)
    whole = notes.index_items(store)
    for path in (session / "index").iterdir():
        if name in path.name or name == "all":
            data = path.read_bytes()
            half = data[: len(data) // 2]
            made = {
                "empty": b"",
                "zero": bytes(len(data)),
                "cut": half,
                "random": half + bytes(byte ^ 0x5A for byte in data[len(half) :]),
            }
            path.write_bytes(made[damage])

    try:
        with notes.writer(store) as writer:
            assert writer.append([note("other")], key="k3").replayed
    except (DamageError, StaleIndexError):
        notes.rebuild(store)

    assert notes.index_items(store) == whole


def test_a_rebuild_that_is_done_twice_changes_nothing(store, session):
    fill(store, 5, seal_every=2)
    before = {path.name: path.read_bytes() for path in session.glob("*.jsonl")}
    whole = notes.index_items(store)

    for _ in range(2):
        done = notes.rebuild(store)
        assert (done.cursor, done.records, done.recovered) == (10, 10, None)
        assert notes.index_items(store) == whole
        assert {path.name: path.read_bytes() for path in session.glob("*.jsonl")} == before
        notes.writer(store).close()


def test_a_rebuild_cuts_a_torn_end_and_says_so(store, session):
    writer = notes.writer(store)
    writer.append([note(1)])
    notes.abandon(writer)
    with (session / "events.ndjson").open("ab") as file:
        file.write(b"torn")

    done = notes.rebuild(store)

    assert (done.recovered.bytes_cut, done.cursor) == (4, 1)
    assert (session / "quarantine").is_dir()


def test_a_rebuild_of_a_damaged_journal_leaves_what_was_there(store, session):
    fill(store, 6, seal_every=2)
    whole = notes.index_items(store)
    part = session / "journal" / "000000000005.ndjson"
    part.write_bytes(part.read_bytes().replace(b'"value":2', b'"value":3'))

    with pytest.raises(CorruptError):
        notes.rebuild(store)

    assert notes.index_items(store) == whole


def test_a_reader_of_the_index_needs_no_lock_and_makes_nothing(store, session):
    with store.folder("s") as folder:
        with pytest.raises(FileNotFoundError):
            Index(folder, read_only=True)
        assert not (session / "index").exists()
        with notes.writer(store) as writer:
            writer.append([note(1)])
            index = Index(folder, read_only=True)
            assert index.get("count", "notes") == b"1"
            assert index.applied().seq == 1
            index.close()
            assert writer.append([note(2)]).cursor == 2


def test_a_small_session_has_a_small_index(store, session):
    with notes.writer(store) as writer:
        for number in range(100):
            writer.append([note(number, id=f"n{number}")], key=f"k{number}")

    size = sum(path.stat().st_size for path in (session / "index").iterdir())
    assert size < 200_000


def test_a_key_that_is_looked_up_is_counted_beside_what_is_read(store):
    with notes.writer(store) as writer:
        before = store.files.io.copy()

        writer.index.get("nodes", "n1")
        writer.index.get_many([bytes(16), bytes(16)])

        assert store.files.io.since(before)["keys"] == 3
