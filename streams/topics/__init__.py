"""Topics: made, read, written to, and their dead letters."""
