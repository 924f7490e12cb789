"""The values of a text: numbers, quantities, dates, spans, prices and shares, each with what it means."""

from touchstone.scorers.summary.conflicts.values.extraction import read
from touchstone.scorers.summary.conflicts.values.tokens import Tokens
from touchstone.scorers.summary.conflicts.values.value import Value, comparable, same, same_figures

__all__ = ["Tokens", "Value", "comparable", "read", "same", "same_figures"]
