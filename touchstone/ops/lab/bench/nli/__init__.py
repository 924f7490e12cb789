"""Measures the NLI engine and the summary suite over the libraries' own calls."""
