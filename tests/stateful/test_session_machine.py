"""Any sequence of what may happen to a session, against a list of batches."""

import os
import shutil
from contextlib import ExitStack, suppress

import orjson
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from varvite.errors import StaleIndexError
from varvite.session.reader import Reader
from varvite.testing import notes
from varvite.testing.faulty import Crash, Faulty, Kill
from varvite.testing.memory import memory_path

DERIVED = ["index", "state.json", "notes.jsonl", "other.jsonl", "CLEAN"]
LEVELS = st.sampled_from(["durable", "group", "fast"])
VALUES = st.lists(
    st.tuples(st.sampled_from(["notes", "other", notes.HIDDEN]), st.text(max_size=3)),
    min_size=1,
    max_size=4,
)
KEYS = st.none() | st.sampled_from("abcdef")
CUTS = st.integers(min_value=1, max_value=40)
WHEN = st.sampled_from(["before", "half", "after"])


class SessionMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.held = ExitStack()
        path = self.held.enter_context(memory_path())
        self.path = str(path / "store")
        self.files = Faulty()
        self.store = notes.store(self.path, self.files)
        self.held.callback(self.store.close)
        self.sound = notes.store(self.path)
        self.held.callback(self.sound.close)
        self.batches = []
        self.keys = {}
        self.read = []
        self.writer = None
        self.index_was_deleted = False
        self.reader = Reader(self.sound, notes.SESSION)
        self.open()

    def teardown(self):
        self.reader.close()
        if self.writer:
            self.writer.close()
        self.held.close()

    def open(self):
        try:
            self.writer = notes.writer(self.store, seal_bytes=2_500)
        except StaleIndexError:
            assert self.index_was_deleted
            notes.rebuild(self.store)
            self.writer = notes.writer(self.store, seal_bytes=2_500)

    def records(self, values):
        return [{"stream": stream, "value": value} for stream, value in values]

    def took(self, values, key):
        first = 1 + sum(len(batch) for batch in self.batches)
        self.batches.append(list(values))
        if key is not None:
            self.keys[key] = first

    @precondition(lambda self: self.writer)
    @rule(values=VALUES, key=KEYS, level=LEVELS)
    def append(self, values, key, level):
        receipt = self.writer.append(self.records(values), key=key, level=level)

        assert receipt.replayed == (key in self.keys)
        if receipt.replayed:
            assert receipt.first == self.keys[key]
        else:
            self.took(values, key)
            assert receipt.batch == len(self.batches)
            assert receipt.cursor == sum(len(batch) for batch in self.batches)

    @precondition(lambda self: self.writer)
    @rule()
    def seal(self):
        self.writer.seal()

    @precondition(lambda self: self.writer)
    @rule()
    def close(self):
        self.writer.close()
        self.writer = None

    @precondition(lambda self: not self.writer)
    @rule()
    def reopen(self):
        self.open()
        assert self.writer.recovered is None

    @precondition(lambda self: self.writer)
    @rule(values=VALUES, key=KEYS, cut=CUTS, when=WHEN)
    def crash_in_an_append(self, values, key, cut, when):
        replays = key in self.keys
        self.files.arm(Kill(cut, when))
        try:
            self.writer.append(self.records(values), key=key)
            acknowledged = True
        except Crash:
            acknowledged = False
        if acknowledged and not replays:
            self.took(values, key)
        self.end_process()
        if not acknowledged and not replays and self.journal() == [*self.batches, list(values)]:
            self.took(values, key)

    @precondition(lambda self: self.writer)
    @rule(cut=CUTS, when=WHEN)
    def crash_in_a_seal(self, cut, when):
        self.files.arm(Kill(cut, when))
        with suppress(Crash):
            self.writer.seal()
        self.end_process()

    @precondition(lambda self: self.writer)
    @rule(cut=CUTS)
    def crash_in_a_close(self, cut):
        self.files.arm(Kill(cut))
        with suppress(Crash):
            self.writer.close()
        self.end_process()

    @precondition(lambda self: not self.writer)
    @rule(cut=CUTS)
    def crash_in_an_open(self, cut):
        self.files.arm(Kill(cut))
        with suppress(Crash, StaleIndexError):
            self.writer = notes.writer(self.store)
        self.end_process()

    @precondition(lambda self: not self.writer)
    @rule(cut=st.integers(min_value=1, max_value=90))
    def crash_in_a_rebuild(self, cut):
        self.files.arm(Kill(cut))
        try:
            notes.rebuild(self.store)
        except Crash:
            self.index_was_deleted = True
        self.end_process()

    def end_process(self):
        self.files.arm(None)
        if self.writer:
            self.writer.index.close()
        self.writer = None
        self.files.abandon()
        self.store = notes.store(self.path, self.files)

    @precondition(lambda self: not self.writer)
    @rule(noise=st.binary(min_size=1, max_size=300).filter(lambda data: b"commit" not in data))
    def tear(self, noise):
        """As the tail of a write that a crash cut short."""
        if self.index_was_deleted or os.path.exists(f"{self.path}/s/CLEAN"):
            return
        with open(f"{self.path}/s/events.ndjson", "ab") as file:
            file.write(noise)
        self.open()
        assert self.writer.recovered.bytes_cut >= len(noise)

    @precondition(lambda self: not self.writer)
    @rule(names=st.sets(st.sampled_from(DERIVED), min_size=1))
    def delete_derived_files(self, names):
        for name in names:
            path = f"{self.path}/s/{name}"
            if name == "index":
                shutil.rmtree(path, ignore_errors=True)
                self.index_was_deleted = True
            elif os.path.exists(path):
                os.unlink(path)

    @precondition(lambda self: not self.writer)
    @rule()
    def rebuild(self):
        assert notes.rebuild(self.store).cursor == sum(map(len, self.batches))
        self.index_was_deleted = False

    @rule()
    def poll(self):
        self.read += [values(batch) for batch in self.reader.poll()]
        assert self.read == self.batches

    @rule()
    def read_anew(self):
        self.reader.close()
        self.reader = Reader(self.sound, notes.SESSION)
        assert [values(batch) for batch in self.reader.batches()] == self.batches
        self.read = list(self.batches)

    def journal(self):
        with self.sound.folder(notes.SESSION) as session:
            return [values(batch) for batch in notes.parts.batches(session)]

    @invariant()
    def the_journal_is_the_list(self):
        assert self.journal() == self.batches

    @precondition(lambda self: self.writer)
    @invariant()
    def the_index_is_exact(self):
        notes_held = sum(stream == "notes" for batch in self.batches for stream, _ in batch)
        assert int(self.writer.read("count", "notes") or b"0") == notes_held
        assert self.writer.cursor == sum(map(len, self.batches))


def values(batch):
    records = [orjson.loads(line) for line in batch.lines()]
    return [(record["stream"], record["value"]) for record in records]


TestSessionMachine = SessionMachine.TestCase
TestSessionMachine.settings = settings(
    max_examples=40,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
