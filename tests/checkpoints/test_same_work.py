"""The checkpoint `same-work`: papers that are one work under several ids."""

import json
import unicodedata
from collections import defaultdict
from itertools import combinations
from random import Random

import pytest

import varvite
from varvite.checkpoints import minhash, titles
from varvite.checkpoints.same_work import Pair, grouped
from varvite.errors import SessionStatusError
from varvite.graph import payloads
from varvite.session import inbox
from varvite.testing import growing, mixed

SYLLABLES = [start + vowel for start in "bdfgklmnprstv" for vowel in ("a", "en", "i", "or", "u")]
WORDS = sorted({"".join(Random(seed).sample(SYLLABLES, 4)) for seed in range(3_000)})


def new(tmp_path, papers=()):
    """A store with session `s` of these papers: (id, title, authors)."""
    store = varvite.open(tmp_path / "store")
    store.graph("s", create=True).close()
    add(store, papers)
    return store


def add(store, papers):
    if papers:
        made = [
            {"stream": "nodes", "id": one, "node_kind": "paper", "paper_key": one, "title": title}
            | ({"metadata": {"authors": authors}} if authors else {})
            for one, title, authors in papers
        ]
        mixed.append(store, "s", made)


def found(store, **options):
    (ran,) = store.checkpoint("same-work", "s", **options)
    return ran


def groups(ran):
    """Sets of ids, and what the table says beside them is of the papers."""
    made = defaultdict(set)
    for row in ran.answers.table("groups").to_pylist():
        made[row["group_id"]].add(row["paper_id"])
    assert all(first == min(group) for first, group in made.items())
    return {frozenset(group) for group in made.values()}


def pairs_of(groups):
    return {pair for group in groups for pair in combinations(sorted(group), 2)}


def edges(store):
    return store.sql(
        "select src, dst, origin, status from edges where edge_kind = 'same_work' order by 1, 2"
    ).rows()


def by_title(rows):
    """The plain way: ids by title in NFKD, lower case, letters and digits alone."""
    by = defaultdict(set)
    for row in rows:
        plain = unicodedata.normalize("NFKD", row["title"]).lower()
        by["".join(one for one in plain if one.isalnum())].add(row["id"])
    return {frozenset(group) for group in by.values() if len(group) > 1}


def papers(store):
    return store.sql("select id, title from nodes where node_kind = 'paper'").dicts()


@pytest.mark.parametrize(("logged", "count", "more"), [(False, 13, 3), (True, 12, 3)])
def test_the_groups_of_a_real_session_are_found(shared, tmp_path, logged, count, more):
    file = shared / "data/gaia/twodheg__lkm_payloads.ndjson"
    given = list(payloads.in_file(str(file)))
    if logged:
        log = (shared / "data/gaia/twodheg__retrieval_log.jsonl").read_text().splitlines()
        named = {f"artifacts/lkm-discovery/{json.loads(line)['raw_output']}" for line in log}
        given = [one for one in given if one.file in named]
    store = new(tmp_path)
    with store.graph("s", level="fast") as session:
        session.submit(given)

    ran = found(store)

    same_title = by_title(papers(store))
    assert len(same_title) == count
    assert same_title <= groups(ran)
    others = [
        (row["why"], row["similarity"] > 0.85)
        for row in ran.answers.table("pairs").to_pylist()
        if row["same"] and {row["paper_id"], row["other_id"]} not in same_title
    ]
    assert others == [("same words", True)] * more  # `The`, `A`: an article more or less


def test_the_duplicates_of_a_sampled_session_are_those_of_the_plain_way(tmp_path):
    store = varvite.open(tmp_path / "store")
    growing.graph(store, "s", 12_000)

    ran = found(store)

    assert groups(ran) == by_title(papers(store))
    assert ran.receipt.results["groups"] > 20


def planted(rng, works):
    """Papers of as many works, and which of them are of one work."""
    made, plan = [], []
    for number in range(works):
        own = rng.sample(WORDS, 9)
        title = " ".join([*own[:4], "of the", *own[4:]])
        authors = f"A. Author{number} | B. Berg"
        copies = [title, *(variant(rng, title) for _ in range(rng.choice((0, 0, 1, 2))))]
        others = [near_miss(rng, title, number)] if rng.random() < 0.5 else []
        ids = [f"paper_{rng.getrandbits(60):015x}" for _ in copies]
        made += [(one, text, authors) for one, text in zip(ids, copies, strict=True)]
        made += [(f"paper_{rng.getrandbits(60):015x}", *other) for other in others]
        plan.append(ids)
    return made, {frozenset(ids) for ids in plan if len(ids) > 1}


def variant(rng, title):
    own = title.split()
    at = rng.randrange(4)
    letter = rng.randrange(1, len(own[at]))
    typo = own[at][:letter] + "q" + own[at][letter:]
    return rng.choice(
        [
            title.upper() + ".",
            title.replace(" of ", " — of ").replace(own[0], f"{own[0]}-", 1),
            " ".join([*own[:at], typo, *own[at + 1 :]]),
            " ".join([*own[:at], own[at][:letter] + own[at][letter + 1 :], *own[at + 1 :]]),
            " ".join(rng.sample(own, len(own))),
            f"The {title}",
            f"{title}: A View from {rng.choice(WORDS)} Physics",
        ]
    )


def near_miss(rng, title, number):
    own = title.split()
    at = rng.randrange(4)
    other = rng.choice([one for one in WORDS if one not in own])
    authors = f"A. Author{number} | B. Berg"
    return rng.choice(
        [
            (f"{title} Part II", authors),
            (f"{title} 2019", authors),
            (f"{title}: Part I", authors),
            (f"{title}: Erratum", authors),
            (" ".join([*own[:at], other, *own[at + 1 :]]), authors),
            (" ".join([*own[:at], f"non{own[at]}", *own[at + 1 :]]), authors),
            (title, f"C. Other{number} | D. Else{number}"),
        ]
    )


def test_planted_variants_are_found_and_near_misses_are_not(tmp_path):
    made, plan = planted(Random(4), 1_500)
    store = new(tmp_path, made)

    mine, planned = pairs_of(groups(found(store))), pairs_of(plan)

    assert len(planned) > 800
    assert len(mine & planned) / len(mine) >= 0.95  # precision
    assert len(mine & planned) / len(planned) >= 0.95  # recall


def test_the_keys_lose_no_pair_that_comparing_all_with_all_finds(tmp_path):
    made, _ = planted(Random(5), 150)
    store = new(tmp_path, made)

    ran = found(store)

    read = {one: (titles.read(title), titles.surnames(by)) for one, title, by in made}
    common = varvite.checkpoints.same_work._common(title for _, title, _ in made)
    want = {
        (one, other): titles.verdict(read[one][0], read[other][0], read[one][1], read[other][1], common)[1]
        for one, other in combinations(sorted(read), 2)
        if titles.verdict(read[one][0], read[other][0], read[one][1], read[other][1], common)[0]
    }  # fmt: skip
    assert want == {
        (row["paper_id"], row["other_id"]): row["why"]
        for row in ran.answers.table("pairs").to_pylist()
        if row["same"]
    }
    assert set(want.values()) == {
        "same title",
        "same words",
        "same words but for spelling",
        "same title but for a subtitle",
    }


@pytest.mark.parametrize(
    ("one", "other", "same", "why"),
    [
        ("Ground-state properties of MgSiO$_3$", "Ground state Properties of MgSiO₃", True, "same title"),
        ("Müller cells in the eye of a fish", "Muller Cells in the Eye of a Fish", True, "same title"),
        ("Spin mass of an electron liquid", "The spin mass of an electron liquid", True, "same words"),
        ("Liquid electrons have a spin mass", "A spin mass electrons have liquid", True, "same words"),
        ("Momentum distribution of sodium metal", "Momentum distribtuion of sodium metal", True, "same words but for spelling"),
        ("Metal surface energy under stress: a study", "Metal surface energy under stress", True, "same title but for a subtitle"),
        ("Metal surface energy under stress: Reply", "Metal surface energy under stress", False, "other words"),
        ("Metal surface energy under stress: part a", "Metal surface energy under stress", False, "other words"),
        ("Metal surface energy: one", "Metal surface energy: two", False, "other words"),
        ("Theory of the magnetic moment II", "Theory of the magnetic moment III", False, "other numbers"),
        ("Report of the whole committee 2019", "Report of the whole committee 2020", False, "other numbers"),
        ("Theory of the magnetic moment: low", "Theory of the magnetic moment: two", False, "other words"),
        ("Theory of ferromagnetic order here", "Theory of ferrimagnetic order here", False, "other words"),
        ("Theory of magnetic order here", "Theory of nonmagnetic order here", False, "other words"),
        ("Theory of typical order here", "Theory of atypical order here", False, "other words"),
        ("On spin", "Of spin", False, "short title"),
    ],
)  # fmt: skip
def test_what_is_one_work_and_what_is_not(one, other, same, why):
    both = (titles.read(one), titles.read(other))
    names = frozenset({"berg"})
    common = {"ferromagnetic", "ferrimagnetic"}

    assert titles.verdict(*both, names, names, common) == (same, why)
    assert titles.verdict(*both[::-1], names, names, common) == (same, why)


@pytest.mark.parametrize(
    ("one", "other", "title", "same"),
    [
        ("A. Li | B. Berg", "Berg, Bo; Li, An", "Introduction", True),
        ("A. Li | B. Berg | C. Ito", "B. Berg | C. Ito | D. Xu", "A title of some words", True),
        ("A. Li | B. Berg", "C. Ito | D. Xu", "A title of some words", False),
        ("A. Li", None, "A title of some words", True),
        (None, None, "A title of some words", True),
        ("A. Li", None, "Introduction", False),
        (None, None, "Introduction", False),
    ],
)
def test_authors_tell_works_of_one_title_apart(one, other, title, same):
    read = titles.read(title)

    names = [titles.surnames(authors) for authors in (one, other)]

    assert titles.verdict(read, read, *names, ())[0] is same


def test_a_paper_without_authors_does_not_bring_two_works_together(tmp_path):
    title = "The same title of two works"
    store = new(tmp_path, [("a", title, "A. Li"), ("b", title, None), ("c", title, "B. Ito")])

    ran = found(store, apply=True)

    assert groups(ran) == {frozenset("ab")}
    assert edges(store) == [("a", "b", "maintenance", "active")]


def test_the_likeliest_pairs_make_groups_first():
    pairs = [Pair("a", "b", 0.8, True, ""), Pair("b", "c", 1.0, True, "")]

    assert grouped([*pairs, Pair("a", "c", 0.9, False, titles.OTHER_AUTHORS)]) == {
        "b": "b",
        "c": "b",
    }
    assert grouped(pairs) == dict.fromkeys("abc", "a")


def test_a_key_that_too_many_have_is_reported_and_not_compared(tmp_path):
    made = [(f"paper_{n}", "One and the same old title", f"A. Author{n}") for n in range(60)]
    store = new(tmp_path, [*made, ("x", "Another title of a few words", "A. Li")])

    ran = found(store)

    assert ran.receipt.results["candidates"] == 0
    hot = ran.answers.table("hot_keys").to_pylist()
    assert {(row["papers"], row["example"]) for row in hot} == {(60, "One and the same old title")}
    assert found(store, parameters={"most": 60}).receipt.results["candidates"] == 60 * 59 // 2


def test_bands_do_not_depend_on_the_order_of_words_or_of_texts():
    texts = [
        ("a", "b"),
        ("cyclotron", "mass"),
        ("mass", "cyclotron"),
        ("μ",),
        ("mass", "cyclotrons"),
    ]

    keys = minhash.bands(texts, [0] * 5)

    assert keys.shape == (5, minhash.BANDS)
    assert (keys[1] == keys[2]).all()
    assert len({tuple(row) for row in keys}) == 4
    assert (minhash.bands(texts[::-1], [0] * 5)[::-1] == keys).all()
    assert not (minhash.bands(texts, [1] * 5) == keys).any()
    assert 0 < (keys[1] == keys[4]).sum() < minhash.BANDS


def test_what_is_proposed_becomes_edges_once(tmp_path):
    made, _ = planted(Random(6), 40)
    store = new(tmp_path, made)

    ran = found(store, apply=True)
    before = store.session("s")["cursor"]
    again = found(store, apply=True)

    same = [row for row in ran.answers.table("pairs").to_pylist() if row["same"]]
    assert ran.applied == {"committed": 1}
    assert edges(store) == [
        (row["paper_id"], row["other_id"], "maintenance", "active") for row in same
    ]
    assert again.state == "ran"
    assert store.session("s")["cursor"] == before
    assert store.sql("select distinct actor from edges").rows() == [("checkpoint:same-work",)]


def test_an_edge_that_was_retracted_stays_so(tmp_path):
    store = new(
        tmp_path, [("a", "A title of some words", None), ("b", "A title of some words", None)]
    )
    found(store, apply=True)
    (row,) = store.sql("select id, src, dst, edge_kind, origin from edges").dicts()
    mixed.append(store, "s", [{"stream": "edges", "status": "retracted"} | row])

    found(store, apply=True)

    assert edges(store) == [("a", "b", "maintenance", "retracted")]


def test_many_pairs_are_handed_in_as_many_acts(tmp_path):
    title = "A title of some words number {}"
    made = [(f"p{n}{half}", title.format(n), None) for n in range(501) for half in "ab"]
    store = new(tmp_path, made)

    ran = found(store, apply=True)

    assert ran.receipt.proposes == {"same_work": 2}
    assert ran.applied == {"committed": 2}
    assert len(edges(store)) == 501


@pytest.mark.parametrize(
    "pairs", [[["a", "gone"]], [["a"]], ["ab"], [["a", "a"]], [["a", "b"]] * 501, None]
)
def test_an_act_that_names_what_is_no_pair_of_papers_is_refused(tmp_path, pairs):
    store = new(tmp_path, [("a", "One", None), ("b", "Two", None)])
    with store._folder() as folder, folder.folder("s") as session:
        inbox.leave(session, inbox.Act("k", "same_work", "test", {"pairs": pairs}))

        store.graph("s").close()
        mixed.append(store, "s", [{"stream": "nodes", "id": "c", "node_kind": "package"}])

        assert len(inbox.refused(session)) == 1
    assert edges(store) == []


def test_a_paused_session_takes_nothing_in_until_it_goes_on(tmp_path):
    made = [("a", "A title of some words", None), ("b", "A title of some words", None)]
    store = new(tmp_path, made)
    with store.graph("s") as session:
        session.pause()

    with pytest.raises(SessionStatusError):
        found(store, apply=True)
    with store.graph("s") as session:
        session.resume()

    assert len(edges(store)) == 1


def test_papers_without_title_or_words_and_sessions_without_papers_are_no_trouble(tmp_path):
    store = new(tmp_path)
    assert found(store).receipt.results["groups"] == 0

    add(store, [("a", "—", None), ("b", "—", None), ("c", "", None)])

    assert found(store).receipt.results["groups"] == 0
