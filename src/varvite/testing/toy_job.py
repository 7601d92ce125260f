"""A small checkpoint, for tests of the frame that runs checkpoints.

`python -m varvite.testing.toy_job STORE SESSION STAGE MOMENT` runs it and kills itself there.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from varvite.checkpoints.job import Job, Parameter, Proposal, Stage
from varvite.checkpoints.run import Run
from varvite.checkpoints.running import Options, Ran, run
from varvite.checkpoints.tables import Answers
from varvite.graph.session import GRAPH
from varvite.query import statements
from varvite.session.kind import Kind
from varvite.store import Store
from varvite.store import open as open_store

_SQL = {
    "kinds": """-- How many nodes there are of each kind.
--
-- params:   least      bigint   not null  the fewest that count
-- columns:  node_kind  varchar  not null
--           nodes      bigint   not null
select node_kind, count(*) as nodes from nodes group by node_kind having count(*) >= $least
order by node_kind""",
    "halves": """-- Half of each.
--
-- columns:  node_kind  varchar  not null
--           half       double   not null
select node_kind, nodes / 2 as half from kinds order by node_kind""",
}


def install() -> None:
    """Add its statements to those of the package."""
    known = statements.checkpoints()
    known |= {name: statements.parse(name, text) for name, text in _SQL.items()}


def _count(run: Run) -> dict[str, Any]:
    run.make("between", "kinds", {"least": 1})
    run.report("counting", 1, 2)
    rows = run.make("kinds", params={"least": run.parameters["least"]})
    earlier = run.earlier()
    return {"kinds": rows, "earlier": earlier.receipt.results["kinds"] if earlier else None}


def _halve(run: Run) -> None:
    run.report("halving", 0, 1)
    run.make("halves")


def _add(run: Run) -> dict[str, Any]:
    halves = run.engine.ask("halves")
    run.report("adding", 0, 1)
    total = pa.table({"total": [sum(halves["half"].to_pylist())]})
    run.put("totals", total)
    return {"total": total["total"][0].as_py()}


def _proposals(answers: Answers) -> Iterable[Proposal]:
    session = answers.receipt.session_id or ""
    for row in answers.table("halves").to_pylist():
        yield Proposal(session, "say", row)


TOY = Job(
    "toy",
    "Counts the nodes of each kind, halves the counts, and adds them up.",
    stages=(
        Stage("count", _count, ("kinds",)),
        Stage("halve", _halve, ("halves",)),
        Stage("add", _add, ("totals",)),
    ),
    kind="graph",
    parameters={"least": Parameter(1, "the fewest that count", 0, 1_000_000)},
    proposals=_proposals,
)

SAYING = replace(
    GRAPH, acts={"say": lambda payload, _now: [{"stream": "said", "what": payload["node_kind"]}]}
)


def toy(store: Store, session: str, *, job: Job = TOY, **options: Any) -> Ran:
    """Run it; `parameters` among the options are the job's."""
    given = options.pop("parameters", {})
    with store._folder() as folder:  # noqa: SLF001  (below what the registry of jobs knows)
        return run(folder, job, session, given, Options(**options), kind_of=_kind)


def _kind(name: str) -> Kind:
    return {"graph": SAYING}[name]


def dying(job: Job, stage: str, moment: str) -> Job:
    """The job, killed by SIGKILL before a stage, inside it at its first report, or after it."""
    stages = tuple(
        replace(one, do=_dying(one.do, moment)) if one.name == stage else one for one in job.stages
    )
    return replace(job, stages=stages)


def _dying(do: Callable[[Run], Any], moment: str) -> Callable[[Run], Any]:
    def die(*_: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def act(run: Run) -> Any:
        if moment == "before":
            die()
        if moment == "inside":
            run.report = die  # type: ignore[assignment, method-assign]
        results = do(run)
        die()
        return results

    return act


if __name__ == "__main__":
    path, session_id, at, when = sys.argv[1:]
    install()
    toy(open_store(path), session_id, job=dying(TOY, at, when))
