"""Times that mean something: when a message was sent, a patient was born, a result was observed (specification, Priority 6)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta

from touchstone.scorers.clinical.formats.hl7v2 import shared_checks
from touchstone.scorers.clinical.formats.hl7v2.findings import Notes
from touchstone.scorers.clinical.formats.hl7v2.lexer import Segment
from touchstone.scorers.clinical.formats.hl7v2.primitives import DTM
from touchstone.scorers.clinical.formats.hl7v2.shared_checks import Zone

WELL_FORMED = re.compile(DTM.pattern or "", re.ASCII)
#: Segment → (field, whether a time of day needs its offset). Birth is a day; MSH-7 places the whole message in time.
TIMES: Mapping[str, tuple[tuple[int, Zone], ...]] = {
    "MSH": ((7, "required"),),
    "EVN": ((2, "recommended"),),
    "PID": ((7, "none"), (29, "recommended")),
    "PV1": ((44, "recommended"), (45, "recommended")),
    "OBR": ((7, "recommended"), (22, "recommended")),
    "OBX": ((14, "recommended"),),
}
_DAY_LENGTH = 8


def past_limit(notes: Notes) -> str:
    """The last day, as HL7 writes it, that certainly lies in the past."""
    day = notes.context.now() - timedelta(days=2)
    return f"{day.year:04}{day.month:02}{day.day:02}"


def check_times(segment: Segment, notes: Notes, past: str) -> int:
    """Note what is wrong with a segment's times; how many it has. `past`: see past_limit."""
    checked = 0
    fields = segment.fields
    size = len(fields)
    for position, zone in TIMES[segment.name]:
        if position >= size or not fields[position]:
            continue
        value = fields[position]
        if value[_DAY_LENGTH:] and "1900" <= value[:_DAY_LENGTH] <= past and value[-5] in "+-":
            checked += 1  # most of all times: past, with an offset; their form is the data type's matter
            continue
        if "^" in value or "~" in value:
            value = segment.component(position, 1)
        if WELL_FORMED.fullmatch(value) is None:
            continue  # the data type's own check reports what is malformed
        checked += 1
        day = value[:_DAY_LENGTH]
        has_zone = zone == "none" or len(value) <= _DAY_LENGTH or value[-5] in "+-"
        if has_zone and "1900" <= day <= past and (len(day) == _DAY_LENGTH or len(day) == 4):
            continue
        path = f"{segment.path}-{position}"
        if not has_zone and "1900" <= day <= past and len(day) == _DAY_LENGTH and not notes.context.quote:
            notes.shared(shared_checks.zone_missing(path, zone))
        else:
            notes.shared(shared_checks.time(value, path, notes.context, zone=zone))
    return checked


def check_order(segment: Segment, first: int, second: int, what: str, notes: Notes) -> None:
    """Note a second time that certainly lies before the first."""
    if second >= len(segment.fields):
        return
    earlier, later = segment.component(first, 1)[:_DAY_LENGTH], segment.component(second, 1)[:_DAY_LENGTH]
    if len(earlier) == len(later) == _DAY_LENGTH and (earlier + later).isascii() and earlier.isdigit() and later.isdigit() and later < earlier:
        notes.add("major", "datetimes.period-order", f"{segment.path}-{second}", what)
