"""Sessions with a history of any size, laid down fast: no sync, large batches, one seed.

They are what appending the same records one by one would have left, but for the
size of the batches.
"""

from collections.abc import Iterator
from random import Random
from typing import Any

from varvite.bench.seeding import batches
from varvite.experiment.session import Metric
from varvite.graph.session import GRAPH
from varvite.samples import search, words
from varvite.session.writer import Writer
from varvite.store import Store

RESPONSES_PER_BATCH = 200
RECORDS_PER_BATCH = 5_000
RUN_STATUSES = ("keep", "discard", "crash", "checks_failed")
RUN_WEIGHTS = (65, 28, 5, 2)
REVISED_SHARE = 0.3
CLAIMS_SHARE = 0.6
"""Of the records of opposed claims; the others are edges between them."""
SUBJECT_CLAIMS = 4
EDGE_KINDS = ("supports", "opposes", "contradicts", "in_paper")
EDGE_WEIGHTS = (5, 2, 1, 2)


def graph(store: Store, session_id: str, records: int, *, seed: int = 1) -> None:
    """A graph session with at least `records` records of sampled search responses."""
    with store.graph(session_id, create=True, level="fast") as session:
        for batch in batches(search.responses(seed, records), RESPONSES_PER_BATCH):
            session.submit([response.payload() for response in batch])


def experiment(store: Store, session_id: str, records: int, *, seed: int = 1) -> None:
    """An experiment session of one config and `records - 1` runs."""
    metric = Metric("total_ms", "ms")
    with store.experiment(session_id, metric=metric, create=True, level="fast") as session:
        for batch in batches(runs(seed, records - 1), RECORDS_PER_BATCH):
            session.append_records(batch)


def revised(store: Store, session_id: str, records: int, *, seed: int = 1) -> None:
    """A session of `records` node records, of which REVISED_SHARE revise earlier ones."""
    store.graph(session_id, create=True).close()
    with store._folder() as folder, Writer(folder, session_id, GRAPH, level="fast") as writer:  # noqa: SLF001  (records of its own making, below what a graph session takes)
        for batch in batches(nodes(seed, records), RECORDS_PER_BATCH):
            writer.append(batch)


def opposed(store: Store, session_id: str, records: int, *, seed: int = 1) -> None:
    """A graph session of claims about subjects, and of edges for and against them."""
    store.graph(session_id, create=True).close()
    with store._folder() as folder, Writer(folder, session_id, GRAPH, level="fast") as writer:  # noqa: SLF001  (records of its own making, below what a graph session takes)
        for batch in batches(claims(seed, records), RECORDS_PER_BATCH):
            writer.append(batch)


def runs(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """Run records as `append_records` takes them, about 600 bytes each when committed."""
    rng = Random(seed)  # noqa: S311  (samples, not secrets)
    for number in range(count):
        status = rng.choices(RUN_STATUSES, RUN_WEIGHTS)[0]
        yield {
            "type": "run",
            "status": status,
            "metric": None if status == "crash" else round(rng.gauss(900, 50), 3),
            "metrics": {"wall_s": round(rng.lognormvariate(3, 1), 2), "tests": rng.randrange(99)},
            "commit": f"{rng.getrandbits(28):07x}",
            "description": words.sentence(rng),
            "payload": {"asi": {"hypothesis": words.sentence(rng)}, "tokens": number % 9_000},
        }


def nodes(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """Node records, about 450 bytes each when committed; some ids come again."""
    rng = Random(seed)  # noqa: S311  (samples, not secrets)
    known = 0
    for _ in range(count):
        number = rng.randrange(known) if known and rng.random() < REVISED_SHARE else known
        known = max(known, number + 1)
        yield {
            "stream": "nodes",
            "id": f"variable_{number:016x}",
            "node_kind": rng.choice(("variable", "factor", "chain")),
            "source_key": f"lkm:bohrium:variable:gcn_{number:016x}",
            "role": rng.choice(("premise", "conclusion")),
            "content": words.sentence(rng),
            "score": rng.random(),
            "projection": "none",
            "metadata": {"year": rng.randrange(1980, 2026)},
        }


def claims(seed: int, count: int, *, after: int = 0) -> Iterator[dict[str, Any]]:
    """Claims of which a subject has a few, for and against it, and edges between them.

    after: records of such a session that are there already.
    """
    rng = Random(seed)  # noqa: S311  (samples, not secrets)
    known = round(after * CLAIMS_SHARE)
    subjects = max(1, round((after or count) * CLAIMS_SHARE) // SUBJECT_CLAIMS)
    for number in range(after, after + count):
        if known < 2 or rng.random() < CLAIMS_SHARE:  # noqa: PLR2004  (an edge has two ends)
            said = {
                "subject": f"subject {rng.randrange(subjects)}",
                "polarity": rng.choice(("positive", "negative")),
            }
            yield {
                "stream": "nodes",
                "id": _claim(known),
                "node_kind": "variable",
                "variable_type": "claim",
                "paper_key": f"paper:{known // 2}",
                "content": words.sentence(rng),
                "metadata": said,
            }
            known += 1
        else:
            src, dst = rng.sample(range(known), 2)
            yield {
                "stream": "edges",
                "id": f"edge_{number:016x}",
                "edge_kind": rng.choices(EDGE_KINDS, EDGE_WEIGHTS)[0],
                "src": _claim(src),
                "dst": _claim(dst),
                "origin": "assessment",
                "status": "active",
            }


def _claim(number: int) -> str:
    return f"variable_{number * 0x9E3779B97F4A7C15 % 2**64:016x}"
