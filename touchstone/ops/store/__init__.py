"""The result store: SQLite by default, PostgreSQL by URL."""
