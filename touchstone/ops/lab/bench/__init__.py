"""`make bench`: ratios against named baselines, measured in the same run."""
