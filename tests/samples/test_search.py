"""The samples have the distributions that they claim, and are a function of their seed."""

import hashlib
import os
import re
import subprocess
import sys
from collections import Counter
from itertools import islice

import orjson
import pytest

from varvite.graph import landscape, payloads
from varvite.samples import search

RECORDS = 30_000


@pytest.fixture(scope="module")
def given():
    return list(search.responses(1, RECORDS))


class Measured:
    """What is in a list of responses."""

    def __init__(self, given):
        self.calls = self.failed = self.retries = 0
        self.sightings, self.paper_of = Counter(), {}
        self.premises, self.premise_ids, self.lengths = Counter(), set(), []
        self.shapes, self.titles = Counter(), {}
        self.rounds = {}
        for one in given:
            value = orjson.loads(one.raw)
            self.calls += 1
            self.failed += value["code"] != 0
            self.retries += "_retry" in one.file
            if value["code"] == 0:
                self._take(value["data"], int(one.file[6:10]))

    def _take(self, data, rnd):
        for package, paper in data["papers"].items():
            self.titles.setdefault(paper["en_title"], set()).add(package)
        for one in data.get("variables", []):
            fresh, all_ = self.rounds.get(rnd, (0, 0))
            self.rounds[rnd] = (fresh + (one["id"] not in self.sightings), all_ + 1)
            self.sightings[one["id"]] += 1
            self.paper_of[one["id"]] = one["provenance"]["source_packages"][0]
            self.lengths.append(len(one["content"]))
        for shape in ("evidence_chains", "reasoning_chains"):
            for chain in data.get(shape, []):
                self.shapes[shape] += 1
                ids = self._premises(chain)
                self.premises[len(ids)] += 1
                self.premise_ids.update(ids)

    @staticmethod
    def _premises(chain):
        if "graph" in chain:
            edges = chain["graph"]["edges"]
            return [edge["source"] for edge in edges if edge["type"] == "premise"]
        return [one["id"] for one in chain["factors"][0]["premises"]]


@pytest.fixture(scope="module")
def measured(given):
    return Measured(given)


def share(counted, of):
    return counted / of


def test_a_quarter_of_the_calls_fail_and_some_are_tried_again(measured):
    assert share(measured.failed, measured.calls) == pytest.approx(0.23, abs=0.03)
    assert share(measured.retries, measured.failed) == pytest.approx(0.4, abs=0.08)


def test_most_variables_appear_once_and_a_few_again_and_again():
    """Measured at the size of the real session: 73, 10, 3, 3, 3 and 9 in 100."""
    counts = Counter()
    for seed in range(8):
        counts.update(Measured(search.responses(seed, 3900)).sightings.values())

    known = counts.total()
    shares = [share(counts[times], known) for times in (1, 2, 3, 4, 5)]
    tail = share(sum(counts[times] for times in counts if times > 5), known)
    assert shares == pytest.approx([0.73, 0.10, 0.034, 0.026, 0.031], abs=0.035)
    assert tail == pytest.approx(0.087, abs=0.03)
    assert max(counts) > 12


def test_the_share_of_new_variables_falls_from_round_to_round(measured):
    first = [share(*measured.rounds[rnd]) for rnd in range(6)]
    later = [measured.rounds[rnd] for rnd in measured.rounds if rnd >= 6]

    assert first == pytest.approx(search.NEW_SHARE_BY_ROUND, abs=0.1)
    assert share(*map(sum, zip(*later, strict=True))) == pytest.approx(0.29, abs=0.03)


def test_most_papers_give_one_variable(measured):
    counts = Counter(Counter(measured.paper_of.values()).values())
    papers = counts.total()

    assert share(counts[1], papers) == pytest.approx(0.875, abs=0.04)
    assert share(counts[2], papers) == pytest.approx(0.08, abs=0.04)
    assert share(counts[3], papers) == pytest.approx(0.02, abs=0.02)
    assert max(counts) >= 15


def test_chains_have_few_premises_mostly_outside_every_result(measured):
    chains = measured.premises.total()

    expected = [weight / sum(search.PREMISES_WEIGHTS) for weight in search.PREMISES_WEIGHTS]
    assert [share(measured.premises[size], chains) for size in range(1, 6)] == pytest.approx(
        expected, abs=0.08
    )
    unseen = measured.premise_ids - measured.sightings.keys()
    assert share(len(unseen), len(measured.premise_ids)) == pytest.approx(0.68, abs=0.08)
    assert share(measured.shapes["reasoning_chains"], chains) == pytest.approx(0.5, abs=0.1)


def test_some_papers_are_an_earlier_one_under_another_id(measured):
    papers = sum(map(len, measured.titles.values()))
    again = sum(len(packages) - 1 for packages in measured.titles.values())

    assert share(again, papers) == pytest.approx(0.03, abs=0.01)


def test_content_is_as_long_as_in_real_results(measured):
    lengths = sorted(measured.lengths)

    assert lengths[len(lengths) // 2] == pytest.approx(787, abs=60)
    assert lengths[len(lengths) * 95 // 100] == pytest.approx(1437, abs=150)
    assert lengths[-1] <= 3900


@pytest.mark.parametrize("records", [1, 10, 1000])
def test_a_session_has_the_size_asked_for(records):
    made = list(search.responses(3, records))

    assert sum(one.records for one in made) >= records
    assert sum(one.records for one in made[:-1]) < records


def test_the_records_announced_are_the_records_a_session_makes(graphs, given):
    with graphs.new() as session:
        session.submit(one.payload() for one in given[:100])
        new = session.cursor - 1
        rest = given[100:400]
        for one in rest:
            before = session.cursor
            session.submit([one.payload()])
            assert session.cursor - before - 1 == one.records, one.file

    assert new == sum(one.records for one in given[:100])


def test_a_longer_session_begins_with_a_shorter_one(given):
    assert list(islice(search.responses(1, 10**7), 200)) == given[:200]


def test_a_line_is_what_a_file_of_payloads_holds(given, tmp_path):
    file = tmp_path / "x.ndjson"
    file.write_bytes(b"".join(one.line() for one in given[:50]))

    found = list(payloads.in_file(str(file)))

    assert [(one.raw, one.file, one.query) for one in found] == [
        (one.raw, one.file, one.query) for one in given[:50]
    ]


def test_retries_name_the_calls_that_failed(given):
    plan = landscape.plan([one.payload() for one in given[:300]], lambda table, key: None)

    calls = {one["id"]: one for one in plan.records if one["stream"] == "frontier"}
    retries = [call for call in calls.values() if re.search("_retry", call["dedup_key"]) is None]
    named = [calls[call["retry_of"]] for call in retries if "retry_of" in call]
    assert len(named) == sum("_retry" in one.file for one in given[:300]) > 0
    assert {call["status"] for call in named} == {"failed"}


PROGRAM = {
    "search": "from varvite.samples.search import responses as made; "
    "lines = (one.line() for one in made(4, 2000))",
    "experiments": "from varvite.samples.experiments import log as made; lines = made(4, 500)",
}


@pytest.mark.parametrize("what", PROGRAM)
def test_the_same_seed_gives_the_same_bytes_in_every_process(what):
    program = f"{PROGRAM[what]}; import sys; sys.stdout.buffer.write(b''.join(lines))"
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "4711")
    ]

    digests = {hashlib.sha256(output).hexdigest() for output in outputs}
    assert len(digests) == 1
    assert outputs[0]


def test_another_seed_gives_another_session():
    assert next(search.responses(1, 1)).raw != next(search.responses(2, 1)).raw
