"""`python -m benchmarks.peers`: open, append, resume and bytes, beside what others use.

Makes an environment of its own below --folder, with the versions pinned here and this
checkout, and measures there: all stores in one process, in turns within each round.
--here measures in the environment that runs this, the peers that need no installing.

Histories are laid down once and kept below --folder; from 5,000,000 runs on they are used
as they lie, and a measurement leaves some thousand runs in them. With 10,000,000 they take
31 GB and about an hour.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from hashlib import blake2b
from itertools import count
from typing import Any

from benchmarks import peer_histories, rows
from benchmarks.measuring import Case, Spent, interleaved
from benchmarks.peer_limits import LeftOut, groups, left_out
from benchmarks.peer_stores import NO_INSTALL, PEERS, Peer, Varvite
from benchmarks.rows import Row
from benchmarks.seeding import Plan, default_folder
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
OPERATIONS = {
    "open": "open",
    "append": "append 1",
    "step": "append 100",
    "resume": "resume with 100",
}
"""What each is called in the table."""
STEP = 100
"""Records."""
COMPACTED = "varvite, compacted"
LONG_S = 10.0
"""Of a call, after which it is not made again."""
TOLD_EVERY_S = 10.0
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


def measured(
    plan: Plan,
    peers: Sequence[type[Peer]],
    *,
    only: Sequence[str] = tuple(OPERATIONS),
    out: Sequence[LeftOut] = (),
) -> Iterator[Row]:
    """Rows that say how many times as fast, and how many times as small, Varvite is."""
    for records in plan.sizes:
        able = fit(peers, records, out)
        sizes = _sizes(plan, able, records) if "resume" in only else {}
        with peer_histories.lent(plan, able, records, Told()) as folders:
            for group in groups(able, records):
                spent = _spent(plan, {peer: folders[peer] for peer in group}, only)
                for operation, series in spent:
                    facts = sizes if operation == "resume" else {}
                    yield from _rows(OPERATIONS[operation], records, series, facts)


def fit(peers: Sequence[type[Peer]], records: int, out: Sequence[LeftOut]) -> list[type[Peer]]:
    unfit = {one.peer for one in out if one.records == records}
    return [peer for peer in peers if peer not in unfit]


def prepare(plan: Plan, peers: Sequence[type[Peer]], out: Sequence[LeftOut]) -> None:
    """Lay down all histories that are not there."""
    for records in plan.sizes:
        _sizes(plan, fit(peers, records, out), records)


class Told:
    """Called with how far a long laying down is: a line of stderr every few seconds."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, what: str, done: int, total: int) -> None:
        if time.monotonic() - self._last >= TOLD_EVERY_S:
            self._last = time.monotonic()
            print(f"{what}: {done / total:.0%}", file=sys.stderr, flush=True)


def runs(size: int) -> list[dict[str, Any]]:
    return list(growing.runs(next(_seeds), size))


def _spent(
    plan: Plan, folders: dict[type[Peer], str], only: Sequence[str]
) -> Iterator[tuple[str, dict[str, Spent]]]:
    if "open" in only:
        yield "open", _calls(plan, [_opening(peer, folders[peer]) for peer in folders])
    if {"append", "step"} & set(only):
        yield from _appends(plan, folders, only)
    if "resume" in only:
        yield "resume", _calls(plan, [_resuming(peer, folders[peer]) for peer in folders])


def _calls(plan: Plan, cases: Sequence[Case]) -> dict[str, Spent]:
    return interleaved(cases, plan.rounds_few, long_s=LONG_S)


def _appends(
    plan: Plan, folders: dict[type[Peer], str], only: Sequence[str]
) -> Iterator[tuple[str, dict[str, Spent]]]:
    with ExitStack() as stack:
        stores = [peer(folder) for peer, folder in folders.items()]
        for store in stores:
            stack.callback(store.close)
        for operation, size in (("append", 1), ("step", STEP)):
            if operation in only:
                prepare = partial(runs, size)
                yield operation, _calls(plan, [Case(s.name, s.append, prepare) for s in stores])


def _opening(peer: type[Peer], folder: str) -> Case:
    """Open, learn where it stands, close."""
    return Case(peer.name, lambda _: peer(folder).close())


def _resuming(peer: type[Peer], folder: str) -> Case:
    """Open, learn where it stands, append 100, close; in a process that has all imported."""

    def resume(given: list[dict[str, Any]]) -> None:
        store = peer(folder)
        store.append(given)
        store.close()

    return Case(peer.name, resume, partial(runs, STEP))


def _rows(
    what: str, records: int, spent: dict[str, Spent], sizes: dict[str, float]
) -> Iterator[Row]:
    ours = spent.pop(Varvite.name)
    for name, theirs in spent.items():
        facts = {"CPU ms theirs": theirs.cpu_s * 1e3}
        if len(theirs.wall) < len(ours.wall):
            facts |= {"calls theirs": len(theirs.wall)}
        if sizes:
            facts |= {"MB theirs": sizes[name], "MB": sizes[Varvite.name]}
            facts |= {"MB compacted": sizes[COMPACTED]}
        yield Row(f"{what}, times faster", records, ours, name, theirs, at_least=True, facts=facts)


def _sizes(plan: Plan, peers: Sequence[type[Peer]], records: int) -> dict[str, float]:
    """MB of each history as it was laid down."""
    told = Told()
    laid = {peer.name: peer_histories.laid(plan, peer, records, told) for peer in peers}
    laid |= {COMPACTED: peer_histories.compacted(plan, records, told)}
    return {name: bytes_in(path) / 1e6 for name, path in laid.items()}


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
    peers = PEERS if options.inside else NO_INSTALL
    out = list(left_out(peers, plan.sizes))
    if options.fresh:
        peer_histories.forget(plan, peers)
    found = [] if options.prepare else _told(plan, peers, options, out)
    if options.prepare:
        prepare(plan, peers, out)
    for one in out:
        print(one)
    return found


def _told(
    plan: Plan, peers: Sequence[type[Peer]], options: argparse.Namespace, out: Sequence[LeftOut]
) -> list[Row]:
    """The rows, each printed when it is there, and written where --json says."""
    found: list[Row] = []
    print(rows.head())
    for row in measured(plan, peers, only=options.only or tuple(OPERATIONS), out=out):
        found.append(row)
        print(rows.line(row), flush=True)
        if options.json:
            with open(options.json, "w", encoding="utf-8") as file:
                file.write(rows.document(found, left_out=[str(one) for one in out]) + "\n")
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--records", type=int, nargs="+", default=SIZES, help="of history")
    parser.add_argument("--rounds", type=int, default=31, help="medians of a third of so many")
    parser.add_argument("--folder", default=default_folder(), help="of environment and stores")
    parser.add_argument(
        "--only",
        action="append",
        choices=OPERATIONS,
        help="one of the operations; may be given again",
    )
    parser.add_argument("--fresh", action="store_true", help="lay the histories down anew")
    parser.add_argument("--prepare", action="store_true", help="lay histories down, no more")
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
