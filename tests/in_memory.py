"""Fixtures of tests that open hundreds of sessions: a store of notes, in memory."""

import pytest

from varvite.testing import notes
from varvite.testing.memory import memory_path


@pytest.fixture
def tmp_path():
    with memory_path() as path:
        yield path


@pytest.fixture
def store(tmp_path):
    with notes.store(tmp_path / "store") as folder:
        yield folder


@pytest.fixture
def session(store, tmp_path):
    """The path of the session's directory."""
    return tmp_path / "store" / notes.SESSION
