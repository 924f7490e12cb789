"""Benchmarks: ratios against baselines of the same run. A room for each subject; what they share is here."""
