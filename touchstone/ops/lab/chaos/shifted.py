"""`python -m touchstone.ops.lab.chaos.shifted SECONDS COMMAND…`: a `touchstone` command on a machine whose clock is off by so much.

Only what Python code takes for the time of day is shifted: timeouts are measured by the monotonic clock, as on a real machine.
"""

import datetime as dt
import sys
import time
from typing import Any

SHIFT_S = float(sys.argv.pop(1))
_time = time.time
_datetime = dt.datetime


class _Shifted(type):
    """Every moment counts as one of the shifted class, which makes none itself."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _datetime)


class Shifted(_datetime, metaclass=_Shifted):
    """`datetime` whose now is another."""

    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> dt.datetime:  # type: ignore[override]
        """The shifted moment, of the plain class."""
        return _datetime.now(tz) + dt.timedelta(seconds=SHIFT_S)


def shift() -> None:
    """Shift the clock of this process, before anything else is imported."""
    time.time = lambda: _time() + SHIFT_S
    time.time_ns = lambda: int((_time() + SHIFT_S) * 1_000_000_000)
    dt.datetime = Shifted  # type: ignore[misc]
    # aiokafka's batches are stamped by compiled code, which asks the machine.
    from aiokafka.producer.message_accumulator import BatchBuilder

    append = BatchBuilder.append

    def stamped(self: Any, *, timestamp: int | None, **fields: Any) -> Any:
        return append(self, timestamp=int(time.time() * 1000) if timestamp is None else timestamp, **fields)

    BatchBuilder.append = stamped


if __name__ == "__main__":
    shift()
    from touchstone.ops.cli import main

    main()
