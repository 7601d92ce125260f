"""A stream as one relation: its segments and its tail, with stable names and types."""

from collections.abc import Iterable, Mapping

from varvite.records.contracts import stream_columns, stream_json
from varvite.records.fields import ENVELOPE
from varvite.segments.scan import columns, literal, quoted

_TIME_AS_JSON = '"%Y-%m-%dT%H:%M:%S.%fZ"'


def relation(
    stream: str, paths: Iterable[str], tail: str | None, *, where: str | None = None
) -> str:
    """SELECT text over the segment files at `paths` and `tail`, itself a SELECT text.

    Columns are those of `columns(stream)`, in order; files that miss some (an older
    version's) give NULL there.
    """
    wanted = columns(stream)
    names = ", ".join(map(quoted, wanted))
    branches = [_empty(wanted)]
    listed = ", ".join(map(literal, paths))
    if listed:
        branches.append(
            f"select * from read_parquet([{listed}], hive_partitioning = false, "  # noqa: S608
            "union_by_name = true)"
        )
    if tail:
        branches.append(tail)
    union = " union all by name ".join(branches)
    condition = f" where {where}" if where else ""
    return f"select {names} from ({union}){condition}"  # noqa: S608  (names are quoted)


def _empty(wanted: Mapping[str, str]) -> str:
    typed = ", ".join(f"null::{kind} as {quoted(name)}" for name, kind in wanted.items())
    return f"select {typed} where false"


def all_records(streams: Iterable[str]) -> str:
    """SELECT text over all `streams`, own fields put together as JSON in `body`."""
    envelope = ", ".join(map(quoted, ["session_id", "session_uid", *ENVELOPE]))
    return " union all ".join(
        f"select {envelope}, {_body(stream)} as body from streams.{quoted(stream)}"  # noqa: S608
        for stream in sorted(streams)
    )


def _body(stream: str) -> str:
    """The stream's own fields that are not null, as the text of one JSON object.

    A pair of a null is null, and concat_ws leaves nulls out.
    """
    own = [name for name in stream_columns(stream) if name not in ENVELOPE]
    pairs = [literal(f'"{name}":') + f" || {_value(stream, name)}" for name in own]
    return f"'{{' || concat_ws(',', {', '.join([*pairs, 'body[2:-2]'])}) || '}}'"


def _value(stream: str, name: str) -> str:
    if name in stream_json(stream):
        return quoted(name)
    if stream_columns(stream)[name] == "TIMESTAMPTZ":
        return f"strftime(timezone('UTC', {quoted(name)}), {literal(_TIME_AS_JSON)})"
    return f"to_json({quoted(name)})::varchar"
