"""Terminology: the form of a message's codes, and whether their code systems list them, through the shared check."""

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
from touchstone.scorers.clinical.formats.hl7v2.findings import Findings
from touchstone.scorers.clinical.formats.hl7v2.identities import repetitions
from touchstone.scorers.clinical.formats.hl7v2.lexer import Segment
from touchstone.scorers.clinical.formats.hl7v2.tables import load
from touchstone.scorers.clinical.formats.memory import Memory
from touchstone.scorers.clinical.report import Context

#: Distinct codes of one document that are checked.
QUESTIONS_MAX = 1_000
#: Longest time that the codes of one document may wait for a terminology server.
ASKING_S_MAX = 30.0
_REMEMBERED_LENGTH_MAX = 40
OTHER_SYSTEMS = NotChecked(check="terminology", reason="codes of other coding systems than ICD-10-CM, RxNorm, LOINC, SNOMED CT, CVX, NDC and UCUM")
TOO_MANY = NotChecked(check="terminology", reason=f"codes of this document after the first {QUESTIONS_MAX:,}")
TOO_SLOW = NotChecked(check="terminology", reason=f"codes that the terminology source was not asked for within {ASKING_S_MAX:g} s")
_GOOD = NotChecked(check="", reason="")
NULL = '""'


@lru_cache(maxsize=2_048)
def coded_positions(version: str, name: str, value_type: str) -> tuple[int, ...]:
    """The coded fields of a segment, with OBX-5 if OBX-2 names a coded type. OBX-6 is left to the unit checks."""
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
    """For a code without findings, _GOOD or the rule that was not checked; None if the code has a finding."""
    checked = check_code(name, code, "", Context())
    if checked.findings:
        return None
    if checked.membership != "not_checked" or checked.system is None:
        return _GOOD
    return _not_asked(checked.system.title, checked.reason or "")


class _CodedValue(NamedTuple):
    """The content of a coded value: (system, code) of known code systems, each with the answer of `_remembered`.

    `is_other`: it names other systems. `needs_reading`: it repeats or is escaped. `displaced`: the components whose text belongs to another code.
    """

    codes: tuple[tuple[tuple[str, str], NotChecked | None], ...] = ()
    is_other: bool = False
    needs_reading: bool = False
    displaced: tuple[int, ...] = ()


_NOTHING = _CodedValue()


def _coded_value(value: str) -> _CodedValue:
    if "^" not in value:
        return _NOTHING
    if "~" in value or "\\" in value:
        return _CodedValue(needs_reading=True)
    parts = value.split("^", 6)
    codes: list[tuple[tuple[str, str], NotChecked | None]] = []
    displaced: list[int] = []
    is_other = False
    for code, system in ((0, 2), (3, 5)):
        if len(parts) > system and parts[system] and parts[code]:
            if is_of_another_code(parts[system], parts[code], parts[code + 1]):
                displaced.append(code + 2)
            key = parts[system], parts[code]
            # Most values name systems that are not known, which costs one look-up.
            if len(key[0]) <= _REMEMBERED_LENGTH_MAX and _system(key[0]) is None:
                is_other = True
            elif max(map(len, key)) <= _REMEMBERED_LENGTH_MAX and key[1] != NULL:
                codes.append((key, _remembered(*key)))
            else:
                codes.append((key, None))
    return _CodedValue(tuple(codes), is_other, displaced=tuple(displaced)) if codes or is_other else _NOTHING


_coded_values = Memory(_coded_value, texts_max=8_192)


class Terms:
    """Checks each distinct code of a document once. `source`: looks codes up beyond the shipped tables; it may block."""

    def __init__(self, source: MembershipSource | None) -> None:
        self.source = source
        self.asked: set[tuple[str, str]] = set()
        #: Rules that are named as not checked, by identity, which is cheap; kept here so that they live.
        self.named: dict[int, NotChecked] = {}
        self.asking_s = 0.0
        self.displaced: set[str] = set()

    def take(self, segment: Segment, version: str, findings: Findings) -> None:
        """Check the codes of one segment that were not checked before."""
        fields = segment.fields
        size = len(fields)
        value_type = fields[2] if segment.name == "OBX" and size > 2 and fields[2] in CODED else ""
        positions = coded_positions(version, segment.name, value_type)
        if not positions or size <= positions[0]:
            return
        if segment.name == "RXR":
            _check_route(segment, findings)
        is_other = False
        for position in positions:
            if position >= size:
                break
            value = fields[position]
            if not value:
                continue
            coded = _coded_values[value]
            if coded is _NOTHING:
                continue
            if coded.needs_reading:
                for path, system, code in pairs(segment, position):
                    self._check(segment, position, path, system, code, findings)
                continue
            is_other = is_other or coded.is_other
            if coded.displaced and value not in self.displaced:
                self._displaced(segment, position, value, coded.displaced, findings)
            if coded.codes:
                self._check_read(segment, position, coded, findings)
        if is_other and id(OTHER_SYSTEMS) not in self.named:
            self._not_checked(OTHER_SYSTEMS, findings)

    def _check_read(self, segment: Segment, position: int, coded: _CodedValue, findings: Findings) -> None:
        """Check the codes of a value that was read without escapes and repetitions."""
        asked = self.asked
        for key, remembered in coded.codes:
            if key in asked:
                continue
            if remembered is None or self.source is not None or len(asked) >= QUESTIONS_MAX:
                self._check(segment, position, None, *key, findings)
                continue
            asked.add(key)
            if remembered is not _GOOD:
                self._not_checked(remembered, findings)

    def _displaced(self, segment: Segment, position: int, value: str, components: tuple[int, ...], findings: Findings) -> None:
        """Report the texts of a value that belong to other codes, once a document."""
        self.displaced.add(value)
        for component in components:
            message, remedy = "The text is that of another code of this coding system", "Correct whichever of code and text is not meant"
            findings.add("minor", "terminology.display", f"{segment.path}-{position}.{component}", message, suggestion=remedy)

    def _check(self, segment: Segment, position: int, path: str | None, system: str, code: str, findings: Findings) -> None:
        """Check one code of the coding system that it names."""
        key = (system, code)
        if not system or not code or key in self.asked:
            return
        if (_system(system) if len(system) <= _REMEMBERED_LENGTH_MAX else code_system(system)) is None:
            self._not_checked(OTHER_SYSTEMS, findings)
            return
        if code == NULL:
            return
        if len(self.asked) >= QUESTIONS_MAX:
            self._not_checked(TOO_MANY, findings)
            return
        self.asked.add(key)
        source = self.source
        if source is not None and self.asking_s > ASKING_S_MAX:
            self._not_checked(TOO_SLOW, findings)
            source = None
        if source is None and max(map(len, key)) <= _REMEMBERED_LENGTH_MAX and (remembered := _remembered(system, code)) is not None:
            if remembered is not _GOOD:
                self._not_checked(remembered, findings)
            return
        begun = time.monotonic()
        checked = check_code(system, code, path or f"{segment.path}-{position}", findings.context, source=source)
        self.asking_s += time.monotonic() - begun
        findings.add_all(list(checked.findings))
        if checked.membership == "not_checked" and checked.reason and checked.system is not None:
            self._not_checked(_not_asked(checked.system.title, checked.reason), findings)

    def _not_checked(self, rule: NotChecked, findings: Findings) -> None:
        """Name a rule that was not checked, once."""
        if id(rule) not in self.named:
            self.named[id(rule)] = rule
            findings.not_checked(rule)


def _check_route(segment: Segment, findings: Findings) -> None:
    """Report a route (RXR-1) whose coding system has no routes."""
    for path, system, _ in pairs(segment, 1):
        findings.add_all(check_route(system, path, findings.context))


def pairs(segment: Segment, position: int) -> Iterator[tuple[str, str, str]]:
    """(path, coding system, code) of each identifier and alternate identifier of a coded field that names its system."""
    for path, text in repetitions(segment, position):
        parts = text.split("^", 6)
        for code, system in ((0, 2), (3, 5)):
            if len(parts) > system and parts[code] and parts[system]:
                yield path, unescape(parts[system]), unescape(parts[code])
