"""What a finished run would have done, as acts of a few hundred nodes each."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby, islice
from typing import Any

import orjson
import pyarrow.parquet as pq

from varvite.checkpoints.job import Proposal
from varvite.checkpoints.tables import Answers
from varvite.graph import regrouping
from varvite.graph.upkeep import ITEMS_MAX

CRITERIA = "Set apart from {of}: {terms}"


def proposals(answers: Answers) -> Iterator[Proposal]:
    """Moves and merges, renames, and places for what waits."""
    session = answers.receipt.session_id or ""
    for act, payload in _acts(answers):
        yield Proposal(session, act, payload)


def _acts(answers: Answers) -> Iterator[tuple[str, dict[str, Any]]]:
    rows = answers.table("proposals").to_pylist()
    opened = {row["bucket_ids"][1]: _words(row) for row in rows if row["kind"] == "split"}
    yield from _moves(answers, opened)
    for row in rows:
        if row["kind"] == "merge":
            into, ending = row["bucket_ids"]
            yield regrouping.MERGE, {"bucket_id": ending, "into": into}
        if row["kind"] == "rename":
            was = orjson.loads(row["reasons"])["was"]
            named = {"bucket_id": row["bucket_ids"][0], "label": row["label"], "was": was}
            yield regrouping.RENAME, named
    places = (
        [row["node_id"], row["bucket_id"]]
        for row in _rows(answers, "placements")
        if row["bucket_id"] is not None
    )
    for chunk in _chunks(places):
        yield regrouping.PLACE, {"places": chunk}


def _words(row: dict[str, Any]) -> dict[str, Any]:
    reasons = orjson.loads(row["reasons"])
    told = reasons["terms"]
    criteria = CRITERIA.format(of=reasons["of"], terms=", ".join(told) or row["label"])
    return {"label": row["label"], "terms": told, "criteria": criteria}


def _moves(answers: Answers, opened: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    staying: dict[str, list[str]] = defaultdict(list)
    for row in _rows(answers, "exemplars"):
        staying[row["bucket_id"]].append(row["node_id"])
    ends = groupby(_rows(answers, "moves"), lambda row: (row["source"], row["target"]))
    for (source, target), rows in ends:
        payload: dict[str, Any] = {"source": source, "target": target}
        if target in opened:
            payload |= {"open": opened[target], "exemplars": staying[source]}
        for chunk in _chunks(row["node_id"] for row in rows):
            yield regrouping.MOVE, payload | {"nodes": chunk}


def _chunks(given: Iterator[Any]) -> Iterator[list[Any]]:
    while chunk := list(islice(given, ITEMS_MAX)):
        yield chunk


def _rows(answers: Answers, table: str) -> Iterator[dict[str, Any]]:
    with pq.ParquetFile(answers.path(table)) as file:
        for batch in file.iter_batches():
            yield from batch.to_pylist()
