"""Generators of the tables that the shared clinical checks ship with: `python -m touchstone.ops.lab build tables clinical`."""
