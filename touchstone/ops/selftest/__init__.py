"""The self-test as it is run: its file, the adapters of systems under test, and the report files."""
