"""The field map is a function of the hits in their order, and of nothing else."""

import json
from types import SimpleNamespace

from hypothesis import given, settings
from hypothesis import strategies as st

from varvite.graph import face, payloads
from varvite.graph.session import GRAPH, GraphSession
from varvite.session import projecting
from varvite.session.index import key_bytes
from varvite.session.journal import Commit
from varvite.session.records import lines, revisions
from varvite.session.writer import Receipt

TOPICS = ("finite size error limit", "trial wave nodes backflow", "width layer disorder well")
WORDS = [word for topic in TOPICS for word in topic.split()] + ["energy", "electron", "value"]
PARAMETERS = {"assign_at": 0.3, "ambiguous_at": 0.2, "exemplars": 3, "covered_nodes": 4}


class InMemory:
    """A writer without a disk: records are numbered and folded as by the real one."""

    def __init__(self, parameters):
        self.identity = SimpleNamespace(id="s", parameters=parameters)
        self.cursor, self.values, self.journal, self.recovered = 0, {}, [], None

    def get(self, table, key):
        return self.values.get(key_bytes(table, key))

    read = get

    def append(self, given, *, key=None, expected_cursor=None):
        made = lines(given, self.cursor, "2026-01-01T00:00:00Z", "a", self._many)
        first, self.cursor = self.cursor + 1, self.cursor + len(made.records)
        self._fold(made.records, made.latest)
        self.journal.append(made.records)
        return Receipt(self.cursor, first, len(self.journal), "")

    def replayed(self):
        """Another one, made of this one's journal alone."""
        other = InMemory(self.identity.parameters)
        for records in self.journal:
            other._fold(records, revisions(records))
        return other

    def _fold(self, records, latest):
        ends = records[0]["seq"], records[-1]["seq"]
        commit = Commit(0, *ends, size=0, key=None, epoch=0, level="fast", synced=0, at="")
        self.values |= projecting.entries(commit, records, latest, GRAPH.fold, self)

    def _many(self, keys):
        return [self.values.get(key) for key in keys]


def hit(number):
    fields = st.fixed_dictionaries(
        {
            "words": st.lists(st.sampled_from(WORDS), min_size=3, max_size=9),
            "role": st.sampled_from(["premise", "conclusion", "opposes"]),
            "variable_type": st.sampled_from(["claim", "question"]),
            "paper": st.sampled_from("123"),
        },
        optional={
            "bucket_ids": st.lists(st.sampled_from("012"), min_size=1, max_size=2, unique=True)
        },
    )
    return fields.map(lambda made: (number, made))


def normalised(number, made):
    fields = {name: made[name] for name in ("role", "variable_type", "bucket_ids") if name in made}
    return fields | {
        "id": str(number),
        "content": " ".join(made["words"]),
        "paper": {"id": made["paper"]},
    }


def chain(number):
    """A response that names a variable before, or after, it is a hit."""
    premise = {"id": str(number), "content": TOPICS[number % 3]}
    factor = {"id": f"f{number}", "premises": [premise], "conclusion": {"id": "c", "content": "c"}}
    chains = [{"source_package": "paper:9", "factors": [factor]}]
    return {"code": 0, "data": {"evidence_chains": chains}}


RESPONSES = st.lists(
    st.one_of(
        st.lists(st.integers(0, 9).flatmap(hit), min_size=1, max_size=4),
        st.integers(0, 9),
    ),
    min_size=1,
    max_size=8,
)


def payload(place, response):
    if isinstance(response, int):
        return payloads.Payload(json.dumps(chain(response)), str(place))
    return payloads.from_hits([normalised(*one) for one in response], file=str(place))


def submitted(responses, cuts):
    """A session that got the responses, cut into batches before the places in `cuts`."""
    writer = InMemory(PARAMETERS)
    session = GraphSession(writer)
    for number, topic in enumerate(TOPICS):
        session.open_bucket(topic.split()[0], terms=[topic], bucket_id=str(number))
    given = [payload(place, response) for place, response in enumerate(responses)]
    ends = [*sorted(cuts), len(given)]
    for start, end in zip([0, *ends], ends, strict=False):
        if start < end:
            session.submit(given[start:end])
    return writer


def latest(writer, stream):
    """Where each id of a stream stands, without the places that batches give."""
    records = [one for batch in writer.journal for one in batch if one["stream"] == stream]
    dropped = ("seq", "prev_seq", "rev", "at")
    return {one["id"]: {name: one[name] for name in one if name not in dropped} for one in records}


@settings(deadline=None, max_examples=60)
@given(RESPONSES, st.sets(st.integers(1, 7)))
def test_how_hits_are_cut_into_batches_makes_no_difference(responses, cuts):
    whole = submitted(responses, ())
    cut = submitted(responses, {place for place in cuts if place < len(responses)})

    for stream in ("memberships", "buckets", "vocabulary"):
        assert latest(cut, stream) == latest(whole, stream)
    assert cut.get("bucket_filter", "lexical") == whole.get("bucket_filter", "lexical")
    for key in features_of(whole):
        led = [one.get("bucket_posting", key) or b"[]" for one in (cut, whole)]
        assert led[0] == led[1]


def features_of(writer):
    """The keys of the inverted index that the signatures of this session may stand under."""
    for bucket in latest(writer, "buckets").values():
        yield from (f"lexical\0{feature}" for feature in bucket["signature"]["features"])


@settings(deadline=None, max_examples=25)
@given(RESPONSES)
def test_the_map_from_deltas_is_the_map_replayed_from_the_journal(responses):
    writer = submitted(responses, range(1, len(responses)))

    replayed = writer.replayed()

    assert replayed.values == writer.values
    assert face.face(replayed.get) == face.face(writer.get)


@settings(deadline=None, max_examples=25)
@given(RESPONSES)
def test_a_bucket_is_what_its_memberships_add_up_to(responses):
    writer = submitted(responses, range(1, len(responses)))

    members = [one for one in latest(writer, "memberships").values() if one["state"] == "assigned"]
    for bucket_id, bucket in latest(writer, "buckets").items():
        own = [one for one in members if bucket_id in one["bucket_ids"]]
        papers = {one.get("paper_key") for one in own}
        assert bucket["nodes"] == len(own)
        assert bucket["claims"] == sum(one.get("variable_type") == "claim" for one in own)
        assert bucket["papers"] == len(papers - {None})
        scores = sorted(
            (one["scores"][one["bucket_ids"].index(bucket_id)] for one in own), reverse=True
        )
        assert [one["score"] for one in bucket["exemplars"]] == scores[:3]
