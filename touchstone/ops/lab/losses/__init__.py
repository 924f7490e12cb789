"""Compares the order of losses with truth and with people: `python -m touchstone.ops.lab losses`."""
