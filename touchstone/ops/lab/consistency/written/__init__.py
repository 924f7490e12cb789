"""Pairs of documents written by hand, in the ways of different producers: equal ones, which must give no finding, and contradictions."""
