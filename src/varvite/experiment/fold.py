"""The index entries of an experiment session, from what each part does with a record."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from varvite.experiment import about, ending, ledger, loop_state, mirroring, trend
from varvite.experiment.states import States
from varvite.session.kind import Entry, Read

_Step = Callable[[dict[str, Any], States], None]
_STEPS: dict[tuple[str, str], list[_Step]] = {}
for _part in (about, loop_state, trend, ledger, mirroring, ending):
    for _place, _step in _part.FOLDS.items():
        _STEPS.setdefault(_place, []).append(_step)


def fold(records: Sequence[dict[str, Any]], read: Read) -> Iterable[Entry]:
    """Takes whatever the contracts let through: a fold that raised would shut the session."""
    states = States(read)
    for record in records:
        about.changed(record, states)
        for step in _STEPS.get((record["stream"], str(record.get("type"))), ()):
            step(record, states)
    return states.entries()
