"""Segments and fields: required fields, repetition, data types, lengths, codes.

A pattern of the whole field accepts most values; only what it does not accept is checked part by part, to say what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.formats.hl7v2 import code_membership
from touchstone.scorers.clinical.formats.hl7v2.field_patterns import UNSTRUCTURED, codes_accepted, compiled
from touchstone.scorers.clinical.formats.hl7v2.findings import Findings, Problem, Recorder, Unlasting
from touchstone.scorers.clinical.formats.hl7v2.lexer import FIELDS_MAX, PARTS_MAX, Segment
from touchstone.scorers.clinical.formats.hl7v2.pattern_learner import Learner
from touchstone.scorers.clinical.formats.hl7v2.primitives import PRIMITIVES
from touchstone.scorers.clinical.formats.hl7v2.tables import Version, load
from touchstone.scorers.clinical.formats.hl7v2.value_checks import NULL, check_value
from touchstone.scorers.clinical.formats.memory import remembering

#: Most set ids: a look-up is faster than a pattern.
SEQUENCE_NUMBERS = frozenset(str(number) for number in range(1_000))
#: Fields with delimiters, which the lexer has read.
OWN_RULES = frozenset({("MSH", 1), ("MSH", 2), ("FHS", 1), ("FHS", 2), ("BHS", 1), ("BHS", 2)})
#: Required fields whose absence `header.py` reports.
CHECKED_ELSEWHERE = OWN_RULES | {("MSH", 9), ("MSH", 12)}
#: Fields in which a code without its system cannot be understood: what was observed, and what was ordered.
NEEDS_SYSTEM = frozenset({("OBX", 3), ("OBX", 5), ("OBR", 4)})
#: (segment, field) → components whose absence `identities.py` reports as a major finding.
CHECKED_BY_IDENTITIES = {("PID", 3): frozenset({1})}
#: Types whose values are codes. The same few make up most fields, so their findings are remembered (memory.py).
REMEMBERED = code_membership.CODED | {"ID", "IS"}
#: Values of a field that are checked part by part before its pattern is compiled, which takes as long as some hundred of them.
LOOKED_AT = 150


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
            self.accepts[position] = self._compiled_in_use(position)

    def _compiled_in_use(self, position: int) -> Callable[[str], object]:
        """A stand-in that is replaced by what accepts the field: at its first call, or after LOOKED_AT of them where that is a pattern to compile."""
        looked_at = 0

        def first(value: str) -> object:
            nonlocal looked_at
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
            elif looked_at < LOOKED_AT:
                looked_at += 1
                return False
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
        # The pattern takes a null for any value; a segment that holds one is looked at field by field.
        if learner.whole is not None and learner.whole.fullmatch(segment.raw) and NULL not in segment.raw:
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
            elif not fields[position].replace(NULL, "").strip("~"):
                message = f'{self.elements[position].title} is required, and "" (null) says to delete it'
                findings.add("major", "structure.required-null", f"{segment.path}-{position}", message, suggestion="Give the value")
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
def checker(version: str, segment: str) -> Checker | None:
    """The checker of a segment in a version; None if the version does not define the segment."""
    tables = load(version)
    return Checker(tables, segment) if segment in tables.segments else None
