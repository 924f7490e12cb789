"""What flows through Touchstone: cases in, results, ledger records and reports out. Imports pydantic only."""
