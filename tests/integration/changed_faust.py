"""`touchstone` beside a Faust that has changed a name which our fetcher needs: `python -m tests.integration.changed_faust worker …`."""

from typing import Any

from faust.transport.consumer import Consumer

from touchstone.ops.cli import main


def _with_more(self: Any, tps: Any, retention: Any = None) -> Any:
    """As before, with a parameter that a later version might have."""
    return _before(self, tps)


_before = Consumer._filter_committable_offsets
Consumer._filter_committable_offsets = _with_more

if __name__ == "__main__":
    main()
