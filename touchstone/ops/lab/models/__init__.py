"""Measuring an NLI model on labelled sets: what `touchstone models evaluate` prints."""
