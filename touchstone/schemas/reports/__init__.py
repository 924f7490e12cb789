"""The reports that suites make of their results, with the field names of their specifications."""
