"""Requests to slower stages: which traces are sent, and how much of them."""
