"""The message header: its required fields, and the version and structure that it claims."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from touchstone.schemas.result import NotChecked, Severity
from touchstone.scorers.clinical.formats.hl7v2.findings import Findings, Problem, Recorder
from touchstone.scorers.clinical.formats.hl7v2.grammar import Structure, build
from touchstone.scorers.clinical.formats.hl7v2.lexer import Segment
from touchstone.scorers.clinical.formats.hl7v2.tables import VERSION_DEFAULT, VERSIONS, VERSIONS_MORE, Version, edition, load, nearest, structures_of_events
from touchstone.scorers.clinical.formats.memory import Memory

#: A guide's own variant of a version, such as 2.3.z of CDC's early laboratory reports.
LOCAL_VERSION = re.compile(r"2\.[\d.]{1,5}\.[A-Za-z]", re.ASCII)
#: A version that HL7 may have published since.
LATER = re.compile(r"2\.(?:9\.[1-9]\d?|[1-9]\d(?:\.\d{1,2})?)", re.ASCII)
CODE = re.compile(r"[A-Z0-9]{3}")

#: MSH-9.3 is required from this version on.
STRUCTURE_REQUIRED = (2, 5)
#: Up to this version the trigger event may be given by the message's other segments alone.
EVENTLESS = (2, 2)
_CONTROL_ID_MAX = 20
_CONTROL_ID_UNBOUNDED = (2, 7)
#: The last field of MSH that is checked here.
LAST_CHECKED = 11
MESSAGE_TYPE = 9
EXAMPLE_TYPE = "Write for example ADT^A01^ADT_A01"
LOCAL_MESSAGES = NotChecked(check="hl7v2.local-messages", reason="local messages and trigger events (Z…) have no published structure")
_structures: dict[tuple[str, str], Structure] = {}


@lru_cache(maxsize=len(VERSIONS))
def _read_as(version: str) -> NotChecked:
    return NotChecked(check="hl7v2.version", reason=f"the source has no tables of the declared version; those of HL7 {version} were used")


def version_of(header: Segment, findings: Findings) -> Version:
    """The version by whose tables the message is checked. Reports an unusable MSH-12."""
    written = header.component(12, 1)
    known = nearest(written)
    if not written:
        findings.add("major", "structure.version", "MSH-12", f"The version is missing; HL7 {VERSION_DEFAULT} was assumed", suggestion="Write for example 2.5.1")
    elif written in VERSIONS_MORE:
        findings.not_checked(_read_as(known))
        findings.read_as = f"HL7 {known}"
    elif LATER.fullmatch(written):
        findings.not_checked(_read_as(known))
        findings.read_as = f"HL7 {known}"
        message = f"HL7 had published no such version when the tables were made ({edition()})"
        findings.add("minor", "structure.version", "MSH-12", message, suggestion=f"HL7 has {', '.join(VERSIONS)}", value=written)
    elif written not in VERSIONS:
        message = f"The version is none of HL7's (table 0104); HL7 {known} was assumed"
        severity: Severity = "minor" if LOCAL_VERSION.fullmatch(written) and written[:-2] in VERSIONS else "major"
        findings.add(severity, "structure.version", "MSH-12", message, suggestion=f"HL7 has {', '.join(VERSIONS)}", value=written)
    return load(known)


def check_header(header: Segment, version: Version, findings: Findings) -> None:
    """Report fields missing from MSH, beyond those that the tables require of every segment."""
    fields = header.fields
    if len(fields) > LAST_CHECKED and "" not in fields[3:8] and fields[9] and fields[10] and fields[11] and len(fields[10]) <= _CONTROL_ID_MAX:
        return
    if not header.field(9):
        findings.add("critical", "structure.message-type", "MSH-9", "The message type is missing", suggestion=EXAMPLE_TYPE)
    required = {element.position for element in version.segments["MSH"] if element.least}
    if not header.field(7) and 7 not in required:
        findings.add("minor", "structure.required-field", "MSH-7", "The time of the message is missing")
    for position, title in ((10, "Message control id"), (11, "Processing id")):
        if not header.field(position) and position not in required:
            findings.add("major", "structure.required-field", f"MSH-{position}", f"{title} is required")
    if len(header.field(10)) > _CONTROL_ID_MAX and version.number < _CONTROL_ID_UNBOUNDED:
        findings.add("minor", "data_types.length", "MSH-10", f"The control id is longer than the {_CONTROL_ID_MAX} characters that HL7 {version.name} allows")
    for position, title in ((3, "Sending application"), (4, "Sending facility"), (5, "Receiving application"), (6, "Receiving facility")):
        if not header.field(position):
            findings.add("info", "structure.routing", f"MSH-{position}", f"{title} is not given; base HL7 leaves it optional, most profiles require it")


class _Claim(NamedTuple):
    """The structure that MSH-9 claims in a version, and the findings about it."""

    structure: Structure | None
    problems: tuple[Problem, ...]
    not_checked: tuple[NotChecked, ...]


def _claim(written: str) -> _Claim:
    """Read `version|MSH-9`."""
    version, value = written.split("|", 1)
    recorder = Recorder()
    claimed = _structure_of(Segment("MSH", ["MSH"] * MESSAGE_TYPE + [value], 1), load(version), recorder)
    return _Claim(claimed, tuple(recorder.problems), tuple(recorder.report.not_checked))


_claims = Memory(_claim, texts_max=4_096)


def structure_of(header: Segment, version: Version, findings: Findings) -> Structure | None:
    """The structure that the message claims by MSH-9. Reports a claim that cannot be checked, and returns None."""
    claim = _claims[f"{version.name}|{header.field(MESSAGE_TYPE)}"]
    findings.add_problems(claim.problems)
    for rule in claim.not_checked:
        findings.not_checked(rule)
    return claim.structure


def _structure_of(header: Segment, version: Version, findings: Findings) -> Structure | None:
    kind, event, claimed = (header.component(9, position) for position in (1, 2, 3))
    if not kind:
        return None
    if not CODE.fullmatch(kind) or (event and not CODE.fullmatch(event)):
        findings.add("major", "structure.message-type", "MSH-9", "The message code or trigger event is malformed", suggestion=EXAMPLE_TYPE)
    if "Z" in {kind[:1], event[:1]} and claimed not in version.messages:
        findings.not_checked(LOCAL_MESSAGES)
        return None
    expected = expected_structure(version, kind, event)
    _check_claim(claimed, expected, kind, version, findings)
    used = claimed if claimed in version.messages and (not expected or claimed == expected) else expected
    if used is None:
        _report_unknown(claimed, kind, event, version, findings)
        return None
    return structure(version, used)


def _check_claim(claimed: str, expected: str | None, kind: str, version: Version, findings: Findings) -> None:
    """Report a structure in MSH-9.3 that is unknown, is not the event's, or is missing."""
    if claimed and claimed not in version.messages:
        message = f"The message structure is none that HL7 {version.name} defines (table 0354)"
        findings.add("major", "structure.message-structure", "MSH-9.3", message, suggestion=f"The event uses {expected}" if expected else None, value=claimed)
    elif claimed and expected and claimed != expected:
        message = "The message structure is not the one that the trigger event uses"
        findings.add("major", "structure.message-structure", "MSH-9.3", message, suggestion=f"The event uses {expected}", value=claimed)
    elif not claimed and version.number >= STRUCTURE_REQUIRED and kind != "ACK":
        message = f"MSG.3 (Message Structure) is required in HL7 {version.name}"
        findings.add("minor", "structure.message-structure", "MSH-9.3", message, suggestion=f"Write {expected}" if expected else None)


def _report_unknown(claimed: str, kind: str, event: str, version: Version, findings: Findings) -> None:
    """Report a message that fits no structure of its version."""
    findings.report.skip("hl7v2.structure", f"no structure of HL7 {version.name} fits MSH-9")
    is_known = any(name.startswith(f"{kind}_") for name in version.messages)
    if not event and is_known and version.number > EVENTLESS:
        findings.add("major", "structure.message-type", "MSH-9", "MSG.2 (Trigger Event) is required", suggestion=EXAMPLE_TYPE)
    elif not claimed and (event or not is_known):
        findings.add("major", "structure.message-structure", "MSH-9", f"HL7 {version.name} defines no message of this type and event")


def expected_structure(version: Version, kind: str, event: str) -> str | None:
    """The structure that an event uses in a version; None if the version has none."""
    own = f"{kind}_{event}" if event else kind
    candidates = [own, *structures_of_events().get(own, [])]
    if not event and version.number <= EVENTLESS:
        of_kind = [name for name in version.messages if name.startswith(f"{kind}_")]
        candidates += of_kind if len(of_kind) == 1 else []
    if kind == "ACK":
        candidates.append("ACK")
    return next((name for name in candidates if name in version.messages), None)


def structure(version: Version, name: str) -> Structure:
    """One structure of a version, built on first use."""
    key = (version.name, name)
    if key not in _structures:
        _structures[key] = build(name, version.messages[name], version.groups)
    return _structures[key]
