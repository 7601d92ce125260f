"""What projecting into real Gaia costs, Gaia's part apart from ours.

`python -m benchmarks.gaia_shards` needs GAIA_PYTHON. CPU seconds of the worker and of
what it starts, so that a busy machine changes little. One package of the same claims
without shards stands beside it.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import NamedTuple

from varvite.gaia.find import PYTHON
from varvite.gaia.worker import Worker
from varvite.graph.port import SHARD_CLAIMS_MAX, Promotion, Relation, SourceNode

SIZES = (500, 1000, 2000)
BATCH = 50
MORE = 10
CONTENT_CHARS = 787
"""The median of real claims."""


class Cost(NamedTuple):
    """CPU seconds. calls: to the port."""

    what: str
    claims: int
    calls: int
    gaia_s: float
    ours_s: float


def node(number: int) -> SourceNode:
    text = f"Statement {number} holds for its system. "
    content = (text * (CONTENT_CHARS // len(text) + 1))[:CONTENT_CHARS]
    back = {"session": "bench", "node_id": f"node_{number:05}"}
    return SourceNode(back["node_id"], back["node_id"], "claim", content, None, {"varvite": back})


def relation(number: int, left: str, right: str) -> Relation:
    name = f"cr_{number:012x}"
    back = {"session": "bench", "candidate_id": name}
    return Relation(
        name, name, name, (left, right), "contradict", "They differ.", {"varvite": back}
    )


def scaffold(python: str, folder: str, name: str) -> str:
    root = os.path.join(folder, name)
    command = "import sys; from gaia.cli.main import app; sys.argv[0] = 'gaia'; app()"
    arguments = ["pkg", "scaffold", "--target", root, "--name", name]
    subprocess.run([python, "-c", command, *arguments], check=True, stdout=subprocess.DEVNULL)
    return root


class Measured:
    """A worker, and what each part of the work with it came to."""

    def __init__(self, python: str, root: str, claims: int) -> None:
        self.worker, self.claims = Worker(python, owner="bench"), claims
        self.worker.probe()
        self.worker.open_package(root)
        self.worker.check()
        self._last = self.worker.spent

    def cost(self, what: str) -> Cost:
        now, last = self.worker.spent, self._last
        self._last = now
        return Cost(
            what,
            self.claims,
            now.calls - last.calls,
            now.gaia_s - last.gaia_s,
            now.ours_s - last.ours_s,
        )


def sharded(python: str, folder: str, claims: int) -> Iterator[Cost]:
    measured = Measured(python, scaffold(python, folder, f"b{claims}-gaia"), claims)
    worker, refs = measured.worker, []
    for start in range(0, claims, SHARD_CLAIMS_MAX):
        nodes = [node(number) for number in range(start, min(claims, start + SHARD_CLAIMS_MAX))]
        made = worker.add_source_shard(f"bench-{start // SHARD_CLAIMS_MAX + 1}", nodes)
        refs += [one.result["package_ref"] for one in made]
    yield measured.cost("source shards")
    relations = [relation(n, refs[4 * n], refs[4 * n + 1]) for n in range(claims // 4)]
    for start in range(0, len(relations), BATCH):
        written = worker.write_candidates(relations[start : start + BATCH])
        assert all(one.ok for one in written)
    yield measured.cost(f"candidates, {BATCH} a flush")
    shard = f"bench-{claims // SHARD_CLAIMS_MAX + 1}"
    assert all(
        one.ok for one in worker.add_source_shard(shard, [node(claims + n) for n in range(MORE)])
    )
    yield measured.cost(f"{MORE} more nodes")
    assert worker.write_candidates([relation(claims, refs[2], refs[3])])[0].ok
    yield measured.cost("one more candidate")
    gate = worker.promote(Promotion("d1", relations[0], "contradict", "pr_1", "Read both."))
    assert gate.outcome == "applied"
    yield measured.cost("promotion, with its checks")
    assert worker.check().ok
    yield measured.cost("check of the package")
    worker.close()


def whole(python: str, folder: str, claims: int) -> Iterator[Cost]:
    """The same claims and relations in the target package itself."""
    name = f"w{claims}"
    root = scaffold(python, folder, f"{name}-gaia")
    lines = ["from gaia.engine.lang import candidate_relation, claim\n"]
    lines += [f"{one.label} = claim({one.content!r})" for one in map(node, range(claims))]
    for number in range(claims // 4):
        left, right = (node(4 * number + one).label for one in (0, 1))
        lines.append(f"candidate_relation(claims=[{left}, {right}], label='cr_{number}')")
    with open(os.path.join(root, "src", name, "all.py"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    measured = Measured(python, root, claims)
    assert measured.worker.check().ok
    yield measured.cost("check, all in one package")
    measured.worker.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES)
    sizes = parser.parse_args().sizes
    python = os.environ.get(PYTHON) or sys.exit(f"{PYTHON} names no interpreter")
    print(f"{'what':32}{'claims':>8}{'calls':>7}{'Gaia, s':>10}{'ours, s':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for claims in sizes:
            for one in (*sharded(python, folder, claims), *whole(python, folder, claims)):
                print(
                    f"{one.what:32}{one.claims:8}{one.calls:7}{one.gaia_s:10.2f}{one.ours_s:10.2f}"
                )
                sys.stdout.flush()


if __name__ == "__main__":
    main()
