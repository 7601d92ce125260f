"""What a statement reads: its relations by name, as DuckDB's own parser sees them.

Only these are made, and only their segments are read: a column called `nodes` costs nothing.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import duckdb
import orjson

from varvite.errors import QueryError

STREAMS, CATALOG = "streams", "catalog"
_OURS = frozenset({"", "main"})
_LISTING_FUNCTIONS = frozenset({"duckdb_views", "duckdb_tables", "duckdb_columns"})
_INDIRECT_FUNCTIONS = frozenset({"query", "query_table"})
_WORD = re.compile(r"[A-Za-z_]\w*")
_STREAM = re.compile(r"\bstreams\"?\s*\.\s*\"?(\w+)", re.IGNORECASE)
_KINDS = ("SELECT", "EXPLAIN", "MULTI")
"""MULTI is what PIVOT comes to."""


_KNOWN: dict[str, "Named"] = {}


class Named(NamedTuple):
    """Views, streams and tables of the catalog by name, in lower case.

    listing: it asks which relations there are.
    """

    views: set[str]
    streams: set[str]
    tables: set[str]
    listing: bool = False


def check_asks(con: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Refuse what is not one statement that only asks.

    Raises:
        QueryError; duckdb.Error where it cannot be parsed.
    """
    if any("\ud800" <= letter <= "\udfff" for letter in sql):
        raise QueryError("the statement is no valid text: it holds half a surrogate pair")
    kinds = [statement.type.name for statement in con.extract_statements(sql)]
    if len(kinds) != 1:
        raise QueryError(f"{len(kinds)} statements in one question", hint="ask one at a time")
    if kinds[0] not in _KINDS:
        raise QueryError(f"{kinds[0].lower()} is no statement that asks", hint="ask with a select")


def known(con: duckdb.DuckDBPyConnection, sql: str) -> Named:
    """`named` of a statement that ships with the package, looked into once a process."""
    if sql not in _KNOWN:
        _KNOWN[sql] = named(con, sql)
    return _KNOWN[sql]


def named(con: duckdb.DuckDBPyConnection, sql: str) -> Named:
    """What the statement reads; where only running it would tell, whatever its words may name."""
    tree = _tree(con, sql)
    nodes = list(_nodes(tree))
    if not nodes or not _INDIRECT_FUNCTIONS.isdisjoint(map(_function, nodes)):
        return _by_words(sql)
    found = Named(set(), set(), set(), any(map(_lists, nodes)))
    for node in nodes:
        if node.get("type") == "BASE_TABLE":
            schema, name = node["schema_name"].lower(), node["table_name"].lower()
            if schema == STREAMS:
                found.streams.add(name)
            elif schema == CATALOG:
                found.tables.add(name)
            elif schema in _OURS:
                found.views.add(name)
    return found


def _tree(con: duckdb.DuckDBPyConnection, sql: str) -> Any:
    """The parse tree of a select; None for other statements."""
    answer = con.execute("select json_serialize_sql(?)", [sql]).fetchall()[0][0]
    try:
        tree = orjson.loads(answer)
    except orjson.JSONDecodeError:  # nested deeper than it reads
        return None
    return None if tree["error"] else tree


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    waiting = [tree]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _function(node: dict[str, Any]) -> str:
    return str(node.get("function_name", "")).lower()


def _lists(node: dict[str, Any]) -> bool:
    if node.get("type") == "SHOW_REF":
        return bool(node.get("table_name"))
    if node.get("type") == "BASE_TABLE":
        return str(node["schema_name"]).lower() == "information_schema"
    return _function(node) in _LISTING_FUNCTIONS


def _by_words(sql: str) -> Named:
    words = set(map(str.lower, _WORD.findall(_STREAM.sub("", sql))))
    return Named(words, {name.lower() for name in _STREAM.findall(sql)}, set())
