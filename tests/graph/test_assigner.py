"""Text to features, features to signatures, signatures to the buckets of a node."""

import os
import subprocess
import sys
from collections import Counter

import pytest

from varvite.errors import InputError
from varvite.graph import features, field_map, routes
from varvite.graph.assigner import EMBEDDING_FEATURES, Embedding, Lexical, assigner_of
from varvite.graph.bucket import Bucket
from varvite.graph.landscape import Arrival
from varvite.graph.likeness import Likeness
from varvite.graph.parameters import Parameters
from varvite.graph.signature import FEATURES_MAX, HEAD, SCALE, Signature, weighed
from varvite.graph.vocabulary import NODES_LEARNED, SLOTS, Vocabulary, rarities


def test_a_texts_features_are_its_words_and_pairs_of_neighbours():
    assert len(features.of("finite size error")) == 5
    assert features.of("size error") < features.of("finite size error")
    assert features.of("error size") != features.of("size error")


def test_case_plurals_stop_words_digits_and_short_words_make_no_difference():
    assert features.of("The Errors of 12 N sizes are") == features.of("error size")


def test_other_scripts_are_words_and_a_kanji_is_one():
    assert len(features.of("Größe übermäßig")) == 3
    assert len(features.of("有限サイズ")) == 5 + 4


def test_a_text_of_nothing_that_counts_has_no_features():
    assert features.of("") == features.of("the 12 of $x^2$") == set()


@pytest.mark.parametrize("seed", ["0", "1"])
def test_features_are_the_same_in_every_process(seed):
    program = "from varvite.graph import features; print(sorted(features.of('finite size error')))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONHASHSEED": seed},
        capture_output=True,
        check=True,
        text=True,
    )

    assert done.stdout.strip() == "[588603, 3735906, 12592234, 14531697, 14639784]"


def test_what_all_nodes_have_weighs_nothing_and_what_is_rarest_weighs_sixteen():
    assert rarities(NODES_LEARNED)[0] == 16
    assert rarities(NODES_LEARNED)[-1] == 0
    assert rarities(NODES_LEARNED) == sorted(rarities(NODES_LEARNED), reverse=True)


def test_the_vocabulary_learns_from_the_first_nodes_and_then_rests():
    vocabulary = Vocabulary(0, [0] * SLOTS)
    for _ in range(NODES_LEARNED + 5):
        vocabulary.learn({1: 1, 1 + SLOTS: 1, 2: 1})

    assert (vocabulary.nodes, vocabulary.found[1], sum(vocabulary.found)) == (
        NODES_LEARNED,
        NODES_LEARNED,
        2 * NODES_LEARNED,
    )
    assert vocabulary.weigh({1: 1, 3: 1}) == {3: 16}


def test_a_signature_is_the_sum_of_its_nodes():
    signature = Signature({})
    for weights in ({1: 3, 2: 1}, {1: 4, 3: 2}):
        signature.add(weighed(weights))

    assert signature.ordered() == ([1, 3, 2], [7, 2, 1])
    assert signature.similarity(weighed({1: 7, 2: 1, 3: 2})) == SCALE
    assert signature.similarity(weighed({4: 1})) == signature.similarity(weighed({})) == 0
    assert Signature({}).similarity(weighed({1: 1})) == 0


def test_a_signature_keeps_the_heaviest_features():
    signature = Signature(dict.fromkeys(range(FEATURES_MAX), 10))

    signature.add(weighed({FEATURES_MAX: 10, FEATURES_MAX + 1: 11, 5: 1}))

    kept, weights = signature.ordered()
    assert (kept[:3], weights[:3]) == ([5, FEATURES_MAX + 1, 0], [11, 11, 10])
    assert len(kept) == FEATURES_MAX
    assert FEATURES_MAX not in kept


def test_a_signature_that_is_read_again_is_the_same():
    signature = Signature({})
    for number in range(40):
        signature.add(weighed({(number * step) % 211: step for step in range(1, 17)}))
    again = Signature(dict(zip(*signature.ordered(), strict=True)))

    probe = weighed({feature: 1 + feature % 7 for feature in range(0, 211, 3)})
    assert again.head == signature.head
    assert again.similarity(probe) == signature.similarity(probe)


def test_the_head_follows_what_grows_heavy():
    signature = Signature(dict.fromkeys(range(HEAD + 1), 100))
    before = signature.head

    signature.add(weighed({HEAD: 1}))

    assert HEAD not in before
    assert signature.head == before - {HEAD - 1} | {HEAD}


def test_an_embedding_keeps_the_components_farthest_from_zero_by_their_sign():
    vector = [0.0] * 200 + [-2.0, 1.0]

    (kept,) = Embedding(lambda texts: [vector for _ in texts]).features(["a"])

    assert kept == {401: 1000, 402: 500}
    (many,) = Embedding(lambda _texts: [[1.0] * 200]).features(["a"])
    assert len(many) == EMBEDDING_FEATURES


@pytest.mark.parametrize("vectors", [[], [[1.0], [1.0]], [[float("nan")]], [[float("inf")]]])
def test_an_embedding_that_gives_no_vector_a_text_is_refused(vectors):
    with pytest.raises(InputError):
        Embedding(lambda _texts: vectors).features(["a"])


def test_an_assigner_is_given_made_around_a_function_or_the_lexical_one():
    own = Lexical()

    assert assigner_of(own) is own
    assert assigner_of(None).method == "lexical"
    assert assigner_of(lambda texts: [[1.0] for _ in texts]).method == "embedding"


class Memory:
    """An index of dictionaries, filled through the fold of `buckets` records."""

    def __init__(self):
        self.entries, self.asked = {}, Counter()

    def read(self, table, key):
        self.asked[table] += 1
        return self.entries.get((table, key))

    def take(self, records):
        from varvite.graph.fold import fold

        made = [record | {"seq": 1, "rev": 0} for record in records]
        for table, key, value in fold(made, self.read):
            self.entries[table, key] = value


WORDS = [
    f"{a}{b}{c}{d}word" for a in "bcdfgh" for b in "aeiou" for c in "klmnprst" for d in "aeiou"
]
WORDS += [word[::-1] for word in WORDS]


def opened(buckets, terms=4):
    """A memory with so many buckets, each with words of its own and some that all share."""
    memory, parameters = Memory(), Parameters()
    for number in range(buckets):
        own = [WORDS[(number * 4 + step) % len(WORDS)] for step in range(terms)]
        made = Bucket(f"b{number}", f"bucket {WORDS[number % len(WORDS)]}", terms=[*own, "common"])
        plan = field_map.opening(made, memory.read, parameters, Lexical())
        memory.take(plan.records)
    return memory


def asked(memory, nodes):
    """What planning so many new nodes asks of the index, by table."""
    arrivals = [
        Arrival({"id": f"n{number}", "content": " ".join(WORDS[number : number + 120])}, "new")
        for number in range(nodes)
    ]
    memory.asked.clear()
    field_map.plan(arrivals, [], memory.read, Parameters(), Lexical())
    return memory.asked


@pytest.mark.parametrize("buckets", [50, 500])
def test_a_nodes_lookups_are_bounded_however_many_buckets_there_are(buckets):
    counts = asked(opened(buckets), nodes=1)

    assert counts[routes.POSTING] <= routes.LOOKUPS + 2 * 2 * HEAD
    assert counts[routes.SIGNATURE] <= routes.CANDIDATES
    assert counts["bucket"] <= Parameters().buckets_per_node
    assert counts.total() <= routes.LOOKUPS + 2 * 2 * HEAD + routes.CANDIDATES + 8


def test_a_batch_asks_for_each_key_once():
    one = asked(opened(50), nodes=1)
    many = asked(opened(50), nodes=40)

    assert many["bucket_filter"] == many["vocabulary"] == 1
    assert many.total() < 40 * one.total() / 4


def test_a_bucket_is_found_among_five_hundred_by_its_words():
    memory = opened(500)
    for number in (3, 250, 499):
        bucket = Bucket.read(memory.read, f"b{number}")
        likeness = Likeness(memory.read, Lexical())
        text = " ".join([bucket.label, *bucket.terms[:-1]])

        (raw,) = likeness.features([text])
        near = likeness.nearest(likeness.weigh(raw))

        assert near[0][1] == bucket.id
        assert len(near) <= routes.CANDIDATES


def test_a_bucket_leaves_the_features_that_left_its_head():
    memory = Memory()
    one = routes.Routes(memory.read, "lexical")
    one.move("b", frozenset(), frozenset({1, 2}))
    one.move("b", frozenset({1, 2}), frozenset({2, 3}))

    assert one.candidates(weighed({1: 1})) == []
    assert one.candidates(weighed({3: 1})) == ["b"]


def test_a_feature_leads_to_a_bounded_number_of_buckets():
    memory = Memory()
    one = routes.Routes(memory.read, "lexical")
    for number in range(routes.POSTING_MAX + 1):
        one.move(f"b{number:03}", frozenset(), frozenset({1}))

    assert len(one.candidates(weighed({1: 1}))) == routes.CANDIDATES
    assert [value.count(b"b") for name, _, value in one.entries() if name == routes.POSTING] == [
        routes.POSTING_MAX
    ]
