"""The archive: cases and their results as immutable objects, on files or in an object store."""
