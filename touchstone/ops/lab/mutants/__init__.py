"""Fences taken out one by one, to see that a test notices."""
