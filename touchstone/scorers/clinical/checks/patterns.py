"""Regular expressions that come from outside (profiles, packages, documents), tried in bounded time.

An engine that takes linear time is asked first. It has neither look-around nor back references: patterns with those go to Python's engine, which
backtracks, on short texts, and only if its steps can be counted beforehand. What cannot be bounded is refused, and the caller reports it as not checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from touchstone.scorers.clinical.checks.pattern_steps import steps_at_most

#: A test for a text: True, False, or None if the text is too long for the engine that reads the pattern.
Test = Callable[[str], bool | None]

PATTERN_CHARS_MAX: Final = 50_000
#: A text that Python's engine is asked about, and the steps that it may take for it (some 10 ms at most).
BACKTRACKED_CHARS_MAX: Final = 200
STEPS_MAX: Final = 500_000
#: The longest text in which parts are replaced, which no engine here does in linear time.
REPLACED_CHARS_MAX: Final = 4_000
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_UNREADABLE: Final = "it cannot be read"
#: Java's classes are of ASCII; those of the linear engine are of Unicode.
_ASCII: Final = {"d": "[0-9]", "D": "[^0-9]", "w": "[0-9A-Za-z_]", "W": "[^0-9A-Za-z_]", "s": r"[ \t\n\x0B\f\r]", "S": r"[^ \t\n\x0B\f\r]"}


class PatternError(ValueError):
    """A pattern that is not tried; the message says why, without the pattern. `is_readable`: it is too much for the bound, and may be well-formed."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.is_readable = reason != _UNREADABLE


def read_pattern(regex: str, *, anywhere: bool = False, dot_all: bool = False, ascii_only: bool = False) -> Test:
    r"""A test for a whole text, or with `anywhere` for a part of it. Raises PatternError.

    `dot_all`: a dot is a line end, too. `ascii_only`: `\d`, `\w`, `\s` are of ASCII, as in Java.
    """
    found = _read(regex, anywhere=anywhere, dot_all=dot_all, ascii_only=ascii_only)
    if isinstance(found, str):
        raise PatternError(found)
    return found


@lru_cache(maxsize=1_000)
def _read(regex: str, *, anywhere: bool, dot_all: bool, ascii_only: bool) -> Test | str:
    """A test, or why the pattern is not tried."""
    if len(regex) > PATTERN_CHARS_MAX:
        return f"it is longer than {PATTERN_CHARS_MAX:,} characters"
    linear = _linear(regex, anywhere=anywhere, dot_all=dot_all, ascii_only=ascii_only)
    if linear is not None:
        return linear
    try:
        known = re.compile(regex, (re.DOTALL if dot_all else 0) | (re.ASCII if ascii_only else 0))
        steps = steps_at_most(regex, BACKTRACKED_CHARS_MAX, STEPS_MAX, anywhere=anywhere)
    except (re.error, RecursionError, OverflowError):
        return _UNREADABLE
    if steps is None:
        return "it may take too long"
    act = known.search if anywhere else known.fullmatch
    return lambda text: None if len(text) > BACKTRACKED_CHARS_MAX else act(text) is not None


def replaced(regex: str, by: str, text: str) -> str | None:
    """A text whose parts of a form are replaced; None if that cannot be done in bounded time. Raises PatternError for what cannot be read."""
    chars = next((most for most in (BACKTRACKED_CHARS_MAX, REPLACED_CHARS_MAX) if len(text) <= most), None)
    known = None if chars is None else _searched(regex, chars)
    return None if known is None else known.sub(lambda _: by, text)


@lru_cache(maxsize=200)
def _searched(regex: str, chars: int) -> re.Pattern[str] | None:
    try:
        known = re.compile(regex, re.DOTALL)
        # After each match the search goes on behind it, so that no place is tried more than twice.
        return known if steps_at_most(regex, chars, STEPS_MAX // 2, anywhere=True) is not None else None
    except (re.error, RecursionError, OverflowError):
        raise PatternError(_UNREADABLE) from None


def _linear(regex: str, *, anywhere: bool, dot_all: bool, ascii_only: bool) -> Callable[[str], bool] | None:
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    written = _ESCAPE.sub(lambda found: _ASCII.get(found[1], found[0]), regex) if ascii_only else regex
    inner = f"(?s:{written})" if dot_all else f"(?:{written})"
    try:
        # By itself first if it could close our bracket: "a)|(?:b" is no pattern.
        for pattern in (*((written,) if ")" in written else ()), inner if anywhere else rf"\A{inner}\z"):
            known = SchemaValidator(core_schema.str_schema(pattern=pattern, strict=True, regex_engine="rust-regex"))
    except SchemaError:
        return None
    return known.isinstance_python
