"""Where a suite's own code failed: the type of the exception and its place, never its message, which may quote a payload."""

import os
import sys
import traceback
from pathlib import Path
from typing import Any


def where_raised(error: BaseException, module: str) -> str | None:
    """File and line of the innermost frame that belongs to the module's package; None if it has none there."""
    package = module.partition(".")[0]
    found = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        name = str(frame.f_globals.get("__name__", ""))
        if (name == package or name.startswith(f"{package}.")) and not name.startswith("touchstone.streams."):
            found = f"{frame.f_code.co_filename.rsplit('/', 1)[-1]}:{line}"
    return found


def raised_at(error: BaseException) -> str:
    """File and line of an exception's innermost frame."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "an unknown place"


def defect_in(hook: Any, error: BaseException) -> str:
    """`KeyError at suite.py:11`: the innermost place in the package of a suite's function; if the package has no frame, the innermost of all."""
    return f"{type(error).__name__} at {where_raised(error, getattr(hook, '__module__', None) or '') or raised_at(error)}"


def print_traceback_if_asked(error: BaseException) -> None:
    """With TOUCHSTONE_DEBUG=1, show a developer the whole traceback on standard error; it may quote payloads."""
    if os.environ.get("TOUCHSTONE_DEBUG") == "1":
        sys.stderr.write("touchstone: TOUCHSTONE_DEBUG=1: this traceback may quote payloads\n")
        traceback.print_exception(error, file=sys.stderr)
