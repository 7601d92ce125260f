"""Sessions of long-running research agents: append-only logs, asked in SQL at any time."""

from typing import TYPE_CHECKING, Any

from varvite.errors import VarviteError

if TYPE_CHECKING:
    from varvite.experiment.session import ExperimentSession, Metric
    from varvite.graph.session import GraphSession
    from varvite.query.result import Result
    from varvite.records.experiment import ExperimentRecord
    from varvite.records.graph import Edge, Event, Frontier, Node, Response, Sighting
    from varvite.session.writer import Receipt
    from varvite.store import Store, open  # noqa: A004

_HOMES = {
    "Edge": "varvite.records.graph",
    "Event": "varvite.records.graph",
    "ExperimentRecord": "varvite.records.experiment",
    "ExperimentSession": "varvite.experiment.session",
    "Frontier": "varvite.records.graph",
    "GraphSession": "varvite.graph.session",
    "Metric": "varvite.experiment.session",
    "Node": "varvite.records.graph",
    "Receipt": "varvite.session.writer",
    "Response": "varvite.records.graph",
    "Result": "varvite.query.result",
    "Sighting": "varvite.records.graph",
    "Store": "varvite.store",
    "open": "varvite.store",
}

__all__ = [
    "Edge",
    "Event",
    "ExperimentRecord",
    "ExperimentSession",
    "Frontier",
    "GraphSession",
    "Metric",
    "Node",
    "Receipt",
    "Response",
    "Result",
    "Sighting",
    "Store",
    "VarviteError",
    "open",
]


def __getattr__(name: str) -> Any:
    """Load a public name's module when it is first asked for: a short command loads little."""
    if name not in _HOMES:
        raise AttributeError(f"module 'varvite' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
