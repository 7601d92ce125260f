"""An exception at any line of an append: out of memory, or a user's Ctrl-C."""

import os
import sys

import pytest

import varvite
from varvite.errors import CommitUnknownError, WriterPoisonedError
from varvite.testing import notes
from varvite.testing.notes import note

BELOW = tuple(
    os.path.join(os.path.dirname(varvite.__file__), floor) + os.sep
    for floor in ("session", "disk", "records")
)


class Interrupt:
    """Raises at line number `at` of our code, counted from when it was set."""

    def __init__(self, at, exception):
        self.left, self.exception = at, exception

    def __enter__(self):
        sys.settrace(self.call)

    def __exit__(self, *_):
        sys.settrace(None)

    def call(self, frame, event, arg):
        return self.line if frame.f_code.co_filename.startswith(BELOW) else None

    def line(self, frame, event, arg):
        if event == "line":
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                raise self.exception
        return self.line


@pytest.mark.parametrize("level", ["durable", "fast"])
@pytest.mark.parametrize("exception", [MemoryError, KeyboardInterrupt])
def test_an_exception_at_any_line_of_an_append_leaves_all_of_the_batch_or_none(
    store, exception, level
):
    writer = notes.writer(store, level=level)
    attempts, reopened, line = [], 0, 0
    while True:
        line += 1
        value = f"w{line}"
        try:
            with Interrupt(line, exception):
                writer.append([note(value), note(value, stream="other")], key=value)
            ended = sys.gettrace() is None and line > 100
            attempts.append((value, "sure"))
            if ended and len(attempts) > 1 and attempts[-2][1] == "sure":
                break
        except (exception, CommitUnknownError) as error:
            attempts.append((value, "unknown"))
            if isinstance(error, CommitUnknownError):
                with pytest.raises(WriterPoisonedError):
                    writer.append([note("never")])
        if writer._poison is not None:
            notes.abandon(writer)
            writer = notes.writer(store, level=level)
            reopened += 1
        receipt = writer.append([note(f"n{line}"), note(f"n{line}", stream="other")])
        assert receipt.batch > 0
        attempts.append((f"n{line}", "sure"))
        retried = writer.append([note(value), note(value, stream="other")], key=value)
        if not retried.replayed:
            attempts.append((value, "sure"))
            attempts.remove((value, "unknown"))
    writer.close()

    found = [values[0] for _, values in notes.journal(store)]
    assert line > 150
    assert reopened < line // 4
    assert sorted(found) == sorted(value for value, _ in attempts)
    assert all(pair[0] == pair[1] for _, pair in notes.journal(store))
    kept = notes.index_items(store)
    notes.rebuild(store)
    assert notes.index_items(store) == kept
