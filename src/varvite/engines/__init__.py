"""What runs the statements of checkpoints: DuckDB in this process."""
