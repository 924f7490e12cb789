"""The history of results and the archive, with as many cases as asked for."""
