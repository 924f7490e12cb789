"""Files to cases to results, for any suite."""
