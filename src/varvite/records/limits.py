"""What no record may hold: the limits of one JSON value, checked at append and at read."""

from typing import Any

from varvite.errors import LimitError

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
RECORD_BYTES_MAX = 1 << 20
BATCH_BYTES_MAX = 16 << 20
BATCH_RECORDS_MAX = 10_000
DEPTH_MAX = 64
KEY_BYTES_MAX = 256
_INFINITY = float("inf")


def check_record(record: dict[str, Any], proved: frozenset[str], path: str) -> None:
    """Refuse what `check` refuses in the fields that are not `proved` to hold none of it.

    Text is left to the encoder, which refuses a lone surrogate.
    """
    for key, value in record.items():
        if key not in proved:
            _check_key(key, path)
            if type(value) is not str and value is not None:
                check(value, f"{path}.{key}", 2)


def check(value: Any, path: str = "$", depth: int = 1) -> None:
    """Refuse, with its JSON path, what a reader could not read back the same.

    Raises:
        LimitError: depth, integer range, NaN or Infinity, key length, a lone
            surrogate, or a type that JSON has not.
    """
    kind = type(value)
    if kind is str:
        _check_text(value, path)
    elif kind is dict:
        _check_object(value, path, depth)
    elif kind is list:
        _check_list(value, path, depth)
    elif kind is int:
        if not INT64_MIN <= value <= INT64_MAX:
            raise LimitError(
                f"{path}: {str(value)[:40]} is outside int64", hint="keep it as a string", path=path
            )
    elif kind is float:
        if not -_INFINITY < value < _INFINITY:
            raise LimitError(f"{path}: {value} is not a JSON number", hint="use null", path=path)
    elif kind is not bool and value is not None:
        raise LimitError(f"{path}: {kind.__name__} is not a JSON type", path=path)


def _check_object(value: dict[str, Any], path: str, depth: int) -> None:
    _check_depth(path, depth)
    for key, item in value.items():
        if type(key) is not str or not key.isascii() or len(key) > KEY_BYTES_MAX:
            _check_key(key, path)
        kind = type(item)
        if kind is str:
            if item.isascii():
                continue
        elif kind is int:
            if INT64_MIN <= item <= INT64_MAX:
                continue
        elif kind is bool or item is None:
            continue
        check(item, f"{path}.{key}", depth + 1)


def _check_list(value: list[Any], path: str, depth: int) -> None:
    _check_depth(path, depth)
    if not _is_plain(value):
        for position, item in enumerate(value):
            check(item, f"{path}[{position}]", depth + 1)


def _is_plain(value: list[Any]) -> bool:
    """Whether all is of one kind that needs no path: integers in range, or ASCII text."""
    kinds = set(map(type, value))
    if kinds == {int}:
        return bool(min(value) >= INT64_MIN and max(value) <= INT64_MAX)
    return not kinds or (kinds == {str} and all(map(str.isascii, value)))


def _check_key(key: Any, path: str) -> None:
    if type(key) is not str:
        raise LimitError(f"{path}: the key {key!r} is not a string", path=path)
    _check_text(key, path)
    if len(key.encode()) > KEY_BYTES_MAX:
        raise LimitError(f"{path}: a key is over {KEY_BYTES_MAX} bytes long", path=path)


def _check_depth(path: str, depth: int) -> None:
    if depth > DEPTH_MAX:
        raise LimitError(f"{path[:200]}: nested deeper than {DEPTH_MAX}", path=path[:200])


def _check_text(value: str, path: str) -> None:
    if value.isascii():
        return
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise LimitError(
            f"{path}: a lone surrogate at character {error.start}",
            hint="replace it before appending",
            path=path,
        ) from None
