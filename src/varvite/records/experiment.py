"""Contracts of an experiment session's own streams, `records` and `quarantine`."""

from typing import Literal, Required

from pydantic import with_config
from typing_extensions import TypedDict

from varvite.records.fields import CONFIG, Float, Int, Json, Timestamp
from varvite.records.outcomes import Direction, MetricState, Status


@with_config(CONFIG)
class ExperimentRecord(TypedDict, total=False):
    """One row of the mission's `experiment_session_records`, by record type.

    segment: counts from 1. ordinal: the run's number in its session, from 1, given once.
    run_logged: the number a foreign log gave the run; numbers may repeat.
    metric: null when missing or not finite; metric_state then says which.
    writer: fusion or table, where the record was a row of such; null else.
    logged_at: the moment a foreign log claims. raw: its line, byte for byte.
    source, source_line, generation: the foreign log, the line from 1, and which
    reading of it: only the newest generation of a source counts.
    """

    type: Required[Literal["config", "run", "hook", "finalize", "patch"]]
    segment: Required[Int]
    ordinal: Int | None
    run_logged: Float | None
    status: Status | None
    status_raw: str | None
    metric: Float | None
    metric_state: MetricState | None
    metrics: Json | None
    commit: str | None
    description: str | None
    confidence: Float | None
    name: str | None
    metric_name: str | None
    metric_unit: str | None
    direction: Direction | None
    target_seq: Int | None
    writer: str | None
    logged_at: Timestamp | None
    payload: Json | None
    raw: str | None
    source: str | None
    source_line: Int | None
    generation: Int | None


@with_config(CONFIG)
class QuarantinedLine(TypedDict, total=False):
    """A line of a foreign log that could not be read, kept whole.

    raw: the line, or its base64. A line too long for one record comes in `parts`
    records, `part` from 1; their bytes joined are the line.
    """

    kind: Required[Literal["malformed", "not_utf8", "not_an_object", "unknown_shape", "too_long"]]
    action: Required[str]
    reason: str | None
    raw: Required[str]
    encoding: Required[Literal["utf-8", "base64"]]
    part: Int
    parts: Int
    source: Required[str]
    source_line: Required[Int]
    generation: Required[Int]


CONTRACTS: dict[str, type] = {"records": ExperimentRecord, "quarantine": QuarantinedLine}
