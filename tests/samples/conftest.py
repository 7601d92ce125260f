from contextlib import contextmanager

import pytest

from varvite.disk.files import Files, Folder
from varvite.graph.session import GRAPH, GraphSession
from varvite.session import identity
from varvite.session.writer import Writer


class Graphs:
    def __init__(self, folder):
        self.store = Folder(Files(), str(folder))

    @contextmanager
    def new(self):
        identity.create(self.store, "s", GRAPH, parameters={})
        with Writer(self.store, "s", GRAPH, level="fast") as writer:
            yield GraphSession(writer)


@pytest.fixture
def graphs(tmp_path):
    return Graphs(tmp_path)
