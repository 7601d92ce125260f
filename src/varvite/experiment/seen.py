"""A session as the mission's table has it, read from its index beside its writer.

Costs a few lookups, one a kept run, and what the journal has beyond the index;
no history, and no lock.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import orjson

from varvite.disk.files import Folder
from varvite.experiment import about, ledger
from varvite.experiment.rows import Session
from varvite.experiment.session import EXPERIMENT
from varvite.experiment.status import Rules
from varvite.session import identity as identities
from varvite.session import listing, parts
from varvite.session.identity import Identity
from varvite.session.index import FOLDER, Index
from varvite.session.kind import Read
from varvite.session.reader import Reader


def seen(store: Folder, session_id: str, rules: Rules = "strict") -> Session | None:
    """The session as of its last commit; None where its index cannot tell, or it is another kind.

    Raises:
        SessionNotFoundError, NotASessionError, CorruptError
    """
    with Reader(store, session_id) as reader:
        if reader.identity.kind != EXPERIMENT.name or reader.folder.stat(FOLDER) is None:
            return None
        with _read(reader) as read:
            return _session(reader.identity, read, rules)


def newest(store: Folder) -> list[str]:
    """The experiment sessions, the newest first. Reads one small file a session."""
    made = []
    for name in listing.names(store):
        with identities.open_folder(store, name) as folder:
            found = identities.read(folder)
        if found.kind == EXPERIMENT.name:
            made.append((found.created, found.id))
    return [name for _, name in sorted(made, reverse=True)]


@contextmanager
def _read(reader: Reader) -> Iterator[Read]:
    """The index, and over it what was committed since it was brought up to date."""
    index, newer = Index(reader.folder, read_only=True), dict[tuple[str, str], bytes]()

    def read(table: str, key: str) -> bytes | None:
        return newer.get((table, key)) or index.get(table, key)

    try:
        applied = index.applied()
        after = applied.seq if applied else 0
        for batch in parts.batches(reader.folder, after) if after < reader.cursor else ():
            records = [orjson.loads(line) for line in batch.lines()]
            entries = EXPERIMENT.fold(records, read)
            newer |= {(table, key): value for table, key, value in entries}
        yield read
    finally:
        index.close()


def _session(identity: Identity, read: Read, rules: Rules) -> Session | None:
    told = about.about(read)
    if told is None or not all(about.fits(name, value) for name, value in told.items()):
        return None
    state, definition = ledger.session_state(read), ledger.session_state(read).definition
    return Session(
        id=identity.id,
        name=told.get("name") or identity.title or identity.id,
        project_id=told.get("project_id"),
        status=state.status,
        metric={
            "name": definition.metric_name,
            "unit": definition.metric_unit,
            "direction": definition.direction,
        },
        current_segment=state.segment,
        max_iterations=told.get("max_iterations"),
        working_dir=told.get("working_dir"),
        baseline_run_id=_pointer(read, "baseline", rules),
        best_run_id=_pointer(read, "best", rules),
        kept_run_ids=_kept(read, rules),
        tags=told.get("tags", []),
        metadata=told.get("metadata"),
        created_at=datetime.fromisoformat(identity.created),
        updated_at=datetime.fromisoformat(about.updated(read) or identity.created),
        finalized_at=datetime.fromisoformat(state.finalized_at) if state.finalized_at else None,
    )


def _pointer(read: Read, name: str, rules: Rules) -> str | None:
    """As set; by our rules else as computed."""
    state = ledger.session_state(read)
    if name in state.pins or rules == "fusion":
        return state.pins.get(name)
    segment = ledger.segment_state(read, state.segment)
    run: ledger.RunEntry | None = getattr(segment, name, None)
    return run.id if run else None


def _kept(read: Read, rules: Rules) -> list[str]:
    """The ledger; of Fusion's rules what someone put there."""
    runs = ledger.kept(read)
    return [run.id for run in runs if rules == "strict" or ledger.was_put(read, run)]
