"""Papers that are the same work under several ids: a journal's and a preprint's, say.

Titles that are alike share a key; only pairs that share one are compared, word by word.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from varvite.checkpoints import minhash, titles
from varvite.checkpoints.job import Job, Parameter, Proposal, Stage
from varvite.checkpoints.run import Run
from varvite.checkpoints.tables import Answers
from varvite.checkpoints.titles import OTHER_AUTHORS, Title
from varvite.graph.upkeep import ITEMS_MAX, SAME_WORK

TITLES_READ, TITLES_AT_ONCE = 1 << 16, 1 << 12
SLIPS = 2
"""Titles that one misspelt word may stand in."""

_TEXT = pa.string()
_PAIRS = pa.schema(
    {
        "paper_id": _TEXT,
        "other_id": _TEXT,
        "similarity": pa.float64(),
        "same": pa.bool_(),
        "why": _TEXT,
    }
)
_GROUPS = pa.schema(dict.fromkeys(("group_id", "paper_id", "title", "doi"), _TEXT))


class Pair(NamedTuple):
    """paper_id is the lesser id. why: what makes them one work, or keeps them apart."""

    paper_id: str
    other_id: str
    similarity: float
    same: bool
    why: str


def _find(run: Run) -> dict[str, Any]:
    count = run.make("papers", "same_work_papers")
    chunks = [_keys([], [])]
    for batch in run.engine.batches("papers"):
        for start in range(0, batch.num_rows, TITLES_AT_ONCE):
            part = batch.slice(start, TITLES_AT_ONCE)
            chunks.append(_keys(part["number"].to_pylist(), part["title"].to_pylist()))
            run.report("reading titles", part["number"][-1].as_py(), count)
    run.put("work_keys", pa.concat_tables(chunks))
    hot = run.make("hot_keys", "same_work_hot_keys", {"most": run.parameters["most"]})
    return {
        "papers": count,
        "hot_keys": hot,
        "candidates": run.make("candidates", "same_work_candidates"),
    }


def _keys(numbers: list[int], texts: list[str]) -> pa.Table:
    """The keys of each paper: of its title, of it without its subtitle, and of its bands."""
    read = [(one, title) for one, text in zip(numbers, texts, strict=True)
            if (title := titles.read(text)).words]  # fmt: skip
    names = [(_hash(name), one) for one, title in read for name in {title.compact, title.main}]
    keys = [np.array([key for key, _ in names], np.int64)]
    owners = [np.array([one for _, one in names], np.int64)]
    if read:
        salts = [_hash("\x1f".join(title.numbers)) for _, title in read]
        keys.append(minhash.bands([title.words for _, title in read], salts).ravel())
        owners.append(np.repeat(np.array([one for one, _ in read], np.int64), minhash.BANDS))
    return pa.table({"key": np.concatenate(keys), "number": np.concatenate(owners)})


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), signed=True)


def _judge(run: Run) -> dict[str, Any]:
    papers = _Papers(run)
    found, whys, done = [_PAIRS.empty_table()], Counter[str](), 0
    for batch in run.engine.batches("candidates"):
        judged = [papers.pair(*ids) for ids in zip(*_lists(batch), strict=True)]
        kept = [one for one in judged if one.same or one.similarity >= run.parameters["alike"]]
        whys.update(one.why for one in kept)
        found.append(pa.Table.from_pylist([one._asdict() for one in kept], _PAIRS))
        done += batch.num_rows
        run.report("comparing titles", done, 0)
    run.put("pairs", pa.concat_tables(found))
    return {"pairs": sum(whys.values()), "whys": dict(sorted(whys.items()))}


def _lists(batch: pa.RecordBatch) -> Iterator[list[Any]]:
    return (column.to_pylist() for column in batch.columns)


class _Papers:
    """The papers by id; titles are read when they are asked for, and the last ones kept."""

    def __init__(self, run: Run) -> None:
        columns = [pa.Table.from_batches(run.engine.batches("papers"))[name].to_pylist()
                   for name in ("paper_id", "title", "authors")]  # fmt: skip
        self._texts = {one: texts for one, *texts in zip(*columns, strict=True)}
        self._common = _common(text for text, _ in self._texts.values())
        self._read = lru_cache(TITLES_READ)(self._read_anew)

    def _read_anew(self, paper_id: str) -> tuple[Title, frozenset[str]]:
        title, authors = self._texts[paper_id]
        return titles.read(title), titles.surnames(authors)

    def pair(self, paper_id: str, other_id: str) -> Pair:
        (title, names), (other, other_names) = self._read(paper_id), self._read(other_id)
        same, why = titles.verdict(title, other, names, other_names, self._common)
        return Pair(paper_id, other_id, titles.similarity(title, other), same, why)


def _common(texts: Iterable[str]) -> frozenset[str]:
    """The words that stand in more titles than a slip does."""
    counts: Counter[str] = Counter()
    for words in {titles.read(text).words for text in texts}:
        counts.update(set(words))
    return frozenset(word for word, count in counts.items() if count > SLIPS)


def _group(run: Run) -> dict[str, Any]:
    pairs = [Pair(**row) for batch in run.engine.batches("pairs") for row in batch.to_pylist()]
    group_of = grouped(pairs)
    rows = []
    for batch in run.engine.batches("papers"):
        rows += [row for row in batch.to_pylist() if row["paper_id"] in group_of]
        run.report("grouping", len(rows), len(group_of))
    groups = [row | {"group_id": group_of[row["paper_id"]]} for row in rows]
    groups.sort(key=lambda row: (row["group_id"], row["paper_id"]))
    run.put("groups", pa.Table.from_pylist(groups, _GROUPS))
    return {"groups": len(set(group_of.values())), "papers_in_groups": len(groups)}


def grouped(pairs: Iterable[Pair]) -> dict[str, str]:
    """Of each paper that is one work with another, the least id of that work's papers.

    The likeliest pairs first; papers of different authors are never brought together by a
    third one whose authors are unknown.
    """
    members: dict[str, set[str]] = {}
    apart: dict[str, set[str]] = {}
    pairs = sorted(pairs, key=lambda pair: (-pair.similarity, pair))
    for pair in pairs:
        if pair.why == OTHER_AUTHORS:
            apart.setdefault(pair.paper_id, set()).add(pair.other_id)
            apart.setdefault(pair.other_id, set()).add(pair.paper_id)
    for pair in pairs:
        one, other = (members.get(end, {end}) for end in pair[:2])
        if pair.same and one is not other and not any(apart.get(end, set()) & other for end in one):
            whole = one | other
            members |= dict.fromkeys(whole, whole)
    return {paper_id: min(whole) for paper_id, whole in members.items()}


def _proposals(answers: Answers) -> Iterator[Proposal]:
    session = answers.receipt.session_id or ""
    groups = answers.table("groups")
    group_of = dict(
        zip(*(groups[name].to_pylist() for name in ("paper_id", "group_id")), strict=True)
    )
    edges = [
        list(pair[:2])
        for pair in (Pair(**row) for row in answers.table("pairs").to_pylist())
        if pair.same and group_of.get(pair.paper_id) == group_of.get(pair.other_id)
    ]
    for at in range(0, len(edges), ITEMS_MAX):
        yield Proposal(session, SAME_WORK, {"pairs": edges[at : at + ITEMS_MAX]})


JOB = Job(
    "same-work",
    "Finds the papers that are the same work under several ids, by their titles and authors.",
    stages=(
        Stage("find", _find, ("papers", "candidates", "hot_keys")),
        Stage("judge", _judge, ("pairs",)),
        Stage("group", _group, ("groups",)),
    ),
    kind="graph",
    parameters={
        "alike": Parameter(
            0.7, "trigrams in common from which a pair that is not the same is kept", 0.0, 1.0
        ),
        "most": Parameter(50, "papers of one key that are compared with each other", 2, 10_000),
    },
    proposals=_proposals,
)
