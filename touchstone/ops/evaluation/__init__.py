"""Evaluation runs: prompts go to a system under test, what it generates is scored by a suite, and reported. See docs/eval-runs.md.

Nothing here names a suite: the command hands over the suite's scoring, its test cases, and what it knows of expectations and codes.
"""
