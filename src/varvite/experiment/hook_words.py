"""What a hook is told, in pi-autoresearch's words."""

from typing import Any

from varvite.experiment.ledger import SegmentState, SessionState

_DIRECTIONS = {"minimize": "lower", "maximize": "higher"}


def pi_session(state: SessionState, segment: SegmentState | None) -> dict[str, Any]:
    baseline, best = getattr(segment, "baseline", None), getattr(segment, "best", None)
    return {
        "metric_name": state.definition.metric_name,
        "metric_unit": state.definition.metric_unit,
        "direction": _DIRECTIONS[state.definition.direction],
        "baseline_metric": baseline.metric if baseline else None,
        "best_metric": best.metric if best else None,
        "run_count": state.runs,
        "goal": state.definition.name or "",
    }


def pi_run(state: SessionState, commit: str | None, record: dict[str, Any]) -> dict[str, Any]:
    run = {"run": state.ordinal, "commit": (commit or "")[:7], "metric": record["metric"]}
    run |= {name: record[name] for name in ("metrics", "status", "description")}
    asi = record["payload"].get("asi")
    return run | {"segment": state.segment - 1} | ({"asi": asi} if asi else {})
