"""Names, numbers and codes of a summary that neither its gold nor its source has."""
