"""Evaluation runs: prompts go to a system under test, suites score what it generates, and the run is reported. See docs/eval-runs.md.

Nothing here names a suite: the command supplies scoring, test cases, expectations and codes.
"""
