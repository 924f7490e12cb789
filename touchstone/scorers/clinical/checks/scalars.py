"""Text and numbers from documents, which may have any type and size."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Final, Literal

#: A missing table means not_checked, never not_member.
Membership = Literal["member", "not_member", "not_checked"]

#: Longer text is not read as a number.
NUMBER_LENGTH_MAX: Final = 64
_SHOWN_MAX: Final = 200
_HUGE_BITS: Final = 4096


def text_of(value: object, length_max: int) -> str | None:
    """Return the value if it is text of at most this length, else None."""
    return value if isinstance(value, str) and len(value) <= length_max else None


def number_of(value: object) -> float | None:
    """Return a value as a float: infinite if it is too large, None if it is not a number (booleans are not)."""
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
    """Return the value in a form that is cheap and safe to print, for findings that may quote."""
    if isinstance(value, str):
        return value[:_SHOWN_MAX]
    if isinstance(value, int) and value.bit_length() > _HUGE_BITS:
        return "an integer of very many digits"
    return value if isinstance(value, (int, float, Decimal)) else type(value).__name__


def plain(number: float) -> str:
    """Return a number of Touchstone's tables without a needless `.0`."""
    return f"{number:g}"
