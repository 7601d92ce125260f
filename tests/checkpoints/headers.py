"""Hold what a statement of a checkpoint answers against its header, wherever one is run."""

from varvite.query import statements

KINDS = {
    "int64": "bigint",
    "double": "double",
    "bool": "boolean",
    "string": "varchar",
    "large_string": "varchar",
    "timestamp[us, tz=UTC]": "timestamptz",
    "list<l: string>": "varchar[]",
    "list<element: string>": "varchar[]",
    "list<item: string>": "varchar[]",
    "list<child: string>": "varchar[]",
}


def check(name, answer):
    """Columns, their types, and no null where the header says so."""
    promised = statements.checkpoints()[name].columns
    found = [(field.name, KINDS.get(str(field.type), str(field.type))) for field in answer.schema]
    assert found == [(column.name, column.type) for column in promised], name
    for column in promised:
        if not column.nullable:
            assert answer[column.name].null_count == 0, f"{name}.{column.name}"
