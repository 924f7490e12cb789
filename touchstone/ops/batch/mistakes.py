"""Where a suite's own code failed, for people: the type of the exception and its place, never its message, which may quote a payload."""

from pathlib import Path
from traceback import extract_tb
from typing import Any

from touchstone.streams.intake.mistakes import where_raised


def told(error: BaseException, hook: Any = None) -> str:
    """`KeyError at suite.py:11`: the place in the package of the hook that failed; where it has no line in it, the innermost place."""
    return f"{type(error).__name__} at {where_raised(error, getattr(hook, '__module__', None) or '') or _innermost(error)}"


def _innermost(error: BaseException) -> str:
    frames = extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "an unknown place"
