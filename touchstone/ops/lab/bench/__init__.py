"""Benchmarks: ratios against baselines of the same run. Each subject has its own package; shared parts are here."""
