"""Measures the live service with many clients."""
