"""Which cases of a suite are judged, and how much of their texts the judge is shown. Both depend on the case alone, so replays choose the same."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

_SPACE: Final = 2**64
_CUT: Final = "\n[cut here: {} of {} characters are not shown]"


def is_sampled(suite: str, event_id: str, rate: float) -> bool:
    """True if an event is in a suite's sample. `rate`: share of all events, 0 to 1. Decided by a hash of the id, so every process and replay agrees."""
    digest = sha256(f"{suite}\n{event_id}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") < rate * _SPACE


def shares(lengths: Sequence[int], chars_max: int) -> list[int]:
    """How many characters of each text are shown within a common bound: short texts in full, and equal parts of the rest for long ones."""
    parts, left = [0] * len(lengths), chars_max
    for rank, place in enumerate(sorted(range(len(lengths)), key=lengths.__getitem__)):
        parts[place] = min(lengths[place], left // (len(lengths) - rank))
        left -= parts[place]
    return parts


def cut(text: str, chars_max: int) -> str:
    """A text up to a bound; if it is longer, a last line says how many characters are missing."""
    return text if len(text) <= chars_max else text[:chars_max] + _CUT.format(len(text) - chars_max, len(text))
