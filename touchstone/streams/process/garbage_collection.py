"""Settings of Python's cycle collector for this kind of program."""

import gc


def calm_collector() -> None:
    """Keep the cycle collector out of the hot path: cases and results hold no cycles, so frequent scans find nothing.

    What start-up has loaded is set aside, and the young generation is scanned every 50,000 allocations.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
