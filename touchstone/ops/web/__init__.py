"""The live service over HTTP: streams, summaries and the Mission Control page."""
