"""Touchstone: an event-driven scorer for what language models generate."""
