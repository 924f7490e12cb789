"""Chaos: the promises of accounting, put to the proof while processes are killed and brokers fail."""
