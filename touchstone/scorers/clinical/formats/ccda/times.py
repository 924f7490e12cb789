"""Dates and times: form, precision, timezone, order, future (specification, Priority 6)."""

from __future__ import annotations

from typing import Any, Final

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.checks.datetimes import Zone, check_ccda, check_period
from touchstone.scorers.clinical.checks.timestamps import Malformed, Moment, Precision, read_compact
from touchstone.scorers.clinical.formats.ccda.document import Document
from touchstone.scorers.clinical.formats.ccda.element_names import SDTC
from touchstone.scorers.clinical.formats.ccda.elements import child, is_null, kind, local

#: Elements with a time or a period.
_TIMES: Final = frozenset({"effectiveTime", "time", "birthTime", "deceasedTime", "expectedUseTime", "useablePeriod", "validTime"})
_TYPES: Final = frozenset({"TS", "IVL_TS"})
_ENDS: Final = ("low", "high", "center")
#: Moods in which nothing has happened yet.
_PLANNED: Final = frozenset({"INT", "RQO", "PRMS", "PRP", "GOL", "ARQ", "APT", "EVN.CRT", "OPT", "DEF"})
#: Participations and periods that are usually in the future: of a prescription, an insurance, a visit.
_AHEAD: Final = frozenset({"participant", "useablePeriod", "expectedUseTime", "validTime", "encompassingEncounter", "serviceEvent", "supply"})


def check_times(document: Document) -> None:
    """Check every time of the document."""
    for element, name in document.select(_TIMES | {"value"}):
        if name in _TIMES or kind(element) in _TYPES:
            document.report.fired("datetimes")
            _check_time(document, element, name)
    _check_life(document)


def _check_time(document: Document, element: Any, name: str) -> None:
    parent = element.getparent()
    owner = local(parent) if parent is not None else ""
    of_document = parent is document.root and name == "effectiveTime"
    is_birth = name == "birthTime"
    # The time of the document SHALL have an offset if it is finer than a day; times of events SHOULD.
    zone: Zone = "required" if of_document else "none" if is_birth else "recommended"
    precision: Precision | None = "day" if of_document or (name == "time" and owner in {"author", "authenticator", "legalAuthenticator"}) else None
    ahead = name in _AHEAD or owner in _AHEAD or _is_planned(element)
    if not is_null(element) and element.get("value") is not None:
        _one(document, element, zone, precision, None if ahead else "minor", is_birth=is_birth)
    if not len(element):
        return
    ends: dict[str, Moment | Malformed] = {}
    within = [(one, local(one)) for one in element.iterchildren("*")]
    for end in _ENDS:
        for one in (one for one, called in within if called == end):
            value = one.get("value")
            if value is None or is_null(one) or kind(element) in {"IVL_PQ", "PIVL_TS"}:
                continue
            # An ongoing period may end in the future.
            _one(document, one, zone, precision, None if ahead or end == "high" else "minor", is_birth=is_birth)
            ends.setdefault(end, read_compact(value))
    if "low" in ends and "high" in ends and check_period(ends["low"], ends["high"], "", document.context):
        document.add_all(check_period(ends["low"], ends["high"], document.path(element), document.context))


def _one(document: Document, element: Any, zone: Zone, precision: Precision | None, future: Severity | None, *, is_birth: bool) -> None:
    value = element.get("value")
    known = read_compact(value)
    # Most times are complete, with an offset, and of a past year: they need no path, which costs time.
    if isinstance(known, Moment) and not is_birth and precision is None and known.year > 1900 and (not known.has_time or known.offset_min is not None):
        now = document.context.now()
        if known.year < now.year - 1:
            return
    if check_ccda(value, "", document.context, zone=zone, precision_min=precision, future=future):
        path = f"{document.path(element)}/@value"
        document.add_all(check_ccda(value, path, document.context, zone=zone, precision_min=precision, future=future))


def _is_planned(element: Any) -> bool:
    """True if a time belongs to a plan, an order or a goal."""
    above = element.getparent()
    while above is not None:
        mood = above.get("moodCode")
        if mood is not None:
            return mood in _PLANNED
        above = above.getparent()
    return False


def _check_life(document: Document) -> None:
    """Report a death before the birth, and a birth after the document."""
    written = child(document.root, "effectiveTime")
    then = read_compact(written.get("value")) if written is not None else None
    for role in document.root.iterfind("{*}recordTarget/{*}patientRole/{*}patient"):
        birth, death = child(role, "birthTime"), role.find(f"{{{SDTC}}}deceasedTime")
        born = read_compact(birth.get("value")) if birth is not None else None
        if isinstance(born, Moment) and isinstance(then, Moment) and born.certainly_after(then):
            document.add("major", "datetimes.period-order", birth, "The patient is born after the document was written")
        if death is None:
            continue
        died = read_compact(death.get("value"))
        if isinstance(born, Moment) and isinstance(died, Moment) and born.certainly_after(died):
            document.add("major", "datetimes.period-order", death, "The patient died before birth")
