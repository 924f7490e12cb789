"""`touchstone`, also as `python -m touchstone`. Ctrl-C ends it without a traceback from the first moment, while commands and libraries are still imported."""

import os
import signal
import sys
from types import FrameType

#: What shells expect of a program that Ctrl-C ended (128 + SIGINT).
EXIT_STOPPED = 130


def main() -> None:
    """Run the command line."""
    _on_interrupt(_end)
    from touchstone.ops.cli import main as run

    try:
        _on_interrupt(signal.default_int_handler)
        run()
    except KeyboardInterrupt:
        sys.exit(EXIT_STOPPED)
    finally:
        _on_interrupt(_end)  # the interpreter's own shutdown has nothing to say either


def _end(_number: int, _frame: FrameType | None) -> None:
    """End at once. An exception would pass through whatever is being imported, and a library may catch it or print it."""
    os._exit(EXIT_STOPPED)


def _on_interrupt(handler: signal.Handlers | object) -> None:
    """Set what Ctrl-C does, unless the parent process decided that it does nothing (`nohup`, a job in the background)."""
    if signal.getsignal(signal.SIGINT) in {signal.default_int_handler, _end}:
        signal.signal(signal.SIGINT, handler)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
