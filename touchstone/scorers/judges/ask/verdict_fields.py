"""Parts that verdicts of every suite are made of: what a model writes beyond a bound is cut, because a wordy verdict is still a verdict."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict

RATIONALE_CHARS_MAX: Final = 1_000
WORDS_CHARS_MAX: Final = 300


class Answered(BaseModel):
    """A part of an answer; what it holds beyond the form is passed over, and errors never quote it."""

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)


def bounded(chars_max: int) -> BeforeValidator:
    """Cut a text that is too long; null is an empty one."""
    return BeforeValidator(lambda value: value[:chars_max] if isinstance(value, str) else "" if value is None else value)


def few(items_max: int) -> BeforeValidator:
    """Cut a list that is too long; null is an empty one."""
    return BeforeValidator(lambda value: value[:items_max] if isinstance(value, list) else [] if value is None else value)


def _lower(value: Any) -> Any:
    return value.strip().casefold() if isinstance(value, str) else value


#: A word of a list, however it is written.
LOWER: Final = BeforeValidator(_lower)
