"""Measuring an NLI model on labelled sets: what `python -m touchstone.ops.lab models evaluate` prints."""
