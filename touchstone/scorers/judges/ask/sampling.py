"""Which cases of a suite are judged, and how much of their texts a judge is shown: both always the same for the same case."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

_SPACE: Final = 2**64
_CUT: Final = "\n[cut here: {} of {} characters are not shown]"


def is_sampled(suite: str, event_id: str, rate: float) -> bool:
    """Whether an event is in a suite's sample of this share: by a hash of its id, so that every process and every replay chooses the same ones."""
    digest = sha256(f"{suite}\n{event_id}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") < rate * _SPACE


def shares(lengths: Sequence[int], chars_max: int) -> list[int]:
    """How many characters of each text are shown where all of them share a bound: short ones are whole, and long ones have equal parts of the rest."""
    parts, left = [0] * len(lengths), chars_max
    for rank, place in enumerate(sorted(range(len(lengths)), key=lengths.__getitem__)):
        parts[place] = min(lengths[place], left // (len(lengths) - rank))
        left -= parts[place]
    return parts


def cut(text: str, chars_max: int) -> str:
    """The beginning of a text, with a line that says how much is left out, where some is."""
    return text if len(text) <= chars_max else text[:chars_max] + _CUT.format(len(text) - chars_max, len(text))
