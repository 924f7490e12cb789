"""The laboratory: measures, trains and breaks things. It needs a checkout and is not in the wheel; `python -m touchstone.ops.lab` lists it."""
