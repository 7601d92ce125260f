"""Sessions of many variables with links and buckets, laid down below what a session takes.

`python -m varvite.testing.clustered STORE SESSION MEMORY_MB [NAME=VALUE ...]` runs `recluster`
there in a process of its own and prints what it came to, and the most memory that it held.
"""

import sys
from collections.abc import Iterator
from dataclasses import asdict
from random import Random
from typing import Any

import orjson

from varvite.bench.seeding import batches
from varvite.checkpoints.recluster.job import JOB
from varvite.checkpoints.running import Options, peak_memory, run
from varvite.graph.session import GRAPH
from varvite.session.writer import Writer
from varvite.store import Store, kind_of

RECORDS_PER_BATCH = 5_000
COMMUNITY_NODES = 50
MIXING = 0.3
BUCKETS = 100
WAITING_SHARE = 0.1


def lay(store: Store, session_id: str, nodes: int, links: int, *, seed: int = 1) -> None:
    """So many variables and links in a session of communities of COMMUNITY_NODES."""
    with store.graph(session_id, create=True, level="fast") as session:
        for number in range(BUCKETS):
            session.open_bucket(f"bucket {number}", bucket_id=_bucket(number))
    with store._folder() as folder, Writer(folder, session_id, GRAPH, level="fast") as writer:  # noqa: SLF001  (records of its own making, below what a graph session takes)
        for batch in batches(records(nodes, links, seed), RECORDS_PER_BATCH):
            writer.append(batch)


def records(nodes: int, links: int, seed: int) -> Iterator[dict[str, Any]]:
    rng = Random(seed)  # noqa: S311  (samples, not secrets)
    groups = max(1, nodes // COMMUNITY_NODES)
    for number in range(nodes):
        yield {"stream": "nodes", "id": _node(number), "node_kind": "variable"} | {
            "content": f"claim of topic {number % groups}"
        }
        yield _membership(number, number % groups, rng)
    for number in range(links):
        one = rng.randrange(nodes)
        near = one % groups + groups * rng.randrange(max(1, nodes // groups))
        other = rng.randrange(nodes) if rng.random() < MIXING else min(near, nodes - 1)
        ends = {"src": _node(one), "dst": _node(other)}
        yield {"stream": "edges", "id": f"e{number}", "edge_kind": "supports"} | ends


def _membership(number: int, group: int, rng: Random) -> dict[str, Any]:
    waits = rng.random() < WAITING_SHARE
    return {
        "stream": "memberships",
        "id": f"m{number}",
        "node_id": _node(number),
        "state": "ambiguous" if waits else "assigned",
        "bucket_ids": [_bucket(group % BUCKETS)],
        "scores": [0.5],
        "methods": ["lexical"],
    }


def _node(number: int) -> str:
    return f"variable_{number:08x}"


def _bucket(number: int) -> str:
    return f"bucket_{number}"


def main(path: str, session_id: str, memory_mb: str, *given: str) -> None:
    parameters = dict(one.split("=", 1) for one in given)
    options = Options(memory_mb=int(memory_mb))
    with Store(path)._folder() as folder:  # noqa: SLF001  (below what the registry of jobs knows)
        ran = run(folder, JOB, session_id, parameters, options, kind_of=kind_of)
    found = {"results": ran.receipt.results, "peak": peak_memory(), "seconds": ran.receipt.seconds}
    stages = {stage["name"]: stage["seconds"] for stage in asdict(ran.receipt)["stages"]}
    sys.stdout.buffer.write(orjson.dumps(found | {"stages": stages}) + b"\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
