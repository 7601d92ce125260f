"""Communities of what a session found, and what of its field map they would change."""
