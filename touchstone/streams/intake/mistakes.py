"""Locates a defect in a scorer: file and line for the log, and the whole traceback on request."""

import os
import sys
import traceback


def where_raised(error: BaseException, module: str) -> str | None:
    """The file and line at which an error left the code of a module's package: of its own frames the innermost. Never the message.

    None where the package has no frame in it.
    """
    package = module.partition(".")[0]
    found = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        name = str(frame.f_globals.get("__name__", ""))
        if (name == package or name.startswith(f"{package}.")) and not name.startswith("touchstone.streams."):
            found = f"{frame.f_code.co_filename.rsplit('/', 1)[-1]}:{line}"
    return found


def print_traceback_if_asked(error: BaseException) -> None:
    """With TOUCHSTONE_DEBUG=1, show a developer the whole traceback on standard error; it may quote payloads."""
    if os.environ.get("TOUCHSTONE_DEBUG") == "1":
        sys.stderr.write("touchstone: TOUCHSTONE_DEBUG=1: this traceback may quote payloads\n")
        traceback.print_exception(error, file=sys.stderr)
