"""Checks that every format shares: value in, findings out."""
