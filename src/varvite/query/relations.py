"""A stream as one relation: its segments and its tail, with stable names and types."""

from collections.abc import Iterable

from varvite.records.contracts import stream_columns, stream_json
from varvite.records.fields import ENVELOPE
from varvite.segments.scan import columns, literal, none, quoted

_TIME_AS_JSON = '"%Y-%m-%dT%H:%M:%S.%fZ"'


def relation(
    stream: str,
    paths: Iterable[str],
    tail: str | None,
    *,
    where: str | None = None,
    whole: bool = False,
) -> str:
    """SELECT text over the segment files at `paths` and `tail`, itself a SELECT text.

    Columns are those of `columns(stream)`, in order, as `tail` has them; files that miss
    some (an older version's) give NULL there. whole: each column is in one file at least,
    which costs less to plan; where it is not so the text cannot be bound.
    """
    listed = ", ".join(map(literal, paths))
    branches = [_files(stream, listed, whole=whole)] if listed else []
    text = " union all ".join([*branches, tail] if tail else branches or [none(stream)])
    return f"select * from ({text}) where {where}" if where else text  # noqa: S608


def _files(stream: str, listed: str, *, whole: bool) -> str:
    """A cast to the type that a column has already costs nothing."""
    typed = [f"{quoted(name)}::{kind} as {quoted(name)}" for name, kind in columns(stream).items()]
    read = f"read_parquet([{listed}], hive_partitioning = false, union_by_name = true)"
    source = read if whole else f"({none(stream)} union all by name select * from {read})"  # noqa: S608
    return f"select {', '.join(typed)} from {source}"  # noqa: S608  (names are quoted)


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
