"""The field types that a contract may use, and what each is as a column.

A contract is a TypedDict: its annotations are the one declaration from which
validation, the SQL column types and the documentation follow.
"""

from datetime import datetime
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, ConfigDict, Field

from varvite.records.limits import INT64_MAX, INT64_MIN

Int = Annotated[int, Field(ge=INT64_MIN, le=INT64_MAX)]
Float = Annotated[float, Field(allow_inf_nan=False)]
_MOMENT = r"^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?Z$"


def _exists(text: str) -> str:
    """Refuse a moment that no calendar has, which no engine could read as a time."""
    datetime.fromisoformat(text)
    return text


Timestamp = Annotated[str, "timestamp", Field(pattern=_MOMENT), AfterValidator(_exists)]
Json = Annotated[dict[str, Any] | list[Any], "json"]

CONFIG = ConfigDict(extra="allow", strict=True, defer_build=True)

ENVELOPE: dict[str, str] = {
    "seq": "BIGINT",
    "stream": "VARCHAR",
    "id": "VARCHAR",
    "rev": "BIGINT",
    "prev_seq": "BIGINT",
    "at": "TIMESTAMPTZ",
    "actor": "VARCHAR",
}
"""The fields that every record has, in the order in which they are written."""

_PLAIN = {str: "VARCHAR", int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN"}


def columns(contract: type) -> dict[str, str]:
    """Each field of `contract` with its SQL type, in the order of declaration.

    JSON fields are VARCHAR: the text of the value.
    """
    hints = get_type_hints(contract, include_extras=True)
    return {name: _sql_type(hint) for name, hint in hints.items()}


def json_fields(contract: type) -> set[str]:
    """The fields of `contract` whose column is the text of a JSON value."""
    hints = get_type_hints(contract, include_extras=True)
    return {name for name, hint in hints.items() if _is_json(hint)}


def _is_json(hint: Any) -> bool:
    return "json" in getattr(hint, "__metadata__", ()) or any(map(_is_json, get_args(hint)))


def _sql_type(hint: Any) -> str:
    if hint in _PLAIN:
        return _PLAIN[hint]
    marks = getattr(hint, "__metadata__", ())
    if "json" in marks:
        return "VARCHAR"
    if "timestamp" in marks:
        return "TIMESTAMPTZ"
    if get_origin(hint) is Literal:
        return "VARCHAR"
    inner = [part for part in get_args(hint) if part is not type(None)]
    return f"{_sql_type(inner[0])}[]" if get_origin(hint) is list else _sql_type(inner[0])
