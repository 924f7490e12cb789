"""Segments and fields: required fields, repetition, data types, lengths, codes.

A pattern of the whole field accepts most values; only what it does not accept is checked part by part, to say what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.checks.datetimes import check_hl7v2
from touchstone.scorers.clinical.formats.hl7v2 import code_membership
from touchstone.scorers.clinical.formats.hl7v2.escapes import has_stray, unescape
from touchstone.scorers.clinical.formats.hl7v2.field_patterns import LEVELS, UNSTRUCTURED, codes_accepted, compiled, component_accepts
from touchstone.scorers.clinical.formats.hl7v2.findings import Findings, Problem, Recorder, Unlasting
from touchstone.scorers.clinical.formats.hl7v2.lexer import FIELDS_MAX, PARTS_MAX, Segment
from touchstone.scorers.clinical.formats.hl7v2.pattern_learner import Learner
from touchstone.scorers.clinical.formats.hl7v2.primitives import LENGTHS_END, PRIMITIVES
from touchstone.scorers.clinical.formats.hl7v2.tables import Element, Version, edition, load
from touchstone.scorers.clinical.formats.memory import remembering

NULL = '""'
#: Most set ids: a look-up is faster than a pattern.
SEQUENCE_NUMBERS = frozenset(str(number) for number in range(1_000))
#: Fields with delimiters, which the lexer has read.
OWN_RULES = frozenset({("MSH", 1), ("MSH", 2), ("FHS", 1), ("FHS", 2), ("BHS", 1), ("BHS", 2)})
#: Required fields whose absence `header.py` reports.
CHECKED_ELSEWHERE = OWN_RULES | {("MSH", 9), ("MSH", 12)}
#: Tables of MSH-9.3 and MSH-12, which `header.py` checks.
CHECKED_BY_HEADER = frozenset({"HL70104", "HL70354"})
#: Fields in which a code without its system cannot be understood: what was observed, and what was ordered.
NEEDS_SYSTEM = frozenset({("OBX", 3), ("OBX", 5), ("OBR", 4)})
#: (segment, field) → components whose absence `identities.py` reports as a major finding.
CHECKED_BY_IDENTITIES = {("PID", 3): frozenset({1})}
#: Types with one component for each value or channel; the tables list only the first few.
ENDLESS = frozenset({"NA", "MA"})
#: Tables of messages and events, whose local codes begin with Z.
LOCAL_Z = frozenset({"HL70003", "HL70076", "HL70354"})
#: Types whose values are codes. The same few make up most fields, so their findings are remembered (memory.py).
REMEMBERED = code_membership.CODED | {"ID", "IS"}


def is_control(text: str) -> bool:
    """True if a text holds control characters, which no HL7 data type allows."""
    return not text.isprintable() and any(sign < " " or sign == "\x7f" for sign in text)


class Checker:
    """Checks segments of one name in one version. Field patterns are compiled when a message first needs them."""

    def __init__(self, version: Version, name: str) -> None:
        self.version = version
        self.name = name
        self.elements = {element.position: element for element in version.segments[name]}
        self.size = max(self.elements, default=0)
        self.required = tuple(sorted(position for position, element in self.elements.items() if element.least and (name, position) not in CHECKED_ELSEWHERE))
        self.known = frozenset(position for position, element in self.elements.items() if element.most != 0)
        self.learner = Learner(version, name, self.known, frozenset(self.required))
        #: For OBX, one learner for each type that OBX-2 may name.
        self.learners: dict[str, Learner] = {}
        # No empty value is tested, so `len` accepts anything.
        self.accepts: list[Callable[[str], object]] = [len] * (self.size + 1)
        #: Field → function from a value to its problems; None for a field whose values are checked each time.
        self.problems: dict[int, Callable[[str], tuple[Problem, ...]] | None] = {}
        for position in range(1, self.size + 1):
            self.accepts[position] = self._compiled_on_first_use(position)

    def _compiled_on_first_use(self, position: int) -> Callable[[str], object]:
        """A stand-in that compiles the field's pattern at its first call, and is then replaced by it."""

        def first(value: str) -> object:
            element = self.elements.get(position)
            accepts: Callable[[str], object]
            if (self.name, position) in OWN_RULES or (element is not None and element.datatype == "varies"):
                accepts = len
            elif element is not None and (self.name, position, element.datatype) == ("MSH", 12, "NM"):
                accepts = len  # 2.1 defines the version as a number, which 2.0D is not; `header.py` checks it
            elif element is None or element.most == 0:
                accepts = lambda _: False  # noqa: E731
            elif element.most == 1 and element.datatype == "SI":
                accepts = SEQUENCE_NUMBERS.__contains__
            elif element.most == 1 and element.datatype == "ID" and (codes := codes_accepted(self.version, element.table, "ID")) is not None:
                accepts = (codes | {NULL}).__contains__
            else:
                accepts = field_accepts(self.version.name, element.datatype, element.table, repeats=element.most != 1)
            self.accepts[position] = accepts
            return accepts(value)

        return first

    def check(self, segment: Segment, findings: Findings) -> int:
        """Check one segment; returns how many of its fields hold something."""
        fields = segment.fields
        size = len(fields)
        learner = self.learner if self.name != "OBX" or size <= 2 else self.learners.get(fields[2]) or self._learner_of(fields[2])
        if learner.whole is not None and learner.whole.fullmatch(segment.raw):
            segment.is_typed = learner is not self.learner
            return size - fields.count("") - 1
        before = findings.report.total
        self._check_fields(segment, findings)
        if findings.report.total == before and learner.wants(segment.raw):
            learner.learn(fields)
        return size - fields.count("") - 1

    def _learner_of(self, value_type: str) -> Learner:
        """The learner for an OBX of this type (OBX-2); for an unknown type the common one, which leaves OBX-5 open."""
        if value_type in UNSTRUCTURED or (value_type not in self.version.datatypes and value_type not in PRIMITIVES):
            return self.learner
        return self.learners.setdefault(value_type, Learner(self.version, self.name, self.known, frozenset(self.required), value_type))

    def _check_fields(self, segment: Segment, findings: Findings) -> None:
        fields = segment.fields
        size = len(fields)
        for position in self.required:
            if position >= size or not fields[position]:
                element = self.elements[position]
                findings.add("major", "structure.required-field", f"{segment.path}-{position}", f"{element.title} is required")
        suspects = [position for position, (accepts, value) in enumerate(zip(self.accepts, fields, strict=False)) if value and not accepts(value)]
        for position in suspects:
            self._field(segment, position, findings)
        if size > self.size + 1:
            self._beyond(segment, findings)

    def _beyond(self, segment: Segment, findings: Findings) -> None:
        """Report fields after the last one that the version defines."""
        beyond = [position for position in range(self.size + 1, len(segment.fields)) if segment.fields[position]]
        if beyond:
            last = f"HL7 {self.version.name} ends {self.name} at field {self.size}"
            findings.add("minor", "structure.extra-field", f"{segment.path}-{beyond[0]}", f"{last}; {len(beyond)} more fields hold something")
        if len(segment.fields) > FIELDS_MAX:
            findings.add("major", "structure.too-many-fields", segment.path, f"More than {FIELDS_MAX} fields; the rest was not looked at")

    def _problems_of(self, position: int) -> Callable[[str], tuple[Problem, ...]] | None:
        """A function from a value of a field to its problems, which remembers codes; None for a field whose values are checked each time."""

        def problems(value: str) -> tuple[Problem, ...]:
            recorder = Recorder()
            self._check_value(value, position, "", recorder)
            return tuple(recorder.problems)

        element = self.elements.get(position)
        if element is None or element.most == 0 or element.datatype == "WD":
            withdrawn = problems("")
            return self.problems.setdefault(position, lambda _: withdrawn)
        return self.problems.setdefault(position, remembering(problems) if element.datatype in REMEMBERED else None)

    def _field(self, segment: Segment, position: int, findings: Findings) -> None:
        """Check one field part by part, or repeat the findings remembered for its value."""
        value = segment.fields[position]
        path = f"{segment.path}-{position}"
        problems_of = self.problems[position] if position in self.problems else self._problems_of(position)
        if problems_of is not None:
            try:
                problems = problems_of(value)
            except Unlasting:
                pass
            else:
                for severity, code, where, message, suggestion, shown in problems:
                    findings.add(severity, code, path + where, message, suggestion=suggestion, value=shown)
                return
        self._check_value(value, position, path, findings)

    def _check_value(self, value: str, position: int, path: str, findings: Findings) -> None:
        element = self.elements.get(position)
        if element is None or element.most == 0 or element.datatype == "WD":
            findings.add("minor", "structure.withdrawn-field", path, f"This field is withdrawn in HL7 {self.version.name}")
            return
        # A field that is bound to a table implies its coding system.
        coded_severity: Severity = "major" if (self.name, position) in NEEDS_SYSTEM else "info" if element.table else "minor"
        repetitions = value.split("~", PARTS_MAX)
        if element.most not in {-1, 0} and len(repetitions) > element.most:
            findings.add("major", "structure.cardinality", path, f"{element.title} is given {len(repetitions)} times; {element.most} is the most")
        if len(repetitions) > PARTS_MAX:
            findings.add("major", "structure.too-many-repetitions", path, f"More than {PARTS_MAX} repetitions; the rest was not looked at")
            repetitions.pop()
        for index, repetition in enumerate(repetitions, start=1):
            if repetition and repetition != NULL:
                where = path if len(repetitions) == 1 else f"{path}[{index}]"
                elsewhere = CHECKED_BY_IDENTITIES.get((self.name, position), frozenset())
                check_value(self.version, element, repetition, where, findings, coded_severity=coded_severity, checked_elsewhere=elsewhere)


@lru_cache(maxsize=8_192)
def field_accepts(version: str, datatype: str, table: str | None, *, repeats: bool) -> Callable[[str], object]:
    """A function that accepts a well-formed field of this data type, bound to this table."""
    accepts = compiled(version, datatype, table, repeats=repeats).fullmatch
    return remembering(lambda value: accepts(value) is not None) if datatype in REMEMBERED else accepts


@lru_cache(maxsize=4_096)
def required_of(version: str, datatype: str) -> tuple[Element, ...]:
    """The required components of a data type."""
    return tuple(component for component in load(version).datatypes[datatype] if component.least)


def check_value(
    version: Version,
    element: Element,
    value: str,
    path: str,
    findings: Findings,
    level: int = 0,
    coded_severity: Severity = "minor",
    checked_elsewhere: frozenset[int] = frozenset(),
) -> None:
    """Check one value (a repetition, a component or a subcomponent) that is not empty.

    `checked_elsewhere`: components whose absence another rule reports.
    """
    components = version.datatypes.get(element.datatype)
    if components is None:
        check_primitive(version, element, value, path, findings, level)
        return
    if level >= len(LEVELS):
        check_text(value, path, findings)
        return
    parts = value.split(LEVELS[level], PARTS_MAX)
    for component, part in zip(components, parts, strict=False):
        if not part or part == NULL:
            continue
        if component_accepts(version.name, component.datatype, component.table, level + 1)(part):
            continue
        where = f"{path}.{component.position}"
        if component.table == code_membership.SYSTEMS:
            check_system(part, where, findings)
        else:
            check_value(version, component, part, where, findings, level + 1)
    for component in required_of(version.name, element.datatype):
        position = component.position
        if position not in checked_elsewhere and not (position <= len(parts) and parts[position - 1]):
            message = f"{element.datatype}.{position} ({component.title}) is required"
            findings.add("minor", "data_types.required-component", f"{path}.{position}", message)
    if len(parts) > len(components) and any(parts[len(components) :]) and element.datatype not in ENDLESS:
        beyond = f"{element.datatype} has {len(components)} components in HL7 {version.name}, and more are given"
        findings.add("minor", "data_types.extra-component", path, beyond)
    if level == 0 and element.datatype in code_membership.CODED:
        check_coded(version, element, parts, path, findings, coded_severity)


def check_system(value: str, path: str, findings: Findings) -> None:
    """Report a coding system that table 0396 does not list."""
    fault = code_membership.coding_system_fault(unescape(value))
    if fault is not None:
        findings.add(fault[0], "data_types.coding-system", path, fault[1], value=value)


def check_coded(version: Version, element: Element, parts: list[str], path: str, findings: Findings, severity: Severity) -> None:
    """Report an identifier without a coding system, and a code that the field's own table does not list."""
    identifier = parts[0]
    system = parts[2] if len(parts) > 2 else ""
    if not identifier or identifier == NULL:
        return
    answer = code_membership.membership(version, element.table, identifier)
    if not system and answer != "member":
        if severity == "minor" and not any(parts[1:]):
            severity = "info"  # a bare code: the field implies its system, as MSH-19 does
        message = f"{element.datatype}.3 (Coding System) required when {element.datatype}.1 (Identifier) is present"
        findings.add(severity, "data_types.coding-system-missing", path, message, suggestion="Name the coding system of table 0396, for example LN, SCT or L")
    elif element.table and answer == "other" and system == element.table:
        suggestion = f"Table {element.table[3:]} suggests: {code_membership.examples(version, element.table)}"
        findings.add("minor", "valuesets.code", path, f"The code is not in the table it names ({element.table})", suggestion=suggestion, value=identifier)


def check_primitive(version: Version, element: Element, value: str, path: str, findings: Findings, level: int) -> None:
    """Report a malformed primitive, one that is too long, a stray escape, or a code outside its table."""
    datatype = element.datatype
    if datatype in UNSTRUCTURED and level == 0:
        check_text(value.replace("^", "").replace("&", ""), path, findings)
        return
    value = _without_components(value, LEVELS[level:], datatype, path, findings)
    if not value or value == NULL:
        return
    check_text(value, path, findings)
    primitive = PRIMITIVES.get(datatype)
    if primitive is None:
        return
    if primitive.pattern is not None and not compiled(version.name, datatype, None, repeats=False).fullmatch(value):
        _report_malformed(version, element, value, path, findings)
        return
    if primitive.length_max is not None and version.number < LENGTHS_END and len(value) > primitive.length_max:
        findings.add("minor", "data_types.length", path, f"{datatype} holds at most {primitive.length_max} characters, and {len(value)} are given")
    if datatype == "ID" and element.table is not None and element.table not in CHECKED_BY_HEADER:
        _check_code(version, element, element.table, value, path, findings)


def _without_components(value: str, separators: tuple[str, ...], datatype: str, path: str, findings: Findings) -> str:
    """The first component of a value whose type has none; the others are reported."""
    if not any(separator in value for separator in separators):
        return value
    if any(part for separator in separators for part in value.split(separator, PARTS_MAX)[1:]):
        # Later versions changed many IS and ID fields to CE or CWE, and profiles use those earlier.
        severity: Severity = "info" if datatype in {"ID", "IS"} else "minor"
        findings.add(severity, "data_types.extra-component", path, f"{datatype} has no components, and some are given")
    for separator in separators:
        value = value.split(separator, 1)[0]
    return value


def _report_malformed(version: Version, element: Element, value: str, path: str, findings: Findings) -> None:
    """Report a value that does not match its primitive's pattern."""
    if element.datatype in {"DT", "DTM"}:
        found = check_hl7v2(value, path, findings.context, zone="none")
        findings.add_all(found)
        if found:
            return
    if element.datatype == "NM" and compiled(version.name, "NM", None, repeats=False).fullmatch(value.strip()):
        findings.add("minor", "data_types.number", path, "Blanks stand around the number", value=value)
    else:
        findings.add("major", "data_types.datatype", path, f"{element.title}: not {PRIMITIVES[element.datatype].form}", value=value)


def _check_code(version: Version, element: Element, table: str, value: str, path: str, findings: Findings) -> None:
    """Report a code outside of an HL7-defined table; for information only if another version lists it."""
    if code_membership.membership(version, table, unescape(value)) != "other" or (table in LOCAL_Z and value[:1] == "Z"):
        return  # `header.py` says that local messages are not checked
    if code_membership.listed_later(table, unescape(value)):
        findings.add("info", "valuesets.code-version", path, f"Table {table[3:]} lists the code in another version than {version.name}", value=value)
        return
    suggestion = f"Codes of table {table[3:]}: {code_membership.examples(version, table)}"
    since = f" as of {edition()}" if table in code_membership.GROWING else ""
    message = f"{element.title}: not a code of HL7 table {table[3:]}{since}"
    findings.add(code_membership.severity_of(table), "valuesets.code", path, message, suggestion=suggestion, value=value)


def check_text(value: str, path: str, findings: Findings) -> None:
    """Report escape characters that begin no sequence, and control characters."""
    if "\\" in value and has_stray(value):
        findings.add(
            "minor", "data_types.escape", path, "An escape character begins no sequence of the standard", suggestion="Write a literal backslash as \\E\\"
        )
    if is_control(value):
        findings.add("minor", "data_types.control-character", path, "Control characters stand in the value")


@lru_cache(maxsize=4_096)
def checker(version: str, segment: str) -> Checker | None:
    """The checker of a segment in a version; None if the version does not define the segment."""
    tables = load(version)
    return Checker(tables, segment) if segment in tables.segments else None
