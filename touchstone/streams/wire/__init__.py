"""Bytes and headers to cases, results to bytes and headers, and how clients connect."""
