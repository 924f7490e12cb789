"""Scores files with any suite: from files to cases to results."""
