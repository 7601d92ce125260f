"""A real session, worked on, that is closed and opened again after its events: the same session."""

import json

import pytest

from varvite.adapters.growth import GrowthLog
from varvite.graph import payloads
from varvite.session.rebuild import rebuild

FOLDER = "artifacts/lkm-discovery/"
ANSWERED_EVERY = 15
STREAMS = (
    "nodes", "edges", "sightings", "frontier", "responses", "events", "memberships", "buckets",
    "vocabulary", "focuses", "packets", "obligations", "candidates", "repair_contexts", "decisions",
    "projections",
)  # fmt: skip


class One:
    """A log that gives one line at a time."""

    def __init__(self, log):
        self._log, self.source = log, log.source

    def read(self, after):
        yield next(iter(self._log.read(after)))


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def happened(shared):
    """What happened, round by round: each response of a round, then each decision of it."""
    folder = shared / "data/gaia"
    by_file = {one.file: one for one in payloads.in_file(folder / "twodheg__lkm_payloads.ndjson")}
    growth = folder / "twodheg__graph_growth_log.jsonl"
    log = One(GrowthLog(growth, source="growth"))
    rounds = {}
    for event in lines(folder / "twodheg__retrieval_log.jsonl"):
        given = by_file.pop(FOLDER + event["raw_output"])
        given = given._replace(query=event["request"].get("text"))
        rounds.setdefault(event["round_id"], ([], []))[0].append(given)
    for event in lines(growth):
        rounds.setdefault(event["round_id"], ([], []))[1].append(log)
    rounds["round_0006"][0].extend(by_file[name] for name in sorted(by_file))
    return [one for name in sorted(rounds) for part in rounds[name] for one in part]


@pytest.fixture(scope="module")
def buckets(request):
    return json.loads((request.path.parent / "by_hand.json").read_text())["buckets"]


def start(session, buckets):
    for name, terms in buckets.items():
        session.open_bucket(name, terms=terms, bucket_id=name)


def take(session, number, event):
    """An event of the log, and now and then what an agent does meanwhile."""
    if isinstance(event, One):
        session.import_growth(event)
    else:
        session.submit([event])
    if number % ANSWERED_EVERY == 0:
        for packet in session.packets(1):
            answer = session.assess(packet, drafts(packet, number))
            for repair in answer.repairs[: number % 2]:
                session.drop_repair(repair["id"], "it names what there is not")
            session.obligations.open(
                f"look again at {number}", target_kind="focus", target_id=packet.focus_id
            )


def drafts(packet, number):
    """One that is taken, where there are two claims, and one that is not."""
    names = [ref["id"] for ref in packet.allowed_refs if ref.get("value_type") == "claim"][:2]
    draft = {"type": "opposes", "claim": f"They differ, {number}.", "source_refs": names}
    good, bad = draft | {"claim_refs": names}, draft | {"claim_refs": ["gcn_none", *names[:1]]}
    return [good, bad] if len(names) > 1 else []


def seen(session):
    """All that somebody who comes back is told."""
    return session.status() | {"session_id": ""}, session.brief() | {"session_id": ""}


def faces(session):
    return {name: one for name, one in session.field_map().items() if name != "session_id"}


def timeless(records):
    return [{name: one[name] for name in one if name != "at"} for one in records]


def items(session):
    """The index, but for how far it is applied, which names the session."""
    found = dict(session._writer.index.items())
    return {key: value for key, value in found.items() if not key.startswith(b"applied\0")}


@pytest.mark.parametrize(
    "every", [11, pytest.param(1, marks=[pytest.mark.slow, pytest.mark.timeout(900)])]
)
def test_stopping_and_resuming_gives_the_same_session(graphs, happened, buckets, every):
    told = []
    with graphs.new("whole") as session:
        start(session, buckets)
        for number, event in enumerate(happened):
            take(session, number, event)
            told.append((seen(session), faces(session)) if (number + 1) % every == 0 else None)
        whole = items(session)

    with graphs.new("stopped") as session:
        start(session, buckets)
    numbered = list(enumerate(happened))
    for at in range(0, len(numbered), every):
        with graphs.open("stopped") as session:
            if at:
                assert (at, seen(session), faces(session)) == (at, *told[at - 1])
            for number, event in numbered[at : at + every]:
                take(session, number, event)
    with graphs.open("stopped") as session:
        resumed, kind = items(session), session._writer.kind

    one, other = graphs.records("whole"), graphs.records("stopped")
    assert len(happened) == 249 + 101
    assert [stream for stream in STREAMS if not one[stream]] == []
    for stream in STREAMS:
        assert timeless(other[stream]) == timeless(one[stream])
    assert resumed == whole
    rebuild(graphs.store, "stopped", kind)
    with graphs.open("stopped") as session:
        assert items(session) == whole
