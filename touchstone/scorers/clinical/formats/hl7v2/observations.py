"""Observations: OBX-5 as OBX-2 types it, results given twice, units and values (chapter 7; specification, Priorities 8 and 9)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.checks.plausibility import DIASTOLIC, SYSTOLIC
from touchstone.scorers.clinical.checks.valuesets import codes_of
from touchstone.scorers.clinical.formats.hl7v2 import code_membership, measures
from touchstone.scorers.clinical.formats.hl7v2.escapes import unescape
from touchstone.scorers.clinical.formats.hl7v2.field_patterns import compiled
from touchstone.scorers.clinical.formats.hl7v2.findings import Findings
from touchstone.scorers.clinical.formats.hl7v2.lexer import PARTS_MAX, Segment
from touchstone.scorers.clinical.formats.hl7v2.measures import NUMBER
from touchstone.scorers.clinical.formats.hl7v2.primitives import PRIMITIVES
from touchstone.scorers.clinical.formats.hl7v2.tables import VERSIONS, Element, Version, code_tables, load
from touchstone.scorers.clinical.formats.hl7v2.usual_values import UsualRange, usual_range
from touchstone.scorers.clinical.formats.hl7v2.value_checks import NULL, check_value
from touchstone.scorers.clinical.formats.memory import Memory

#: Units of one test that are remembered.
UNITS_MAX = 16
#: Segments between observations that do not end their group.
WITHIN_GROUP = frozenset({"OBX", "NTE", "TCD", "SID", "CTI", "PRT", "ADD"})
#: Value types that the message's version does not define are read as this version defines them.
TYPES_FROM = "2.8.2"
#: Types of which one text comes as several OBX, one a line, under one identifier.
TEXT_TYPES = frozenset({"TX", "FT", "ST", "ED", "RP"})
#: Types whose values are checked beyond their form.
CHECKED_FURTHER = frozenset({"SN", "ED"})
COMPARATORS = frozenset({"", ">", "<", ">=", "<=", "=", "<>"})
#: Tables that HL7 only suggests: a code is checked against them only if it names them.
SUGGESTED = frozenset({"HL70005", "HL70189"})
#: Tables whose codes count by the message's version.
BY_VERSION = frozenset({"HL70001"})


@lru_cache(maxsize=1_024)
def value_accepts(version: str, kind: str) -> Callable[[str], object]:
    """A function that accepts a well-formed OBX-5 of this type; it accepts nothing if the version has no such type."""
    if kind not in load(version).datatypes and kind not in PRIMITIVES:
        return lambda _: None
    return compiled(version, kind, None, repeats=True).fullmatch


class Test(NamedTuple):
    """An OBX-3. `key`: the identifier and its system; `usual`: OBX-6 → the range of numbers (NM) that have no finding."""

    key: tuple[str, str]
    usual: Memory[UsualRange | None]


def _test(code: str) -> Test:
    parts = code.split("^", 6)
    identifier, system = parts[0], parts[2] if len(parts) > 2 else ""

    def usual(unit: str) -> UsualRange | None:
        if "~" in unit or len(parts) < 3:
            return None
        units = unit.split("^", 3)
        return usual_range(parts[0], parts[2], units[0], units[2] if len(units) > 2 else "")

    alternate = (parts[3], parts[5]) if not identifier and len(parts) > 5 else None
    return Test(alternate or (identifier, system), Memory(usual, texts_max=UNITS_MAX))


_tests = Memory(_test, texts_max=2_048)


@dataclass(slots=True)
class Observations:
    """Checks a message's observations in order; `end` closes the group that belongs to one order."""

    version: Version
    findings: Findings
    patient: measures.Patient
    is_strict: bool = False
    checked: int = 0
    usual: int = 0
    seen: dict[tuple[str, str], list[Segment]] = field(default_factory=dict)
    set_ids: dict[str, Segment] = field(default_factory=dict)
    pressures: dict[str, tuple[Segment, str]] = field(default_factory=dict)

    def take(self, segment: Segment) -> None:
        """Check one OBX."""
        self.checked += 1
        fields = segment.fields
        if len(fields) < 12:
            fields = fields + [""] * (12 - len(fields))
        set_id, kind, value = fields[1], fields[2], fields[5]
        test = _tests[fields[3]]
        is_usual = False
        if kind == "NM":
            usual = None if fields[7] else test.usual[fields[6]]
            is_usual = usual is not None and bool(NUMBER.fullmatch(value)) and usual.holds(float(value))
        elif "^" in kind:
            kind = kind.split("^", 1)[0]
        if is_usual:
            self.usual += 1
        elif not value or value == NULL:
            self._absent(segment, fields)
        elif not kind or kind in CHECKED_FURTHER or not (segment.is_typed or value_accepts(self.version.name, kind)(value)):
            self._value(segment, kind, value)
        if fields[3]:
            self.seen.setdefault(test.key, []).append(segment)
        if set_id:
            self._set_id(segment, set_id)
        if kind in {"NM", "SN"}:
            if not is_usual:
                self._measure(segment, fields)
            if test.key[0] in {SYSTOLIC, DIASTOLIC}:
                self.pressures[test.key[0]] = (segment, value)

    def _set_id(self, segment: Segment, set_id: str) -> None:
        if set_id in self.set_ids:
            severity: Severity = "major" if self.is_strict else "minor"
            self.findings.add(severity, "observations.set-id", f"{segment.path}-1", "The set id was used before in this group of observations")
        self.set_ids[set_id] = segment

    def _measure(self, segment: Segment, fields: list[str]) -> None:
        if self.is_strict and fields[5] and not fields[6]:
            self.findings.add("major", "profile.required-field", f"{segment.path}-6", "The declared profile requires a unit with a number")
        measures.check_observation(segment, self.patient, self.findings)

    def end(self) -> None:
        """Close a group: check results given twice, and the two blood pressures against each other."""
        for segments in self.seen.values():
            if len(segments) > 1:
                self._twice(segments)
        if len(self.pressures) == 2:
            systolic, diastolic = self.pressures[SYSTOLIC], self.pressures[DIASTOLIC]
            measures.check_pressures(systolic, diastolic, self.findings)
        if self.seen or self.set_ids:
            self.seen, self.set_ids, self.pressures = {}, {}, {}

    def _value(self, segment: Segment, kind: str, value: str) -> None:
        """Check OBX-5 against the type in OBX-2."""
        if not kind or kind == NULL:
            null = f", and {NULL} (null) is none" if kind else ""
            message = f"The value type is required where OBX-5 holds a value{null}"
            self.findings.add("major", "observations.type-missing", f"{segment.path}-2", message, suggestion="Give the type of the value, for example NM")
            return
        if kind == "ED" and not segment.component(5, 5):
            # Placeholders without data occur in practice; plain text is never encapsulated data.
            severity: Severity = "minor" if "^" in value else "major"
            self.findings.add(severity, "observations.type-mismatch", f"{segment.path}-5", "OBX-2 says ED, and ED.5 (Data) is missing")
        version = self.version
        if kind not in version.datatypes and kind not in PRIMITIVES:
            version = load(TYPES_FROM)
            if kind not in version.datatypes:
                return  # the check of OBX-2 reports that there is no such type
        if compiled(version.name, kind, None, repeats=True).fullmatch(value):
            if kind == "SN" and segment.component(5, 1) not in COMPARATORS:
                text = "SN.1 is none of >, <, >=, <=, = and <>"
                self.findings.add("major", "observations.comparator", f"{segment.path}-5", text, suggestion="Put a number without comparator in SN.2, as ^100")
            return
        self._disagreement(segment, version, kind, value)

    def _absent(self, segment: Segment, fields: list[str]) -> None:
        """Check an observation without a value: allowed if its status says that there is none."""
        if fields[11] in {"F", "C"} and not fields[8]:
            message = "A final result without a value, and without an interpretation code in its place"
            self.findings.add("major" if self.is_strict else "minor", "observations.value-missing", f"{segment.path}-5", message)

    def _disagreement(self, segment: Segment, version: Version, kind: str, value: str) -> None:
        """Check each part of a value that does not match the pattern of its type."""
        path = f"{segment.path}-5"
        element = Element(5, kind, 0, -1, None, "OBSERVATION_VALUE")
        repetitions = value.split("~", PARTS_MAX)
        if len(repetitions) > PARTS_MAX:
            self.findings.add("major", "structure.too-many-repetitions", path, f"More than {PARTS_MAX} repetitions; the rest was not looked at")
            repetitions.pop()
        is_primitive = kind in PRIMITIVES
        for index, repetition in enumerate(repetitions, start=1):
            if not repetition or repetition == NULL:
                continue
            where = path if len(repetitions) == 1 else f"{path}[{index}]"
            if is_primitive and "^" in repetition.rstrip("^"):
                message = f"OBX-2 says {kind}, which has no components, and the value has some"
                self.findings.add("major", "observations.type-mismatch", where, message, suggestion="Give the type of the value in OBX-2, for example CWE")
            else:
                check_value(version, element, repetition, where, self.findings, coded_severity="major")

    def _twice(self, segments: list[Segment]) -> None:
        """Check observations of one group with the same identifier: OBX-4 must distinguish them."""
        known: dict[tuple[str, str], Segment] = {}
        for segment in segments:
            key = (segment.field(4), segment.field(14))
            earlier = known.get(key)
            known.setdefault(key, segment)
            if earlier is not None and earlier.field(5) == segment.field(5):
                message = "The same observation with the same value was given before in this group"
                self.findings.add("major", "observations.duplicate", f"{segment.path}-3", message)
            elif earlier is not None and segment.field(2) not in TEXT_TYPES:
                message = "Another observation of this group has the same identifier, and OBX-4 does not tell them apart"
                self.findings.add(
                    "major" if self.is_strict else "minor", "observations.sub-id", f"{segment.path}-4", message, suggestion="Number them in OBX-4"
                )
        if len({bool(segment.field(4)) for segment in segments}) == 2:
            blank = next(segment for segment in segments if not segment.field(4))
            message = "OBX-4 is given for some observations with this identifier and not for all"
            self.findings.add("major", "observations.sub-id", f"{blank.path}-4", message, suggestion="Number them in OBX-4")


@lru_cache(maxsize=32)
def _printed(table: str) -> frozenset[str]:
    """The codes that a version of HL7 up to the newest here lists in a table."""
    printed = (1 << len(VERSIONS)) - 1
    return frozenset(code for code, versions in code_tables()[table].codes.items() if versions & printed)


def _other_version(version: Version, table: str, code: str, path: str, severity: Severity, findings: Findings) -> None:
    """Report a code that the message's version does not list: info if another version does, else as a code that is not in the table."""
    is_printed = code in _printed(table)
    since = "another version does" if is_printed else "HL7 published it after all of its versions up to 2.8.2"
    message = f"HL7 {version.name} does not list this code in table {table[3:]}; {since}"
    suggestion = f"Valid values: {', '.join(sorted(version.codes(table) or _printed(table)))}"
    findings.add("info" if is_printed else severity, "valuesets.code", path, message, suggestion=suggestion, value=code)


def check_bound(version: Version, segment: Segment, position: int, table: str, severity: Severity, findings: Findings) -> bool:
    """Check the codes of a field that the specification binds to an HL7 table; True if the field holds a value."""
    value = segment.field(position)
    if not value or value == NULL:
        return False
    codes = version.codes(table)
    known = code_tables()[table]
    # For a version whose table is not at hand, the codes of any version that HL7 printed.
    listed = (codes or _printed(table)) if table in BY_VERSION else None
    if value in (known.codes if listed is None else listed):
        return True
    for index, repetition in enumerate(value.split("~", 20)[:20], start=1):
        parts = repetition.split("^", 3)
        code = unescape(parts[0])
        system = parts[2] if len(parts) > 2 else ""
        if not code or code == NULL or (system and system not in {table, f"L{table}"}) or (not system and table in SUGGESTED):
            continue
        # If this version's table is not at hand, a code of any other version is accepted.
        if (codes is not None and code in codes) or known.matches(code) or code in (codes_of(table) or ()):
            if listed is not None and code not in listed and not findings.read_as:
                path = f"{segment.path}-{position}" + (f"[{index}]" if "~" in value else "")
                _other_version(version, table, code, path, severity, findings)
            continue
        if severity == "minor" and system == table and codes is not None:
            continue  # the field's own check has reported that the code is not in the table it names
        path = f"{segment.path}-{position}" + (f"[{index}]" if "~" in value else "")
        suggestion = f"Valid values: {', '.join(sorted(listed)) if listed else code_membership.examples(version, table, 40)}"
        findings.add(severity, "valuesets.code", path, f"Invalid code (HL7 table {table[3:]})", suggestion=suggestion, value=code)
    return True
