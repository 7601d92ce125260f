"""Kill a checkpoint by SIGKILL at every boundary of its stages and inside each of them.

`python -m varvite.testing.killing JOB [SESSION]` reads lines `STORE STAGE MOMENT` and does so
in a child a line, which it forks before any thread is there; it says how each child ended.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from varvite.checkpoints import job as job_of
from varvite.checkpoints.running import Options, run
from varvite.store import Store, kind_of
from varvite.testing.toy_job import dying

MOMENTS = ("before", "inside", "after")


class Killed(NamedTuple):
    """A copy of a store in which a run was killed there."""

    store: Store
    stage: str
    moment: str


def everywhere(
    store: Store,
    job: str,
    session: str | None,
    folder: str,
    moments: tuple[str, ...] = MOMENTS,
) -> Iterator[Killed]:
    """Copies of the store under `folder`, each with a run killed at another moment."""
    stages = [stage.name for stage in job_of(job).stages]
    killed = [
        Killed(Store(f"{folder}/{stage}-{moment}"), stage, moment)
        for stage, moment in product(stages, moments)
    ]
    for one in killed:
        shutil.copytree(store.path, one.store.path)
    command = [sys.executable, "-m", "varvite.testing.killing", job, *filter(None, [session])]
    lines = "".join(f"{one.store.path} {one.stage} {one.moment}\n" for one in killed)
    ends = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)  # noqa: S603  (this very module)
    for one, end in zip(killed, ends.stdout.split(), strict=True):
        assert end == "9", f"{one.stage}, {one.moment}: {end} {ends.stderr}"
        yield one


def _die(job: str, session: str | None, line: str) -> None:
    path, stage, moment = line.rsplit(maxsplit=2)
    with Store(path)._folder() as folder:  # noqa: SLF001  (below what the registry of jobs knows)
        run(folder, dying(job_of(job), stage, moment), session, {}, Options(), kind_of=kind_of)


def _main(job: str, session: str | None = None) -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _die(job, session, line)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(os.WTERMSIG(status), flush=True)  # noqa: T201


if __name__ == "__main__":
    _main(*sys.argv[1:])
