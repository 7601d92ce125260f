"""Which streams have a contract, and how a list of records is held against one."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from varvite.errors import InvalidRecordError
from varvite.records import candidate, experiment, field, focus, graph
from varvite.records.fields import ENVELOPE, columns, json_fields
from varvite.records.limits import check_record

CONTRACTS: dict[str, type] = (
    graph.CONTRACTS | field.CONTRACTS | focus.CONTRACTS | candidate.CONTRACTS | experiment.CONTRACTS
)
"""Stream name to TypedDict. A stream that is not here is kept, and reaches SQL as JSON."""


@cache
def stream_columns(stream: str) -> dict[str, str]:
    """The columns of a stream: the envelope's, then the contract's, with their SQL types."""
    contract = CONTRACTS.get(stream)
    return ENVELOPE | (columns(contract) if contract else {})


@cache
def stream_json(stream: str) -> frozenset[str]:
    """The columns of a stream that hold the text of a JSON value."""
    contract = CONTRACTS.get(stream)
    return frozenset(json_fields(contract)) if contract else frozenset()


def validate(stream: str, records: Sequence[dict[str, Any]]) -> None:
    """Hold records against their stream's contract and the limits of JSON.

    Values are checked, never converted.

    Raises:
        InvalidRecordError, LimitError: with the path, `stream[position].field`.
    """
    if stream in CONTRACTS:
        try:
            _adapter(stream).validate_python(records)
        except ValidationError as error:
            raise _invalid(stream, error) from None
    proved = _proved(stream)
    for position, record in enumerate(records):
        if not proved.issuperset(record):
            check_record(record, proved, f"{stream}[{position}]")


@cache
def _proved(stream: str) -> frozenset[str]:
    """The fields of which the contract leaves nothing to check; a float may be a large integer."""
    typed = {name for name, kind in stream_columns(stream).items() if kind != "DOUBLE"}
    return frozenset(typed - stream_json(stream))


@cache
def _adapter(stream: str) -> TypeAdapter[Any]:
    return TypeAdapter(list[CONTRACTS[stream]])  # type: ignore[valid-type]


def _invalid(stream: str, error: ValidationError) -> InvalidRecordError:
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    position, *rest = first["loc"]
    path = f"{stream}[{position}]" + "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}" for part in rest
    )
    return InvalidRecordError(f"{path}: {first['msg']}", path=path)
