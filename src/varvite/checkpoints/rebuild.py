"""Hold what was made from a session's journal against what the journal would make."""

from typing import Any

import pyarrow as pa

from varvite.checkpoints.job import Acting, Job, Stage
from varvite.checkpoints.run import Run
from varvite.errors import SessionLockedError
from varvite.segments.findings import Finding
from varvite.segments.verify import verify
from varvite.session import identity as identities
from varvite.session.rebuild import rebuild

_COLUMNS = ("file", "what", "code", "area", "hint")


def _compare(run: Run) -> dict[str, Any]:
    (name,) = run.sessions
    found = verify(run.store, [name], deep=True, kind_of=run.kind_of, progress=run.report)
    run.put("differences", _table(found))
    return {"equal": not found, "differences": len(found)}


def _table(found: list[Finding]) -> pa.Table:
    rows = [one.as_dict() for one in found]
    return pa.table({name: pa.array([row[name] for row in rows], pa.string()) for name in _COLUMNS})


def _mend(acting: Acting) -> dict[str, int]:
    """Make index, state, field map and stream files anew, where they are not as they should be."""
    session = acting.answers.receipt.session_id or ""
    if acting.answers.receipt.results["equal"]:
        return {"equal": 1}
    with identities.open_folder(acting.store, session) as folder:
        kind = acting.kind_of(identities.read(folder).kind)
    try:
        rebuild(
            acting.store,
            session,
            kind,
            progress=lambda done, total: acting.report("rebuilding", done, total),
        )
    except SessionLockedError:
        return {"waiting": 1}
    return {"rebuilt": 1}


JOB = Job(
    "rebuild",
    "Are index, state, field map and stream files what the journal makes of them?",
    stages=(Stage("compare", _compare, ("differences",)),),
    outside=True,
    act=_mend,
)
