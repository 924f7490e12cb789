"""Times of events: when a message was sent, a patient was born, a result was observed (specification, Priority 6)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from functools import lru_cache

from touchstone.schemas.result import Finding
from touchstone.scorers.clinical.checks.datetimes import Zone, check_hl7v2
from touchstone.scorers.clinical.formats.hl7v2.findings import Findings
from touchstone.scorers.clinical.formats.hl7v2.lexer import Segment
from touchstone.scorers.clinical.formats.hl7v2.primitives import DTM
from touchstone.scorers.clinical.report import Context

WELL_FORMED = re.compile(DTM.pattern or "", re.ASCII)
#: Segment → (field, whether a time of day needs its offset). A birth is a day; MSH-7 dates the whole message.
TIMES: Mapping[str, tuple[tuple[int, Zone], ...]] = {
    "MSH": ((7, "required"),),
    "EVN": ((2, "recommended"),),
    "PID": ((7, "none"), (29, "recommended")),
    "PV1": ((44, "recommended"), (45, "recommended")),
    "OBR": ((7, "recommended"), (22, "recommended")),
    "OBX": ((14, "recommended"),),
}
_DAY_LENGTH = 8


def past_limit(findings: Findings) -> str:
    """The last day (YYYYMMDD) that is in the past in every timezone."""
    day = findings.context.now() - timedelta(days=2)
    return f"{day.year:04}{day.month:02}{day.day:02}"


@lru_cache(maxsize=4_096)
def _zone_missing(path: str, zone: Zone) -> list[Finding]:
    """The finding for a time of a past day without its offset, if no values are quoted."""
    return check_hl7v2("20000101120000", path, Context(), zone=zone)


def check_times(segment: Segment, findings: Findings, past: str) -> int:
    """Check a segment's times; returns how many it has. `past`: see past_limit."""
    checked = 0
    fields = segment.fields
    size = len(fields)
    for position, zone in TIMES[segment.name]:
        if position >= size or not fields[position]:
            continue
        value = fields[position]
        if value[_DAY_LENGTH:] and "1900" <= value[:_DAY_LENGTH] <= past and value[-5] in "+-":
            checked += 1  # most times: past, with an offset; the data type's check reports a malformed one
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
        if not has_zone and "1900" <= day <= past and len(day) == _DAY_LENGTH and not findings.context.quote:
            findings.add_all(_zone_missing(path, zone))
        else:
            findings.add_all(check_hl7v2(value, path, findings.context, zone=zone))
    return checked


def check_order(segment: Segment, first: int, second: int, message: str, findings: Findings) -> None:
    """Report a second time that is on a day before the first."""
    if second >= len(segment.fields):
        return
    earlier, later = segment.component(first, 1)[:_DAY_LENGTH], segment.component(second, 1)[:_DAY_LENGTH]
    if len(earlier) == len(later) == _DAY_LENGTH and (earlier + later).isascii() and earlier.isdigit() and later.isdigit() and later < earlier:
        findings.add("major", "datetimes.period-order", f"{segment.path}-{second}", message)
