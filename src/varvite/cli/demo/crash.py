"""A writer is killed in the middle of a commit; the next one loses nothing that was promised."""

import os
import subprocess
import sys

from varvite.cli.demo import victim
from varvite.cli.demo.folder import RESPONSES, SEARCH
from varvite.cli.demo.stage import Stage, brief
from varvite.errors import SessionLockedError, VarviteError
from varvite.store import Store


def kill_writer(stage: Stage, store: Store, *, skip: int, where: str) -> int:
    """Start a writer on the responses from number `skip`, kill it; return the promised cursor."""
    file = os.path.join(stage.path, RESPONSES)
    command = [sys.executable, "-m", "varvite.cli.demo.victim", stage.path, file, str(skip), where]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:  # noqa: S603
        promised = _await_halt(child)
        _be_refused(stage, store)
        child.kill()
    stage.say(f"kill -9 {child.pid}: it had been promised everything up to cursor {promised}")
    return promised


def _await_halt(child: subprocess.Popen[str]) -> int:
    """The last cursor that the child was promised before it halted."""
    promised = 0
    for line in child.stdout or ():
        if line.strip() == victim.HALTED:
            return promised
        promised = int(line)
    raise VarviteError(f"the writer ended with {child.wait()} before it could be killed")


def _be_refused(stage: Stage, store: Store) -> None:
    try:
        store.graph(SEARCH).close()
    except SessionLockedError as error:
        stage.say(f"a second writer meanwhile: {error.message}")


def reopen(stage: Stage, store: Store, promised: int) -> None:
    """Open the session again, and say what was found.

    Raises:
        VarviteError: something that was promised is gone.
    """
    with store.graph(SEARCH) as session:
        found, cursor = session.recovered, session.cursor
    if cursor < promised:
        raise VarviteError(f"cursor {cursor} is there, {promised} was promised")
    if found:
        stage.say(f"opened again: {found.bytes_cut} bytes of a torn batch cut off, and kept as")
        stage.say(f"    {brief(found.quarantined)}")
    stage.say(f"cursor {cursor}: everything that was promised is there")
    if cursor > promised:
        stage.say("with one whole batch more: it was on disk, though not promised yet")
