"""Text and numbers as documents bring them: of any type, any size, and hostile at times."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Final, Literal

#: Answers to a question of membership; a missing table does not mean "no".
Membership = Literal["member", "not_member", "not_checked"]

#: No number of a document needs more characters than this; longer text is not read as one.
NUMBER_LENGTH_MAX: Final = 64
_SHOWN_MAX: Final = 200
_HUGE_BITS: Final = 4096


def text_of(value: object, length_max: int) -> str | None:
    """The value where it is text of a bearable length; None for anything else."""
    return value if isinstance(value, str) and len(value) <= length_max else None


def number_of(value: object) -> float | None:
    """A value as a float: infinite where it is too large for one, None where it is not a number (a truth value is not one)."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        value = value.strip() if len(value) <= NUMBER_LENGTH_MAX else ""
        if not value.isascii() or not value or value.strip("+-.0123456789eE"):
            return None
    if not isinstance(value, (int, float, str, Decimal)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]  # text never overflows, it becomes infinite
    except ValueError:
        return None
    return None if math.isnan(number) else number


def shown(value: object) -> object:
    """The value in a form that is cheap and safe to print, for findings that may quote."""
    if isinstance(value, str):
        return value[:_SHOWN_MAX]
    if isinstance(value, int) and value.bit_length() > _HUGE_BITS:
        return "an integer of very many digits"
    return value if isinstance(value, (int, float, Decimal)) else type(value).__name__


def plain(number: float) -> str:
    """A number of Touchstone's tables, without a needless `.0`."""
    return f"{number:g}"
