"""What jobs leave for the writer: committed once, after its own batch, or set aside with why."""

import os
import threading

import orjson
import pytest

from varvite.errors import InputError
from varvite.session import inbox
from varvite.session.inbox import Act
from varvite.testing import notes
from varvite.testing.notes import note


def act(*values, key="k", name="note"):
    return Act(key, name, "job", {"notes": list(values)})


@pytest.fixture
def folder(store):
    with store.folder(notes.SESSION) as opened:
        yield opened


def committed(store):
    return [values for _, values in notes.journal(store)]


def test_an_act_is_committed_after_the_writers_next_batch(store, folder):
    with notes.writer(store) as writer:
        writer.append([note("mine")])
        inbox.leave(folder, act("theirs"))

        receipt = writer.append([note("mine too")])

        assert receipt.cursor == 2
        assert writer.cursor == 3
    assert committed(store) == [["mine"], ["mine too"], ["theirs"]]
    assert list(inbox.waiting(folder)) == []


def test_the_records_of_an_act_say_who_left_it_and_see_the_cursor(store, folder, session):
    inbox.leave(folder, act("theirs"))
    with notes.writer(store) as writer:
        writer.append([note("mine")])

    lines = [orjson.loads(line) for line in (session / "notes.jsonl").read_bytes().splitlines()]

    assert [(one["actor"], one.get("at_cursor")) for one in lines] == [("agent", None), ("job", 1)]


def test_a_job_commits_it_itself_where_nobody_writes(store, folder):
    inbox.leave(folder, act("theirs"))

    with notes.writer(store) as writer:
        writer.take_in()

    assert committed(store) == [["theirs"]]


def test_an_act_left_twice_is_committed_once(store, folder):
    with notes.writer(store) as writer:
        for _ in range(2):
            inbox.leave(folder, act("theirs"))
            writer.take_in()
            writer.append([note("mine")])

    assert committed(store) == [["theirs"], ["mine"], ["mine"]]


def test_an_act_that_was_committed_before_a_crash_is_only_removed(store, folder):
    inbox.leave(folder, act("theirs"))
    with folder.folder(inbox.FOLDER) as box, notes.writer(store) as writer:
        left = box.read(act().file)
        writer.take_in()
        box.replace(act().file, left, sync=False)

    with notes.writer(store) as writer:
        writer.take_in()

    assert committed(store) == [["theirs"]]
    assert list(inbox.waiting(folder)) == []


def test_an_act_that_comes_to_nothing_is_removed(store, folder):
    inbox.leave(folder, act())

    with notes.writer(store) as writer:
        writer.take_in()

    assert committed(store) == []
    assert list(inbox.waiting(folder)) == []


def test_what_is_refused_is_set_aside_with_the_reason_and_the_others_go_on(store, folder):
    inbox.leave(folder, act(1, key="a", name="no such act"))
    inbox.leave(folder, act(3, key="c"))
    with folder.folder(inbox.FOLDER) as box:
        box.replace("0123.json", b"{}", sync=False)

    with notes.writer(store) as writer:
        writer.take_in()

    assert committed(store) == [[3]]
    codes = {one["error"]["code"] for one in inbox.refused(folder)}
    assert codes == {"invalid_input", "corrupt"}


def test_a_record_that_the_session_refuses_is_set_aside(store, folder):
    inbox.leave(folder, act("x" * (1 << 20)))

    with notes.writer(store) as writer:
        receipt = writer.append([note("mine")])

    assert receipt.cursor == 1
    assert committed(store) == [["mine"]]
    assert [one["error"]["code"] for one in inbox.refused(folder)] == ["limit_exceeded"]


def test_nothing_left_costs_one_stat(store):
    with notes.writer(store) as writer:
        writer.append([note(0)])
        writer._state_due = float("inf")

        receipt = writer.append([{"stream": notes.HIDDEN, "value": 1}])

    assert (receipt.io["opens"], receipt.io["bytes_read"]) == (0, 0)


def test_an_inbox_that_stays_as_it_is_is_listed_once(store, folder, monkeypatch):
    monkeypatch.setattr(inbox, "SETTLING_NS", 0)
    inbox.leave(folder, act("theirs"))
    with notes.writer(store) as writer:
        writer.append([note(0)])
        writer.append([note(1)])
        writer._state_due = float("inf")
        before = store.files.io.copy()

        writer.append([{"stream": notes.HIDDEN, "value": 1}])

        assert store.files.io.since(before)["opens"] == 0


def test_an_inbox_is_listed_again_as_long_as_its_last_change_is_new(store, folder, monkeypatch):
    monkeypatch.setattr(inbox, "SETTLING_NS", 3600 * 10**9)
    inbox.leave(folder, act("theirs"))
    with notes.writer(store) as writer:
        writer.append([note(0)])
        times = os.stat(f"{folder.path}/inbox")
        inbox.leave(folder, act("more", key="of the same moment"))
        os.utime(f"{folder.path}/inbox", ns=(times.st_atime_ns, times.st_mtime_ns))

        writer.append([note(1)])

    assert committed(store) == [[0], ["theirs"], [1], ["more"]]


def test_a_batch_stands_though_the_inbox_cannot_be_read(store, folder):
    inbox.leave(folder, act("theirs"))
    os.remove(f"{folder.path}/inbox/{act().file}")
    os.mkdir(f"{folder.path}/inbox/{act().file}")

    with notes.writer(store) as writer:
        receipt = writer.append([note("mine")])

    assert receipt.cursor == 1
    assert committed(store)[0] == ["mine"]


def test_acts_in_a_group_wait_for_nobody(store, folder):
    with notes.writer(store, level="group") as writer:
        inbox.leave(folder, act("theirs"))
        threads = [threading.Thread(target=lambda n=n: writer.append([note(n)])) for n in range(8)]
        for one in threads:
            one.start()
        for one in threads:
            one.join(20)

        assert not any(one.is_alive() for one in threads)
    found = committed(store)
    assert sorted(map(str, (value for values in found for value in values))) == [
        *map(str, range(8)),
        "theirs",
    ]


def test_an_unknown_act_names_those_there_are(store):
    with notes.writer(store) as writer, pytest.raises(InputError, match="there are: note"):
        writer._commit_act(act(name="nothing"))
