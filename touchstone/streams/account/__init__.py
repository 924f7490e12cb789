"""The account: which offset had which outcome, and whether everything adds up."""
