"""Generators of the tables that the shared clinical checks ship with: `python -m ops.clinical_tables`."""
