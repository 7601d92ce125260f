"""`python -m benchmarks.peers`: append, resume and bytes on disk, beside what others use.

Makes an environment of its own below --folder, with the versions pinned here and this
checkout, and measures there: all stores in one process, in turns within each round.
--here measures in the environment that runs this, the peers that need no installing.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from hashlib import blake2b
from itertools import count
from typing import Any

from benchmarks import rows, seeding
from benchmarks.measuring import Case, Spent, interleaved
from benchmarks.peer_stores import NO_INSTALL, PEERS, Peer, Varvite
from benchmarks.rows import Row
from benchmarks.seeding import Plan, default_folder
from varvite.store import Store
from varvite.testing import growing

PINNED = (
    "deltalake==1.6.6",
    "langgraph==1.2.24",
    "langgraph-checkpoint-sqlite==3.1.2",
    "mlflow-skinny==3.17.2",
    "sqlalchemy==2.1.9",
    "alembic==1.20.1",
)
SIZES = (10_000, 100_000, 1_000_000)
BATCHES = (1, 100)
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_seeds = count(1_000)


def environment(folder: str) -> str:
    """The Python of an environment with the peers, made if it is not there."""
    name = blake2b("\n".join([_ROOT, *PINNED]).encode(), digest_size=6).hexdigest()
    path = os.path.join(folder, f"peers-{name}")
    python = os.path.join(path, "bin", "python")
    if not os.path.exists(os.path.join(path, "made")):
        subprocess.run(["uv", "venv", "-q", "--clear", "-p", sys.executable, path], check=True)
        install = ["uv", "pip", "install", "-q", "--python", python, *PINNED, "-e", _ROOT]
        subprocess.run(install, check=True, cwd=_ROOT)
        with open(os.path.join(path, "made"), "wb"):
            pass
    return python


def measured(plan: Plan, peers: Sequence[type[Peer]]) -> Iterator[Row]:
    """Rows that say how many times as fast, and how many times as small, Varvite is."""
    for records in plan.sizes:
        able = [peer for peer in peers if records <= peer.records_max]
        with seeding.scratch(plan) as folder:
            folders = {peer: os.path.join(folder, str(at)) for at, peer in enumerate(able)}
            grow(folders, records)
            yield from _appends(plan, folders, records)
            yield from _resumes(plan, folders, records)


def grow(folders: dict[type[Peer], str], records: int) -> None:
    """Lay the same history down in every store."""
    for folder in folders.values():
        os.mkdir(folder)
    stores = [peer(folder) for peer, folder in folders.items()]
    for batch in growing.batches(growing.runs(1, records), growing.RECORDS_PER_BATCH):
        for store in stores:
            store.grow(batch)
    for store in stores:
        store.close()


def runs(size: int) -> list[dict[str, Any]]:
    return list(growing.runs(next(_seeds), size))


def _appends(plan: Plan, folders: dict[type[Peer], str], records: int) -> Iterator[Row]:
    with ExitStack() as stack:
        stores = [peer(folder) for peer, folder in folders.items()]
        for store in stores:
            stack.callback(store.close)
        for size in BATCHES:
            cases = [Case(one.name, one.append, lambda size=size: runs(size)) for one in stores]
            spent = interleaved(cases, plan.rounds_few)
            yield from _rows(f"append {size}", records, spent)


def _resumes(plan: Plan, folders: dict[type[Peer], str], records: int) -> Iterator[Row]:
    """Open, learn where it stands, append 100, close; in a process that has all imported."""
    size = max(BATCHES)

    def resume(peer: type[Peer], given: list[dict[str, Any]]) -> None:
        store = peer(folders[peer])
        store.append(given)
        store.close()

    cases = [
        Case(peer.name, lambda given, peer=peer: resume(peer, given), lambda: runs(size))
        for peer in folders
    ]
    sizes = {peer.name: bytes_in(folder) for peer, folder in folders.items()}
    spent = interleaved(cases, plan.rounds_few)
    sizes |= {"varvite, compacted": _compacted(folders[Varvite])}
    yield from _rows(f"resume with {size}", records, spent, sizes)


def _rows(
    what: str, records: int, spent: dict[str, Spent], sizes: dict[str, int] | None = None
) -> Iterator[Row]:
    ours = spent.pop(Varvite.name)
    for name, theirs in spent.items():
        facts = {"CPU ms theirs": theirs.cpu_s * 1e3}
        if sizes:
            facts |= {"MB theirs": sizes[name] / 1e6, "MB": sizes[Varvite.name] / 1e6}
            facts |= {"MB compacted": sizes["varvite, compacted"] / 1e6}
        yield Row(f"{what}, times faster", records, ours, name, theirs, at_least=True, facts=facts)


def _compacted(folder: str) -> int:
    """Bytes of the store once all is in segments and sealed parts are archived."""
    Store(folder).compact()
    return bytes_in(folder)


def bytes_in(folder: str) -> int:
    """What the files below take, by their length."""
    return sum(
        os.path.getsize(os.path.join(path, name))
        for path, _, names in os.walk(folder)
        for name in names
    )


def main(given: Sequence[str] | None = None) -> list[Row]:
    options = _parser().parse_args(given)
    os.makedirs(options.folder, exist_ok=True)
    plan = Plan(tuple(options.records), options.rounds, options.folder)
    found: list[Row] = []
    print(rows.head())
    for row in measured(plan, PEERS if options.inside else NO_INSTALL):
        found.append(row)
        print(rows.line(row), flush=True)
        if options.json:
            with open(options.json, "w", encoding="utf-8") as file:
                file.write(rows.document(found) + "\n")
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--records", type=int, nargs="+", default=SIZES, help="of history")
    parser.add_argument("--rounds", type=int, default=31, help="medians of a third of so many")
    parser.add_argument("--folder", default=default_folder(), help="of environment and stores")
    parser.add_argument("--json", metavar="FILE", help="write the rows there")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--here", action="store_true", help="only what needs no installing")
    where.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser


def run(given: Sequence[str]) -> int:
    """Measure in the peers' environment; the exit code."""
    options = _parser().parse_args(given)
    if options.here or options.inside:
        main(given)
        return 0
    os.makedirs(options.folder, exist_ok=True)
    python = environment(options.folder)
    command = [python, "-m", "benchmarks.peers", "--inside", *given]
    return subprocess.run(command, check=False, cwd=_ROOT).returncode


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
