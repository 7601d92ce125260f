"""Contract of an experiment session's one stream, `records`."""

from typing import Literal, Required

from pydantic import with_config
from typing_extensions import TypedDict

from varvite.records.fields import CONFIG, Float, Int, Json, Timestamp


@with_config(CONFIG)
class ExperimentRecord(TypedDict, total=False):
    """One row of the mission's `experiment_session_records`, by record type.

    segment: counts from 1. ordinal: position among the session's runs, from 1.
    run_logged: the number a foreign log gave the run; numbers may repeat.
    metric: null when missing or not finite; metric_state then says which.
    logged_at: the moment a foreign log claims. raw: its line, byte for byte.
    """

    type: Required[Literal["config", "run", "hook", "finalize", "patch"]]
    segment: Required[Int]
    ordinal: Int | None
    run_logged: Float | None
    status: str | None
    status_raw: str | None
    metric: Float | None
    metric_state: Literal["finite", "missing", "nan", "infinite", "not_a_number"] | None
    metrics: Json | None
    commit: str | None
    description: str | None
    confidence: Float | None
    metric_name: str | None
    metric_unit: str | None
    direction: Literal["minimize", "maximize"] | None
    target_seq: Int | None
    writer: str | None
    logged_at: Timestamp | None
    payload: Json | None
    raw: str | None
    source: str | None
    source_line: Int | None


CONTRACTS: dict[str, type] = {"records": ExperimentRecord}
