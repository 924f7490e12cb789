"""The data models of Touchstone: cases, results, ledger records and reports. Imports pydantic only."""
