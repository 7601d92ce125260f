"""Which SQL DuckDB, Spark and Sail read alike: what is allowed, held against a parse tree.

What is not on the list is refused, known to differ or not. The list comes from executing
72 constructs on the three: those left out here fail on one of them or, worse, answer otherwise
in silence: ordered aggregates lose their order, nulls leave array_agg, `->` loses quotes,
percentiles turn approximate, two unnests cross, hash() gives other values.
"""

from collections.abc import Iterator

from sqlglot import exp, parse_one

_CLAUSES = """
Alias CTE Column Distinct Except From Group Having Identifier Intersect Join Limit Order Ordered
Paren Qualify Select Star Subquery Table TableAlias Union Values Where With Placeholder Parameter
Tuple Var
"""
_OPERATORS = """
Add And Between Boolean Bracket Case Cast DPipe DataType Div EQ Exists GT GTE If In IntDiv Is
JSONExtractScalar JSONPath JSONPathKey JSONPathRoot Lambda LT LTE Like ILike Literal Mod Mul NEQ
Neg Not Null NullSafeEQ NullSafeNEQ Or PropertyEQ Struct Sub TryCast
"""
_FUNCTIONS = """
Abs AnyValue ArgMax ArgMin ArrayAgg ArrayContains ArrayFilter ArraySize ArraySort Avg Ceil Coalesce
Concat Count CountIf DateTrunc Exp Explode Filter Floor Greatest GroupConcat IgnoreNulls Least
Length Ln LogicalAnd LogicalOr Lower Lag Lead MD5 Max Min Nullif Pow Rank RegexpExtract RegexpLike
RegexpReplace Round RowNumber SHA2 Sqrt Substring Sum TimestampTrunc Trim Upper Window WindowSpec
"""
ALLOWED = frozenset(f"{_CLAUSES} {_OPERATORS} {_FUNCTIONS}".split())
TYPES = frozenset(
    {"BIGINT", "DOUBLE", "BOOLEAN", "TEXT", "VARCHAR", "TIMESTAMPTZ", "LIST", "ARRAY"}
)


def faults(sql: str, *, ordered: bool = True) -> list[str]:
    """What of a statement is not portable; empty where all of it is.

    ordered: its rows have to come in one order, as those of a table that is kept do.
    """
    tree = parse_one(sql, read="duckdb")
    found = {fault for node in tree.walk() for fault in _faults(node)}
    if not isinstance(tree, exp.Query) or (ordered and tree.args.get("order") is None):
        found.add("no order by: its rows come in any order")
    return sorted(found)


def _faults(node: exp.Expr) -> Iterator[str]:
    name = type(node).__name__
    if name not in ALLOWED:
        yield f"{name} is not on the list: {node.sql('duckdb')[:80]}"
    if isinstance(node, exp.DataType) and node.this.name not in TYPES:
        yield f"a type that engines do not share: {node.sql('duckdb')}"
    if isinstance(node, exp.Star) and len(node.args) > 0 and any(node.args.values()):
        yield f"a star that leaves out or replaces: {node.sql('duckdb')}"
    if isinstance(node, exp.Join) and node.method:
        yield f"a {node.method.lower()} join"
    if isinstance(node, exp.SetOperation) and node.args.get("by_name"):
        yield "a union by name"
    if isinstance(node, exp.Group) and node.args.get("all"):
        yield "group by all"
    if isinstance(node, exp.With) and node.recursive:
        yield "a recursive with"
    if isinstance(node, exp.Select) and len(list(_own(node, exp.Explode))) > 1:
        yield "two unnests in one select"
    if isinstance(node, exp.ArrayAgg) and not _settled(node):
        yield f"array_agg neither sorted nor without nulls: {node.sql('duckdb')[:80]}"


def _own(select: exp.Select, kind: type[exp.Expression]) -> Iterator[exp.Expression]:
    return (one for one in select.find_all(kind) if one.find_ancestor(exp.Select) is select)


def _settled(node: exp.ArrayAgg) -> bool:
    """Whether order and nulls are said outside: list_sort(array_agg(x) filter (…))."""
    return (
        node.find_ancestor(exp.ArraySort) is not None
        and node.find_ancestor(exp.Filter) is not None
        and node.find(exp.Order) is None
    )
