from tests.in_memory import session, store, tmp_path  # noqa: F401  (fixtures)
