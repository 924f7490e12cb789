"""Telemetry of a process: the metric list, metrics and logs. Everything that counts imports it."""
