"""Measures records a second through both runners, in one process and live, latency, memory."""
