"""Communities held against the buckets of today: merges, splits, renames, and what they move."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import orjson
import pyarrow as pa

from varvite import ids
from varvite.checkpoints.recluster import deciding, terms
from varvite.checkpoints.recluster.deciding import Limits, Merge, Part, Split, Standing
from varvite.checkpoints.recluster.terms import Term, Texts
from varvite.checkpoints.run import Run
from varvite.graph.bucket import LABEL_CHARS_MAX

SAMPLE_NODES, SAMPLE_CHARS = 32, 1_000
PARTS_NAMED_MAX = 500
"""Parts whose texts are read, the largest first; one beyond them is called by its bucket."""

EXEMPLARS_MAX = 64
_TEXT, _NUMBER = pa.string(), pa.int64()
PROPOSALS = pa.schema(
    {
        "kind": _TEXT,
        "bucket_ids": pa.list_(_TEXT),
        "label": _TEXT,
        "community": _NUMBER,
        "nodes": _NUMBER,
        "reasons": _TEXT,
    }
)
MERGES = pa.schema({"bucket_id": _TEXT, "target": _TEXT})
SPLITS = pa.schema({"bucket_id": _TEXT, "community": _NUMBER, "target": _TEXT})
_WANTED = pa.schema({"bucket_id": _TEXT, "community": _NUMBER})
Key = tuple[str, int]


def compare(run: Run) -> dict[str, Any]:
    """Make `proposals`, and `moves`, `exemplars` and `cluster_merges` that follow from them."""
    run.make("cluster_standing")
    limits = _limits(run)
    parts = [
        Part(**row)
        for row in run.ask(
            "cluster_parts", {"least": limits.least, "share": limits.split}
        ).to_pylist()
    ]
    buckets = {row["bucket_id"]: Standing(**row) for row in run.ask("cluster_buckets").to_pylist()}
    run.report("merges and splits", 0, 0)
    merged = deciding.merges(_firsts(parts), buckets, _sizes(run), limits)
    split = deciding.splits(parts, buckets, merged, limits)
    run.report("words of buckets", 0, 0)
    words = _Words(run, parts, split)
    named = _named(split, words, buckets)
    renamed = list(_renames(run, _firsts(parts), merged, words, buckets))
    rows = [*_merge_rows(merged), *_split_rows(named, buckets), *renamed]
    run.put("proposals", pa.Table.from_pylist(rows, PROPOSALS))
    _move(run, merged, named)
    kinds = Counter(row["kind"] for row in rows)
    return {f"{kind}s": kinds[kind] for kind in ("merge", "split", "rename")}


def place(run: Run) -> dict[str, Any]:
    """Make `placements`."""
    run.make("cluster_standing")
    run.report("places of what waits", 0, 0)
    run.make("placements", "cluster_placements")
    methods: Counter[str] = Counter()
    for batch in run.engine.batches("placements"):
        methods.update(batch["method"].to_pylist())
    return {"waiting": methods.total(), "placed_by": dict(sorted(methods.items()))}


def _limits(run: Run) -> Limits:
    given = run.parameters
    nodes = sum(batch.num_rows for batch in run.engine.batches("communities"))
    return Limits(given["least"], given["merge_share"], given["split_share"], nodes // 2 + 1)


def _sizes(run: Run) -> dict[int, int]:
    found: dict[int, int] = {}
    for batch in run.engine.batches("communities"):
        found.update(zip(batch["community"].to_pylist(), batch["size"].to_pylist(), strict=True))
    return found


def _firsts(parts: Iterable[Part]) -> list[Part]:
    """The largest part of each bucket; they come in that order."""
    firsts: dict[str, Part] = {}
    for part in parts:
        firsts.setdefault(part.bucket_id, part)
    return list(firsts.values())


class _Words:
    """Terms and texts of the largest part of each bucket, and of the parts of those that split."""

    def __init__(self, run: Run, parts: list[Part], split: list[Split]) -> None:
        wanted = {(one.bucket_id, one.community): one for one in _firsts(parts)}
        wanted |= {(p.bucket_id, p.community): p for one in split for p in (one.main, *one.parts)}
        largest = sorted(wanted.values(), key=lambda part: (-part.nodes, part))[:PARTS_NAMED_MAX]
        rows = [{name: getattr(one, name) for name in _WANTED.names} for one in largest]
        run.put("cluster_wanted", pa.Table.from_pylist(rows, _WANTED))
        run.make("cluster_samples", params={"most": SAMPLE_NODES, "chars": SAMPLE_CHARS})
        self.texts: dict[Key, Texts] = {}
        for batch in run.engine.batches("cluster_samples"):
            for bucket_id, community, text in zip(*(c.to_pylist() for c in batch), strict=True):
                self.texts.setdefault((bucket_id, community), Texts()).add(text)
        told = terms.distinguishing(list(self.texts.values()))
        self.terms: dict[Key, list[Term]] = dict(zip(self.texts, told, strict=True))

    def of(self, part: Part) -> list[Term]:
        return self.terms.get((part.bucket_id, part.community), [])


class _New:
    """A part that would be a bucket of its own."""

    def __init__(self, part: Part, label: str, told: list[Term]) -> None:
        self.part, self.label, self.terms = part, label[:LABEL_CHARS_MAX], told
        self.bucket_id = ids.derived("bucket", part.bucket_id, self.label)


def _named(
    split: list[Split], words: _Words, buckets: dict[str, Standing]
) -> list[tuple[Split, list[_New]]]:
    named = []
    for one in split:
        made = []
        for number, part in enumerate(one.parts, 2):
            told = words.of(part)
            plain = f"{buckets[part.bucket_id].label}, part {number}"
            made.append(_New(part, terms.label(told) or plain, told))
        named.append((one, made))
    return named


def _renames(
    run: Run,
    firsts: list[Part],
    merged: list[Merge],
    words: _Words,
    buckets: dict[str, Standing],
) -> Iterator[dict[str, Any]]:
    """Buckets whose label says nothing of their texts, where other words do."""
    ending = {one.part.bucket_id for one in merged}
    for part in firsts:
        bucket, told = buckets[part.bucket_id], words.of(part)
        texts = words.texts.get((part.bucket_id, part.community))
        if not bucket.live or part.bucket_id in ending or not told or texts is None:
            continue
        telling = terms.telling(bucket.label, texts)
        label = terms.label(told)[:LABEL_CHARS_MAX]
        counts = part.nodes >= run.parameters["least"] and label != bucket.label
        if counts and telling < run.parameters["rename_below"]:
            reasons = {"was": bucket.label, "telling": round(telling, 3), "terms": _shown(told)}
            yield _row("rename", [part.bucket_id], part, reasons, label=label)


def _merge_rows(merged: list[Merge]) -> Iterator[dict[str, Any]]:
    for one in merged:
        part = one.part
        reasons = {"share": round(part.share, 3), "of": part.bucket_nodes, "left": one.left}
        yield _row("merge", [one.into, part.bucket_id], part, reasons, nodes=part.bucket_nodes)


def _split_rows(
    named: list[tuple[Split, list[_New]]], buckets: dict[str, Standing]
) -> Iterator[dict[str, Any]]:
    for one, made in named:
        for new in made:
            reasons = {
                "share": round(new.part.share, 3),
                "stays": round(one.main.share, 3),
                "of": buckets[new.part.bucket_id].label,
                "terms": _shown(new.terms),
            }
            yield _row(
                "split", [new.part.bucket_id, new.bucket_id], new.part, reasons, label=new.label
            )


def _row(
    kind: str,
    bucket_ids: list[str],
    part: Part,
    reasons: dict[str, Any],
    *,
    label: str | None = None,
    nodes: int | None = None,
) -> dict[str, Any]:
    return {
        "kind": kind,
        "bucket_ids": bucket_ids,
        "label": label,
        "community": part.community,
        "nodes": part.nodes if nodes is None else nodes,
        "reasons": orjson.dumps(reasons).decode(),
    }


def _shown(told: list[Term]) -> list[str]:
    return [one.text for one in told]


def _move(run: Run, merged: list[Merge], named: list[tuple[Split, list[_New]]]) -> None:
    into = [{"bucket_id": one.part.bucket_id, "target": one.into} for one in merged]
    apart = [
        {"bucket_id": n.part.bucket_id, "community": n.part.community, "target": n.bucket_id}
        for _, made in named
        for n in made
    ]
    run.put("cluster_merges", pa.Table.from_pylist(into, MERGES))
    run.put("cluster_splits", pa.Table.from_pylist(apart, SPLITS))
    run.make("moves", "cluster_moves")
    run.make("exemplars", "cluster_exemplars", {"most": EXEMPLARS_MAX})
