"""Writes any report in any format, from its suite's view, to its destination."""
