"""Terminology: the form of a message's codes, and whether their code systems hold them, through the shared check."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from touchstone.schemas.result import NotChecked
from touchstone.scorers.clinical.checks.displays import is_of_another_code
from touchstone.scorers.clinical.checks.routes import check_route
from touchstone.scorers.clinical.checks.terminology import CodeSystem, MembershipSource, check_code, code_system
from touchstone.scorers.clinical.formats.hl7v2.code_membership import CODED
from touchstone.scorers.clinical.formats.hl7v2.escapes import unescape
from touchstone.scorers.clinical.formats.hl7v2.findings import Notes
from touchstone.scorers.clinical.formats.hl7v2.identities import repetitions
from touchstone.scorers.clinical.formats.hl7v2.lexer import Segment
from touchstone.scorers.clinical.formats.hl7v2.tables import load
from touchstone.scorers.clinical.formats.memory import Memory
from touchstone.scorers.clinical.report import Context

#: Distinct codes of one document that are looked at.
QUESTIONS_MAX = 1_000
#: How long one document may keep a terminology server busy.
ASKING_S_MAX = 30.0
_REMEMBERED_LENGTH_MAX = 40
OTHER_SYSTEMS = NotChecked(check="terminology", reason="codes of other coding systems than ICD-10-CM, RxNorm, LOINC, SNOMED CT, CVX, NDC and UCUM")
TOO_MANY = NotChecked(check="terminology", reason=f"codes of this document after the first {QUESTIONS_MAX:,}")
TOO_SLOW = NotChecked(check="terminology", reason=f"codes that the terminology source was not asked for within {ASKING_S_MAX:g} s")
_GOOD = NotChecked(check="", reason="")
NULL = '""'


@lru_cache(maxsize=2_048)
def coded_positions(version: str, name: str, value_type: str) -> tuple[int, ...]:
    """The coded fields of a segment, OBX-5 among them where OBX-2 says so. The unit checks look at OBX-6."""
    return tuple(
        element.position
        for element in load(version).segments.get(name, ())
        if (element.datatype in CODED or (element.datatype == "varies" and value_type in CODED)) and (name, element.position) != ("OBX", 6)
    )


@lru_cache(maxsize=1_024)
def _system(name: str) -> CodeSystem | None:
    return code_system(name)


@lru_cache(maxsize=256)
def _not_asked(title: str, reason: str) -> NotChecked:
    return NotChecked(check=f"membership in {title}", reason=reason)


@lru_cache(maxsize=4_096)
def _remembered(name: str, code: str) -> NotChecked | None:
    """What is to be said of a code that has no finding: _GOOD, or what was not checked of it; None where there is a finding to make."""
    checked = check_code(name, code, "", Context())
    if checked.findings:
        return None
    if checked.membership != "not_checked" or checked.system is None:
        return _GOOD
    return _not_asked(checked.system.title, checked.reason or "")


class _Written(NamedTuple):
    """The content of a coded value: (system, code) of the systems that may be known, each with its finding without a source (None: check it).

    `is_other`: it names other systems. `needs_reading`: it repeats or is escaped. `displaced`: the components whose text is that of another code.
    """

    codes: tuple[tuple[tuple[str, str], NotChecked | None], ...] = ()
    is_other: bool = False
    needs_reading: bool = False
    displaced: tuple[int, ...] = ()


_NOTHING = _Written()


def _written(value: str) -> _Written:
    """The codes of one coded value, whatever its field."""
    if "^" not in value:
        return _NOTHING
    if "~" in value or "\\" in value:
        return _Written(needs_reading=True)
    parts = value.split("^", 6)
    codes: list[tuple[tuple[str, str], NotChecked | None]] = []
    displaced: list[int] = []
    is_other = False
    for code, system in ((0, 2), (3, 5)):
        if len(parts) > system and parts[system] and parts[code]:
            if is_of_another_code(parts[system], parts[code], parts[code + 1]):
                displaced.append(code + 2)
            key = parts[system], parts[code]
            # Most coding systems are not known ones: they cost one look-up.
            if len(key[0]) <= _REMEMBERED_LENGTH_MAX and _system(key[0]) is None:
                is_other = True
            elif max(map(len, key)) <= _REMEMBERED_LENGTH_MAX and key[1] != NULL:
                codes.append((key, _remembered(*key)))
            else:
                codes.append((key, None))
    return _Written(tuple(codes), is_other, displaced=tuple(displaced)) if codes or is_other else _NOTHING


_codes_written = Memory(_written, texts_max=8_192)


class Terms:
    """Asks for each distinct code of a document once. `source`: what knows more than the shipped tables; it may block."""

    def __init__(self, source: MembershipSource | None) -> None:
        self.source = source
        self.asked: set[tuple[str, str]] = set()
        self.told: dict[int, NotChecked] = {}  # by identity, which is cheap, and kept alive here
        self.asking_s = 0.0
        self.displaced: set[str] = set()

    def take(self, segment: Segment, version: str, notes: Notes) -> None:
        """Look at the codes of one segment that were not looked at before."""
        fields = segment.fields
        size = len(fields)
        value_type = fields[2] if segment.name == "OBX" and size > 2 and fields[2] in CODED else ""
        positions = coded_positions(version, segment.name, value_type)
        if not positions or size <= positions[0]:
            return
        _ROUTES.get(segment.name, _nothing)(segment, notes)
        is_other = False
        asked = self.asked
        for position in positions:
            if position >= size:
                break
            value = fields[position]
            if not value:
                continue
            written = _codes_written[value]
            if written is _NOTHING:
                continue
            if written.needs_reading:
                for path, system, code in pairs(segment, position):
                    self._code(segment, position, path, system, code, notes)
                continue
            is_other = is_other or written.is_other
            if written.displaced and value not in self.displaced:
                self._displaced(segment, position, value, written.displaced, notes)
            for key, told in written.codes:
                if key in asked:
                    continue
                if told is None or self.source is not None or len(asked) >= QUESTIONS_MAX:
                    self._code(segment, position, None, *key, notes)
                    continue
                asked.add(key)
                if told is not _GOOD:
                    self._tell(told, notes)
        if is_other and id(OTHER_SYSTEMS) not in self.told:
            self._tell(OTHER_SYSTEMS, notes)

    def _displaced(self, segment: Segment, position: int, value: str, components: tuple[int, ...], notes: Notes) -> None:
        """Report the texts of a value that are those of other codes, once a document."""
        self.displaced.add(value)
        for component in components:
            message, remedy = "The text is that of another code of this coding system", "Correct whichever of code and text is not meant"
            notes.add("minor", "terminology.display", f"{segment.path}-{position}.{component}", message, suggestion=remedy)

    def _code(self, segment: Segment, position: int, path: str | None, system: str, code: str, notes: Notes) -> None:
        """One code with the coding system that it names."""
        key = (system, code)
        if not system or not code or key in self.asked:
            return
        known = _system(system) if len(system) <= _REMEMBERED_LENGTH_MAX else code_system(system)
        if known is None or code == NULL:
            if known is None:
                self._tell(OTHER_SYSTEMS, notes)
            return
        if len(self.asked) >= QUESTIONS_MAX:
            self._tell(TOO_MANY, notes)
            return
        self.asked.add(key)
        source = self.source
        if source is not None and self.asking_s > ASKING_S_MAX:
            self._tell(TOO_SLOW, notes)
            source = None
        if source is None and len(system) <= _REMEMBERED_LENGTH_MAX and len(code) <= _REMEMBERED_LENGTH_MAX:
            remembered = _remembered(system, code)
            if remembered is not None:
                if remembered is not _GOOD:
                    self._tell(remembered, notes)
                return
        begun = time.monotonic()
        checked = check_code(system, code, path or f"{segment.path}-{position}", notes.context, source=source)
        self.asking_s += time.monotonic() - begun
        notes.shared(list(checked.findings))
        if checked.membership == "not_checked" and checked.reason and checked.system is not None:
            self._tell(_not_asked(checked.system.title, checked.reason), notes)

    def _tell(self, rule: NotChecked, notes: Notes) -> None:
        """Name what was not checked, once."""
        if id(rule) not in self.told:
            self.told[id(rule)] = rule
            notes.not_checked(rule)


def _route(segment: Segment, notes: Notes) -> None:
    """Whether the coding system of a route (RXR-1) has routes at all."""
    for path, system, _ in pairs(segment, 1):
        notes.shared(check_route(system, path, notes.context))


def _nothing(segment: Segment, notes: Notes) -> None:
    """Say nothing of a segment that holds no route."""


_ROUTES = {"RXR": _route}


def pairs(segment: Segment, position: int) -> Iterator[tuple[str, str, str]]:
    """(path, coding system, code) of each identifier and alternate identifier of a coded field that names its system."""
    for path, text in repetitions(segment, position):
        parts = text.split("^", 6)
        for code, system in ((0, 2), (3, 5)):
            if len(parts) > system and parts[code] and parts[system]:
                yield path, unescape(parts[system]), unescape(parts[code])
