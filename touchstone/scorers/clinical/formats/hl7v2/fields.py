"""Segments and fields: required, repetition, data types, lengths, codes; quickly where all is well, carefully where not."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.formats.hl7v2 import code_membership, shared_checks
from touchstone.scorers.clinical.formats.hl7v2.escapes import has_stray, unescape
from touchstone.scorers.clinical.formats.hl7v2.field_patterns import LEVELS, UNSTRUCTURED, codes_accepted, compiled, component_accepts
from touchstone.scorers.clinical.formats.hl7v2.findings import Notes, Problem, Recorder, Unlasting
from touchstone.scorers.clinical.formats.hl7v2.lexer import FIELDS_MAX, PARTS_MAX, Segment
from touchstone.scorers.clinical.formats.hl7v2.pattern_learner import Learner
from touchstone.scorers.clinical.formats.hl7v2.primitives import LENGTHS_END, PRIMITIVES
from touchstone.scorers.clinical.formats.hl7v2.tables import Element, Version, edition, load
from touchstone.scorers.clinical.formats.memory import remembering

NULL = '""'
#: What most set ids are: looked up, not matched.
SEQUENCE_NUMBERS = frozenset(str(number) for number in range(1_000))
#: Positions with rules of their own (`header.py`), and the value that another field types.
OWN_RULES = frozenset({("MSH", 1), ("MSH", 2), ("FHS", 1), ("FHS", 2), ("BHS", 1), ("BHS", 2)})

#: Required fields whose absence `header.py` reports, with its consequences.
TOLD_ELSEWHERE = OWN_RULES | {("MSH", 9), ("MSH", 12)}
#: Tables of MSH-9.3 and MSH-12, which `header.py` holds the message against.
TOLD_BY_HEADER = frozenset({"HL70104", "HL70354"})
#: Where a code without its system cannot be understood at all: what was observed, and what was ordered.
GRAVE = frozenset({("OBX", 3), ("OBX", 5), ("OBR", 4)})
#: Components whose absence `identities.py` reports, more gravely: (segment, field) → components.
TOLD_BY_IDENTITIES = {("PID", 3): frozenset({1})}
#: Types with as many components as there are values or channels; the tables give the first few.
ENDLESS = frozenset({"NA", "MA"})
#: Tables of messages and events, in which Z begins a local one.
LOCAL_Z = frozenset({"HL70003", "HL70076", "HL70354"})
#: Types whose values are codes: few of them make up most fields, and what was said of one is remembered (memory.py).
REMEMBERED = code_membership.CODED | {"ID", "IS"}


def is_control(text: str) -> bool:
    """Whether text holds control characters, which no HL7 data type allows."""
    return not text.isprintable() and any(sign < " " or sign == "\x7f" for sign in text)


class Checker:
    """Checks segments of one name in one version; field patterns are compiled when a message first needs them."""

    def __init__(self, version: Version, name: str) -> None:
        self.version = version
        self.name = name
        self.elements = {element.position: element for element in version.segments[name]}
        self.size = max(self.elements, default=0)
        self.required = tuple(sorted(position for position, element in self.elements.items() if element.least and (name, position) not in TOLD_ELSEWHERE))
        self.known = frozenset(position for position, element in self.elements.items() if element.most != 0)
        self.learner = Learner(version, name, self.known, frozenset(self.required))
        #: For OBX, one learner for each type that OBX-2 may name.
        self.learners: dict[str, Learner] = {}
        # What is asked is never empty: `len` accepts anything.
        self.accepts: list[Callable[[str], object]] = [len] * (self.size + 1)
        #: Cache of coded fields that were checked in full: the finding for a value.
        self.faults: dict[int, Callable[[str], tuple[Problem, ...]] | None] = {}
        for position in range(1, self.size + 1):
            self.accepts[position] = self._later(position)

    def _later(self, position: int) -> Callable[[str], object]:
        """A stand-in that compiles the field's pattern when it is first asked, and then is replaced by it."""

        def first(value: str) -> object:
            element = self.elements.get(position)
            accepts: Callable[[str], object]
            if (self.name, position) in OWN_RULES or (element is not None and element.datatype == "varies"):
                accepts = len
            elif element is not None and (self.name, position, element.datatype) == ("MSH", 12, "NM"):
                accepts = len  # 2.1 takes its version for a number, which 2.0D is not; `header.py` knows the versions
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

    def check(self, segment: Segment, notes: Notes) -> int:
        """Note what is wrong in one segment; the number of its fields that hold something."""
        fields = segment.fields
        size = len(fields)
        learner = self.learner if self.name != "OBX" or size <= 2 else self.learners.get(fields[2]) or self._learner_of(fields[2])
        if learner.whole is not None and learner.whole.fullmatch(segment.raw):
            segment.is_typed = learner is not self.learner
            return size - fields.count("") - 1
        found = notes.report.total
        self._look(segment, notes)
        if notes.report.total == found and learner.wants(segment.raw):
            learner.learn(fields)
        return size - fields.count("") - 1

    def _learner_of(self, value_type: str) -> Learner:
        """The learner of an OBX whose OBX-2 names this type; the common one, which leaves OBX-5 open, where there is no such type."""
        if value_type in UNSTRUCTURED or (value_type not in self.version.datatypes and value_type not in PRIMITIVES):
            return self.learner
        return self.learners.setdefault(value_type, Learner(self.version, self.name, self.known, frozenset(self.required), value_type))

    def _look(self, segment: Segment, notes: Notes) -> None:
        """Look at a segment field by field."""
        fields = segment.fields
        size = len(fields)
        for position in self.required:
            if position >= size or not fields[position]:
                element = self.elements[position]
                notes.add("major", "structure.required-field", f"{segment.path}-{position}", f"{element.title} is required")
        suspects = [position for position, (accepts, value) in enumerate(zip(self.accepts, fields, strict=False)) if value and not accepts(value)]
        for position in suspects:
            self._field(segment, position, notes)
        if size > self.size + 1:
            self._beyond(segment, notes)

    def _beyond(self, segment: Segment, notes: Notes) -> None:
        """Fields after the last one that the version knows."""
        beyond = [position for position in range(self.size + 1, len(segment.fields)) if segment.fields[position]]
        if beyond:
            last = f"HL7 {self.version.name} ends {self.name} at field {self.size}"
            notes.add("minor", "structure.extra-field", f"{segment.path}-{beyond[0]}", f"{last}; {len(beyond)} more fields hold something")
        if len(segment.fields) > FIELDS_MAX:
            notes.add("major", "structure.too-many-fields", segment.path, f"More than {FIELDS_MAX} fields; the rest was not looked at")

    def _faults_of(self, position: int) -> Callable[[str], tuple[Problem, ...]] | None:
        """What knows the faults of a field's values, those of codes from memory; None for a field whose values are looked at each time."""

        def faults(value: str) -> tuple[Problem, ...]:
            recorder = Recorder()
            self._look_at(value, position, "", recorder)
            return tuple(recorder.problems)

        element = self.elements.get(position)
        if element is None or element.most == 0 or element.datatype == "WD":
            withdrawn = faults("")
            return self.faults.setdefault(position, lambda _: withdrawn)
        return self.faults.setdefault(position, remembering(faults) if element.datatype in REMEMBERED else None)

    def _field(self, segment: Segment, position: int, notes: Notes) -> None:
        """Look at one field carefully, or remember what was found in its like."""
        value = segment.fields[position]
        path = f"{segment.path}-{position}"
        faults = self.faults[position] if position in self.faults else self._faults_of(position)
        if faults is not None:
            try:
                problems = faults(value)
            except Unlasting:
                pass
            else:
                for severity, code, where, message, suggestion, shown in problems:
                    notes.add(severity, code, path + where, message, suggestion=suggestion, value=shown)
                return
        self._look_at(value, position, path, notes)

    def _look_at(self, value: str, position: int, path: str, notes: Notes) -> None:
        """Note what is wrong with one field's value."""
        element = self.elements.get(position)
        if element is None or element.most == 0 or element.datatype == "WD":
            notes.add("minor", "structure.withdrawn-field", path, f"This field is withdrawn in HL7 {self.version.name}")
            return
        # A field bound to a table names its coding system by that, if loosely.
        coded_severity: Severity = "major" if (self.name, position) in GRAVE else "info" if element.table else "minor"
        repetitions = value.split("~", PARTS_MAX)
        if element.most not in {-1, 0} and len(repetitions) > element.most:
            notes.add("major", "structure.cardinality", path, f"{element.title} is given {len(repetitions)} times; {element.most} is the most")
        if len(repetitions) > PARTS_MAX:
            notes.add("major", "structure.too-many-repetitions", path, f"More than {PARTS_MAX} repetitions; the rest was not looked at")
            repetitions.pop()
        for index, repetition in enumerate(repetitions, start=1):
            if repetition and repetition != NULL:
                where = path if len(repetitions) == 1 else f"{path}[{index}]"
                told = TOLD_BY_IDENTITIES.get((self.name, position), frozenset())
                check_value(self.version, element, repetition, where, notes, coded_severity=coded_severity, told=told)


@lru_cache(maxsize=8_192)
def field_accepts(version: str, datatype: str, table: str | None, *, repeats: bool) -> Callable[[str], object]:
    """What accepts a well-formed field of this data type, bound to this table."""
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
    notes: Notes,
    level: int = 0,
    coded_severity: Severity = "minor",
    told: frozenset[int] = frozenset(),
) -> None:
    """Note what is wrong with one value (a repetition, a component or a subcomponent) that is not empty.

    `told`: components of whose absence another rule tells.
    """
    components = version.datatypes.get(element.datatype)
    if components is None:
        check_primitive(version, element, value, path, notes, level)
        return
    if level >= len(LEVELS):
        check_text(value, path, notes)
        return
    parts = value.split(LEVELS[level], PARTS_MAX)
    for component, part in zip(components, parts, strict=False):
        if not part or part == NULL:
            continue
        if component_accepts(version.name, component.datatype, component.table, level + 1)(part):
            continue
        where = f"{path}.{component.position}"
        if component.table == code_membership.SYSTEMS:
            check_system(part, where, notes)
        else:
            check_value(version, component, part, where, notes, level + 1)
    for component in required_of(version.name, element.datatype):
        if component.position not in told and not (component.position <= len(parts) and parts[component.position - 1]):
            where = f"{path}.{component.position}"
            notes.add(
                "minor",
                "data_types.required-component",
                where,
                f"{element.datatype}.{component.position} ({component.title}) is required",
            )
    if len(parts) > len(components) and any(parts[len(components) :]) and element.datatype not in ENDLESS:
        beyond = f"{element.datatype} has {len(components)} components in HL7 {version.name}, and more are given"
        notes.add("minor", "data_types.extra-component", path, beyond)
    if level == 0 and element.datatype in code_membership.CODED:
        check_coded(version, element, parts, path, notes, coded_severity)


def check_system(value: str, path: str, notes: Notes) -> None:
    """Note a coding system that table 0396 does not know."""
    fault = code_membership.coding_system_fault(unescape(value))
    if fault is not None:
        notes.add(fault[0], "data_types.coding-system", path, fault[1], value=value)


def check_coded(version: Version, element: Element, parts: list[str], path: str, notes: Notes, severity: Severity) -> None:
    """Note an identifier without a coding system, and a code that the field's own table does not list."""
    identifier = parts[0]
    system = parts[2] if len(parts) > 2 else ""
    if not identifier or identifier == NULL:
        return
    answer = code_membership.membership(version, element.table, identifier)
    if not system and answer != "member":
        if severity == "minor" and not any(parts[1:]):
            severity = "info"  # a bare code: the field's meaning implies its system, as with MSH-19
        message = f"{element.datatype}.3 (Coding System) required when {element.datatype}.1 (Identifier) is present"
        notes.add(severity, "data_types.coding-system-missing", path, message, suggestion="Name the coding system of table 0396, for example LN, SCT or L")
    elif element.table and answer == "other" and system == element.table:
        suggestion = f"Table {element.table[3:]} suggests: {code_membership.examples(version, element.table)}"
        notes.add("minor", "valuesets.code", path, f"The code is not in the table it names ({element.table})", suggestion=suggestion, value=identifier)


def check_primitive(version: Version, element: Element, value: str, path: str, notes: Notes, level: int) -> None:
    """Note a malformed primitive, a length, a stray escape, or a code outside its table."""
    datatype = element.datatype
    primitive = PRIMITIVES.get(datatype)
    separators = LEVELS[level:]
    if datatype in UNSTRUCTURED and level == 0:
        check_text(value.replace("^", "").replace("&", ""), path, notes)
        return
    if any(separator in value for separator in separators):
        if any(part for separator in separators for part in value.split(separator, PARTS_MAX)[1:]):
            # Later versions made CE or CWE of many IS and ID fields, and profiles use those before their time.
            severity: Severity = "info" if datatype in {"ID", "IS"} else "minor"
            notes.add(severity, "data_types.extra-component", path, f"{datatype} has no components, and some are given")
        for separator in separators:
            value = value.split(separator, 1)[0]
    if not value or value == NULL:
        return
    check_text(value, path, notes)
    if primitive is None:
        return
    if primitive.pattern is not None and not compiled(version.name, datatype, None, repeats=False).fullmatch(value):
        if datatype in {"DT", "DTM"}:
            found = shared_checks.time(value, path, notes.context)
            notes.shared(found)
            if not found:  # a time where only a day may stand
                notes.add("major", "data_types.datatype", path, f"{element.title}: not {primitive.form}", value=value)
        elif datatype == "NM" and compiled(version.name, "NM", None, repeats=False).fullmatch(value.strip()):
            notes.add("minor", "data_types.number", path, "Blanks stand around the number", value=value)
        else:
            notes.add("major", "data_types.datatype", path, f"{element.title}: not {primitive.form}", value=value)
        return
    if primitive.length_max is not None and version.number < LENGTHS_END and len(value) > primitive.length_max:
        notes.add("minor", "data_types.length", path, f"{datatype} holds at most {primitive.length_max} characters, and {len(value)} are given")
    if (
        datatype == "ID"
        and element.table is not None
        and element.table not in TOLD_BY_HEADER
        and code_membership.membership(version, element.table, unescape(value)) == "other"
    ):
        note_code(version, element, value, path, notes)


def note_code(version: Version, element: Element, value: str, path: str, notes: Notes) -> None:
    """Note a code outside of an HL7-defined table; only in passing where another version lists it."""
    table = element.table or ""
    if table in LOCAL_Z and value[:1] == "Z":
        return  # `header.py` says that local messages are not checked
    if code_membership.listed_later(table, unescape(value)):
        notes.add("info", "valuesets.code-version", path, f"Table {table[3:]} lists the code in another version than {version.name}", value=value)
        return
    suggestion = f"Codes of table {table[3:]}: {code_membership.examples(version, table)}"
    since = f" as of {edition()}" if code_membership.growing(table) else ""
    message = f"{element.title}: not a code of HL7 table {table[3:]}{since}"
    notes.add(code_membership.severity_of(table), "valuesets.code", path, message, suggestion=suggestion, value=value)


def check_text(value: str, path: str, notes: Notes) -> None:
    """Note escape characters that begin no sequence, and control characters."""
    if "\\" in value and has_stray(value):
        notes.add("minor", "data_types.escape", path, "An escape character begins no sequence of the standard", suggestion="Write a literal backslash as \\E\\")
    if is_control(value):
        notes.add("minor", "data_types.control-character", path, "Control characters stand in the value")


@lru_cache(maxsize=4_096)
def checker(version: str, segment: str) -> Checker | None:
    """The checker of a segment in a version; None where the version does not know the segment."""
    tables = load(version)
    return Checker(tables, segment) if segment in tables.segments else None
