"""Taking fields out of foreign JSON, or refusing with the path of the one that is wrong.

Null counts as absent everywhere: providers write it for an empty list or text.
"""

import math
from collections.abc import Iterable
from typing import Any, NoReturn

from varvite.errors import MalformedInputError
from varvite.records.limits import INT64_MAX, INT64_MIN

KEY_CHARS_MAX = 200
Object = dict[str, Any]


def refuse(path: str, expected: str) -> NoReturn:
    """Raise with `.path`; whoever knows the file adds `.file`, `.line` and `.offset`."""
    raise MalformedInputError(f"{path}: expected {expected}", path=path)


def text(owner: Object, name: str, path: str) -> str | None:
    value = owner.get(name)
    if type(value) is str or value is None:
        return value
    return refuse(f"{path}.{name}", "a string")


def texts(owner: Object, names: Iterable[str], path: str) -> dict[str, Any]:
    """Those of the named fields that hold text, and not the empty one."""
    found: dict[str, Any] = {}
    for name in names:
        value = owner.get(name)
        if type(value) is str:
            if value:
                found[name] = value
        elif value is not None:
            refuse(f"{path}.{name}", "a string")
    return found


def key(owner: Object, name: str, path: str) -> str:
    """A name that must be there and can stand in an index: printable, 1 to 200 characters."""
    value = owner.get(name)
    if type(value) is str and 0 < len(value) <= KEY_CHARS_MAX and value.isprintable():
        return value
    return refuse(f"{path}.{name}", "an id, 1 to 200 printable characters")


def number(owner: Object, name: str, path: str) -> float | None:
    value = owner.get(name)
    if type(value) is float and math.isfinite(value):
        return value
    if value is None:
        return None
    return float(_int64(value, f"{path}.{name}", "a finite number"))


def integer(owner: Object, name: str, path: str) -> int | None:
    value = owner.get(name)
    return None if value is None else _int64(value, f"{path}.{name}", "an integer of 64 bits")


def _int64(value: Any, path: str, expected: str) -> int:
    if type(value) is int and INT64_MIN <= value <= INT64_MAX:
        return value
    return refuse(path, expected)


def mapping(owner: Object, name: str, path: str) -> Object | None:
    value = owner.get(name)
    if type(value) is dict or value is None:
        return value
    return refuse(f"{path}.{name}", "an object")


def items(owner: Object, name: str, path: str) -> list[Any]:
    value = owner.get(name)
    if type(value) is list:
        return value
    return [] if value is None else refuse(f"{path}.{name}", "an array")


def objects(owner: Object, name: str, path: str) -> list[Object]:
    found = items(owner, name, path)
    for position, item in enumerate(found):
        if type(item) is not dict:
            refuse(f"{path}.{name}[{position}]", "an object")
    return found


def keys(owner: Object, name: str, path: str) -> list[str]:
    found = items(owner, name, path)
    for position, item in enumerate(found):
        if type(item) is not str or not 0 < len(item) <= KEY_CHARS_MAX or not item.isprintable():
            refuse(f"{path}.{name}[{position}]", "an id, 1 to 200 printable characters")
    return found


def lone_surrogate(value: Any) -> str | None:
    """The path of the first string that has no UTF-8 form, in any depth."""
    open_values = [("$", value)]
    while open_values:
        path, inner = open_values.pop()
        if type(inner) is dict:
            pairs = [(f"{path}.{name}", name) for name in inner]
            open_values += pairs + [(f"{path}.{name}", item) for name, item in inner.items()]
        elif type(inner) is list:
            open_values += [(f"{path}[{at}]", item) for at, item in enumerate(inner)]
        elif type(inner) is str and not _encodes(inner):
            return path.encode(errors="backslashreplace").decode()
    return None


def _encodes(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
