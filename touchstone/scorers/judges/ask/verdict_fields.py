"""Parts of the verdict models of every suite. Texts and lists beyond a bound are cut, because a wordy verdict is still a verdict."""

from __future__ import annotations

from typing import Any, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

RATIONALE_CHARS_MAX: Final = 1_000
WORDS_CHARS_MAX: Final = 300


class VerdictPart(BaseModel):
    """Base of verdict models. Unknown keys are ignored, and error messages never quote the answer."""

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)


def cut_text(chars_max: int) -> BeforeValidator:
    """Cut a text that is too long; null becomes an empty text."""
    return BeforeValidator(lambda value: value[:chars_max] if isinstance(value, str) else "" if value is None else value)


def cut_list(items_max: int) -> BeforeValidator:
    """Cut a list that is too long; null becomes an empty list."""
    return BeforeValidator(lambda value: value[:items_max] if isinstance(value, list) else [] if value is None else value)


def each_once(name: str) -> AfterValidator:
    """Refuse a list with two entries on one thing, because one of them may be a quotation. `name`: the field that says which thing."""

    def checked(entries: tuple[Any, ...]) -> tuple[Any, ...]:
        if len({getattr(one, name) for one in entries}) < len(entries):
            raise ValueError(f"write one entry for each {name}")
        return entries

    return AfterValidator(checked)


def _lower(value: Any) -> Any:
    return value.strip().casefold() if isinstance(value, str) else value


#: A word in lower case, however the model wrote it.
LOWER: Final = BeforeValidator(_lower)
#: An id in upper case, however the model wrote it.
UPPER: Final = BeforeValidator(lambda value: value.strip().upper() if isinstance(value, str) else value)
