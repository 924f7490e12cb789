"""A duration that its own sentence's clock times contradict: "for four hours, from 9.00 to 11.30"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from touchstone.scorers.summary.conflicts.difference import Difference
from touchstone.scorers.summary.conflicts.values.surroundings import look
from touchstone.scorers.summary.conflicts.wording.clauses import ParsedText

_TIME = r"(\d{1,2})(?:[:.](\d{2}))\s*(a\.?m\.?|p\.?m\.?)?"
_FROM_TO = re.compile(rf"\b(?:from|between)\s+{_TIME}\s*(?:to|until|till|and|-|–)\s*{_TIME}(?![\d:])", re.IGNORECASE)
#: Rounding that a duration may have, in minutes and as a share.
OFF_MINUTES, OFF_SHARE = 10.0, 0.12
_HALF_A_DAY = 720


def find(sentence: ParsedText, units: Sequence[ParsedText]) -> list[Difference]:
    """The duration of a sentence with one duration and one "from … to …", if both do not agree and no unit states that duration."""
    times = list(_FROM_TO.finditer(sentence.text))
    durations = [one.value for one in look(sentence.text).values if one.value.kind == "duration" and not one.value.weak and one.value.readings]
    if len(times) != 1 or len(durations) != 1:
        return []
    (value,) = durations
    minutes = value.readings[0][1] / 60
    first_hour, first_minute, _, last_hour, last_minute, _ = times[0].groups()
    lasted = (int(last_hour) * 60 + int(last_minute) - int(first_hour) * 60 - int(first_minute)) % _HALF_A_DAY
    whole = {lasted, lasted + _HALF_A_DAY}
    if minutes > 2 * _HALF_A_DAY or any(abs(minutes - one) <= max(OFF_MINUTES, OFF_SHARE * one) for one in whole):
        return []
    stated = [one.value for unit in units for one in look(unit.text).values if one.value.kind == "duration" and one.value.readings]
    if any(abs(one.readings[0][1] / 60 - minutes) <= OFF_MINUTES for one in stated):
        return []
    for number, unit in enumerate(units):
        other = re.search(rf"\b{first_hour}[:.]{first_minute}\b", unit.text)
        if other:
            return [Difference("duration", (value.start, value.end), other.span(), number)]
    return []
