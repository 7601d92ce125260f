import os
import stat
from pathlib import Path

import pytest

from varvite.disk import system
from varvite.disk.files import Files, Folder
from varvite.errors import (
    CorruptError,
    InvalidIdError,
    LimitError,
    NotASessionError,
    NotFoundError,
    SessionExistsError,
    SessionNotFoundError,
    StorageError,
    UnsupportedSystemError,
    VarviteError,
)
from varvite.session import identity
from varvite.session.reader import Reader
from varvite.testing import notes


def tree(path):
    """Every file below with its bytes, its mode and its inode."""
    found = {}
    for folder, _, names in os.walk(path):
        for name in names:
            full = os.path.join(folder, name)
            status = os.lstat(full)
            data = Path(full).read_bytes() if stat.S_ISREG(status.st_mode) else b""
            found[os.path.relpath(full, path)] = (data, status.st_mode, status.st_ino)
    return found


def test_everything_is_private_whatever_the_umask(tmp_path):
    old = os.umask(0)
    try:
        with notes.store(tmp_path / "store") as store, notes.writer(store) as writer:
            writer.append([notes.note(1)])
            writer.seal()
            writer.append([notes.note(2)])
        active = tmp_path / "store" / "s" / "events.ndjson"
        active.write_bytes(active.read_bytes() + b"torn")
        with notes.store(tmp_path / "store") as store:
            notes.writer(store).close()
    finally:
        os.umask(old)

    session = tmp_path / "store" / "s"
    folders = {
        path: stat.S_IMODE(path.stat().st_mode)
        for path in [session, *session.iterdir()]
        if path.is_dir()
    }
    files = {
        path: stat.S_IMODE(path.stat().st_mode)
        for path in session.rglob("*")
        if path.is_file() and path.parent.name != "index"
    }
    assert set(folders.values()) == {0o700}
    assert set(files.values()) == {0o600}
    assert {path.name for path in folders} == {"s", "index", "journal", "quarantine"}


@pytest.mark.parametrize("name", ["", ".", "..", "../s", "a/b", "A", "é", "s\n", "-a", "a" * 65])
def test_a_name_outside_the_grammar_reaches_no_path(store, name):
    with pytest.raises(InvalidIdError):
        identity.open_folder(store, name)
    with pytest.raises(InvalidIdError):
        identity.create(store, name, notes.NOTES, parameters={})


def test_a_session_that_is_not_there_is_not_made(store, tmp_path):
    with pytest.raises(SessionNotFoundError):
        Reader(store, "other")

    assert os.listdir(tmp_path / "store") == ["s"]


def make_file(path):
    path.write_bytes(b'{"type":"session"}\n' * 100)


def make_empty_file(path):
    path.touch()


def make_folder(path):
    path.mkdir()


def make_full_folder(path):
    path.mkdir()
    (path / "events.ndjson").write_bytes(b"mine\n")


def make_link(path):
    path.symlink_to("s")


def make_dangling_link(path):
    path.symlink_to("nowhere")


def make_fifo(path):
    os.mkfifo(path)


KINDS = [
    make_file,
    make_empty_file,
    make_folder,
    make_full_folder,
    make_link,
    make_dangling_link,
    make_fifo,
]


@pytest.mark.parametrize("make", KINDS)
def test_what_is_no_session_is_left_as_it_is(store, tmp_path, make):
    make(tmp_path / "store" / "other")
    before = tree(tmp_path)

    for attempt in (
        lambda: Reader(store, "other"),
        lambda: notes.Writer(store, "other", notes.NOTES),
    ):
        with pytest.raises(NotASessionError):
            attempt()
    with pytest.raises(SessionExistsError):
        identity.create(store, "other", notes.NOTES, parameters={})

    assert tree(tmp_path) == before


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("name", ["session.json", "events.ndjson", "journal"])
def test_a_file_of_a_session_that_is_something_else_is_refused(store, session, name, make):
    if name == "journal" and make in {make_folder, make_full_folder}:
        pytest.skip("a folder without parts is what a young session has")
    (session / name).rename(session.parent / "aside")
    make(session / name)

    with pytest.raises(VarviteError) as caught:
        notes.writer(store)
    assert isinstance(caught.value, NotASessionError | CorruptError)
    if name != "journal":
        with pytest.raises((NotASessionError, CorruptError)):
            Reader(store, "s")


@pytest.mark.parametrize("make", [make_link, make_dangling_link, make_fifo, make_folder])
@pytest.mark.parametrize("name", ["lock", "index", "notes.jsonl", "state.json", "CLEAN"])
def test_a_planted_link_is_never_written_through(store, session, tmp_path, name, make):
    path = session / name
    if path.exists():
        path.unlink()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_bytes(b"precious")
    if make is make_link:
        path.symlink_to(outside if name == "index" else outside / "precious")
    else:
        make(path)

    try:
        with notes.writer(store) as writer:
            writer.append([notes.note(1)])
    except VarviteError:
        pass

    assert tree(outside).keys() == {"precious"}
    assert (outside / "precious").read_bytes() == b"precious"


def test_opening_to_read_writes_nothing_and_takes_no_lock(store, session):
    with notes.writer(store) as writer:
        writer.append([notes.note(1)])
        before = tree(session)
        with Reader(store, "s") as reader:
            assert reader.cursor == 1
        assert tree(session) == before
    for folder, _, names in os.walk(session):
        for name in names:
            os.chmod(os.path.join(folder, name), 0o400)
    before = tree(session)

    with Reader(store, "s") as reader:
        assert [batch.commit.last for batch in reader.batches()] == [1]

    assert tree(session) == before


def test_creating_is_exclusive(store, tmp_path):
    before = tree(tmp_path)

    with pytest.raises(SessionExistsError):
        identity.create(store, "s", notes.NOTES, parameters={})

    assert tree(tmp_path) == before


def test_a_creation_that_lost_the_race_leaves_the_winner_and_nothing_else(store, tmp_path):
    class Late(Files):
        def stat(self, name, *, dir_fd):
            if name == "t" and not (tmp_path / "store" / "t").exists():
                identity.create(store, "t", notes.NOTES, title="first", parameters={})
                raise FileNotFoundError
            return super().stat(name, dir_fd=dir_fd)

    with Folder(Late(), str(tmp_path / "store")) as late, pytest.raises(SessionExistsError):
        identity.create(late, "t", notes.NOTES, title="second", parameters={})

    assert sorted(os.listdir(tmp_path / "store")) == ["s", "t"]
    with store.folder("t") as folder:
        assert identity.read(folder).title == "first"


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"title": "\ud800"}, "$.title"),
        ({"parameters": {"x": float("nan")}}, "$.parameters.x"),
        ({"parameters": {"x": [1, 2**63]}}, "$.parameters.x[1]"),
        ({"parameters": {"x": object()}}, "$.parameters.x"),
    ],
)
def test_parameters_that_would_not_read_back_are_refused(store, tmp_path, given, path):
    with pytest.raises(LimitError) as caught:
        identity.create(store, "t", notes.NOTES, **{"parameters": {}} | given)

    assert caught.value.path == path
    assert os.listdir(tmp_path / "store") == ["s"]


def mounts(tmp_path, kind):
    device = os.stat(tmp_path).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    path = tmp_path / "mountinfo"
    path.write_text(
        f"20 1 0:1 / /proc rw,nosuid shared:1 - proc proc rw\n"
        f"36 35 {number} /export /mnt/\\040a rw,noatime master:1 shared:2 - {kind} host:/x rw\n"
    )
    return str(path)


@pytest.mark.parametrize("kind", sorted(system.NETWORK_KINDS))
def test_a_network_file_system_is_refused_by_name(tmp_path, kind):
    with pytest.raises(UnsupportedSystemError, match=f"on {kind},"):
        system.check_writable(str(tmp_path), mounts=mounts(tmp_path, kind))

    system.check_writable(str(tmp_path), network=True, mounts=mounts(tmp_path, kind))


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "tmpfs", "overlay", "zfs"])
def test_a_file_system_of_this_machine_is_written(tmp_path, kind):
    system.check_writable(str(tmp_path), mounts=mounts(tmp_path, kind))

    assert system.file_system(str(tmp_path), mounts(tmp_path, kind)) == kind


def test_a_writer_and_a_rebuild_ask_about_the_file_system(store, session, monkeypatch):
    monkeypatch.setattr(system, "file_system", lambda path, mounts: "nfs4")
    before = tree(session)

    with pytest.raises(UnsupportedSystemError):
        notes.writer(store)
    with pytest.raises(UnsupportedSystemError):
        notes.rebuild(store)

    assert tree(session) == before
    with notes.writer(store, network=True) as writer:
        assert writer.append([notes.note(1)]).cursor == 1
    with Reader(store, "s") as reader:
        assert reader.cursor == 1


def test_elsewhere_than_on_linux_sessions_are_read(store, monkeypatch):
    monkeypatch.setattr("sys.platform", "darwin")

    with pytest.raises(UnsupportedSystemError, match="darwin"):
        notes.writer(store)
    with Reader(store, "s") as reader:
        assert reader.cursor == 0


def test_a_store_opened_by_a_relative_path_stays_itself(tmp_path, monkeypatch):
    notes.store(tmp_path / "store").close()
    monkeypatch.chdir(tmp_path)
    with Folder(Files(), "store") as store:
        monkeypatch.chdir("/")
        with notes.writer(store) as writer:
            writer.append([notes.note(1)])

    assert (tmp_path / "store" / "s" / "index" / "CURRENT").exists()


def test_no_store_is_no_session(tmp_path):
    with pytest.raises(FileNotFoundError):
        Folder(Files(), str(tmp_path / "missing"))
    with notes.store(tmp_path / "store") as store, pytest.raises(NotFoundError):
        Reader(store, "missing")


def test_an_error_of_the_disk_is_no_missing_session(store, monkeypatch):
    def fails(*args, **options):
        raise OSError(24, "Too many open files")

    with Reader(store, "s"):
        monkeypatch.setattr(store.files, "open", fails)
        with pytest.raises(StorageError):
            Reader(store, "s")
        with pytest.raises(StorageError):
            notes.writer(store)
