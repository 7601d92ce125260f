"""Writers, readers, compaction and sweeping at once, each a process of its own."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import varvite
from varvite.testing.mixed import append

SCRIPT = Path(__file__).with_name("together.py")
ROLES = ("write", "read", "read", "read", "compact")


@pytest.fixture
def company(tmp_path):
    """Runs all roles side by side for some seconds; returns what each of them found."""
    started = []

    def run(store, seconds):
        for name in ("a", "b"):
            store.graph(name, create=True).close()
        stop = tmp_path / "stop"
        for role in ROLES:
            command = [sys.executable, "-W", "error", str(SCRIPT), role, store.path, str(stop)]
            started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        assert [one.stdout.readline() for one in started] == ["ready\n"] * len(ROLES)
        time.sleep(seconds)
        stop.touch()
        texts = [one.communicate(timeout=200)[0] for one in started]
        assert [one.returncode for one in started] == [0] * len(ROLES)
        return [json.loads(text) for text in texts]

    yield run
    for one in started:
        if one.poll() is None:
            one.kill()
        one.wait()
        one.stdout.close()


def assert_nobody_was_refused(store, results):
    writer, *readers, compactor = results
    assert writer["batches"] > 20
    assert compactor["runs"] >= 3
    assert compactor["busy"] == 0
    for reader in readers:
        assert reader["asked"] >= 3
        assert reader["seen"]["a"] <= writer["cursors"][0]
    ends = store.sql("select session_id, cursor from sessions order by all").rows()
    assert [cursor for _, cursor in ends] == writer["cursors"]
    assert store.sql("select count(*) from records").rows() == [(sum(writer["cursors"]),)]
    assert store.verify() == []


def test_one_writer_three_readers_and_a_compactor_in_company(store, company):
    assert_nobody_was_refused(store, company(store, 4))


@pytest.mark.slow
def test_one_writer_three_readers_and_a_compactor_in_company_for_longer(store, company):
    results = company(store, 20)

    assert_nobody_was_refused(store, results)
    assert results[0]["batches"] > 200
    assert os.listdir(f"{store.path}/a/journal")


def test_a_reader_in_another_process_sees_each_batch_when_its_append_returns(store):
    store.graph("g", create=True).close()
    ask = "import varvite, sys; print(len(varvite.open(sys.argv[1]).sql('from events')))"

    for expected in (1, 2):
        append(store, "g", [{"stream": "events", "type": "noted"}])
        command = [sys.executable, "-c", ask, store.path]
        found = subprocess.run(command, capture_output=True, text=True, check=True)

        assert found.stdout == f"{expected}\n"
    assert isinstance(store, varvite.Store)
