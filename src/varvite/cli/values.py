"""What the store's verbs return, as rows."""

from dataclasses import fields
from typing import Any


def values(made: Any) -> dict[str, Any]:
    """A dataclass's fields by name, dataclasses within it as well."""
    return {field.name: _value(getattr(made, field.name)) for field in fields(made)}


def _value(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_value(one) for one in value]
    return values(value) if hasattr(value, "__dataclass_fields__") else value
