"""Single values: data types, components, lengths, codes and characters, checked part by part to say what is wrong."""

from __future__ import annotations

from functools import lru_cache

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.checks.datetimes import check_hl7v2
from touchstone.scorers.clinical.formats.hl7v2 import code_membership
from touchstone.scorers.clinical.formats.hl7v2.escapes import has_stray, unescape
from touchstone.scorers.clinical.formats.hl7v2.field_patterns import LEVELS, UNSTRUCTURED, compiled, component_accepts
from touchstone.scorers.clinical.formats.hl7v2.findings import Findings
from touchstone.scorers.clinical.formats.hl7v2.lexer import PARTS_MAX
from touchstone.scorers.clinical.formats.hl7v2.primitives import LENGTHS_END, PRIMITIVES
from touchstone.scorers.clinical.formats.hl7v2.tables import Element, Version, edition, load

NULL = '""'
#: Types with one component for each value or channel; the tables list only the first few.
ENDLESS = frozenset({"NA", "MA"})
#: Tables of messages and events, whose local codes begin with Z.
LOCAL_Z = frozenset({"HL70003", "HL70076", "HL70354"})
#: Tables of MSH-9.3 and MSH-12, which `header.py` checks.
CHECKED_BY_HEADER = frozenset({"HL70104", "HL70354"})


def is_control(text: str) -> bool:
    """True if a text holds control characters, which no HL7 data type allows."""
    return not text.isprintable() and any(sign < " " or sign == "\x7f" for sign in text)


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
