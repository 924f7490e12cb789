"""The HL7 v2 validator: messages are checked by HL7's own tables, and by rules that tables cannot express."""

from __future__ import annotations

from functools import lru_cache

from touchstone.schemas.result import NotChecked, Severity
from touchstone.scorers.clinical.checks.parameters import sex_of
from touchstone.scorers.clinical.checks.terminology import MembershipSource
from touchstone.scorers.clinical.formats.hl7v2.charset import decode
from touchstone.scorers.clinical.formats.hl7v2.envelope import check_control_ids, check_envelope
from touchstone.scorers.clinical.formats.hl7v2.fields import checker
from touchstone.scorers.clinical.formats.hl7v2.findings import Findings
from touchstone.scorers.clinical.formats.hl7v2.grammar import Fault
from touchstone.scorers.clinical.formats.hl7v2.header import check_header, structure_of, version_of
from touchstone.scorers.clinical.formats.hl7v2.identities import AUTHORITIES, check_authorities, check_patient
from touchstone.scorers.clinical.formats.hl7v2.lexer import DATA_BYTES_MAX, FIELDS_MAX, SEGMENTS_MAX, Document, Message, Segment, read
from touchstone.scorers.clinical.formats.hl7v2.measures import Patient
from touchstone.scorers.clinical.formats.hl7v2.nist.selection import Profiles
from touchstone.scorers.clinical.formats.hl7v2.observations import WITHIN_GROUP, Observations, check_bound
from touchstone.scorers.clinical.formats.hl7v2.profiles import check_profiles, declared
from touchstone.scorers.clinical.formats.hl7v2.tables import VERSIONS, Version, load
from touchstone.scorers.clinical.formats.hl7v2.terminology import Terms
from touchstone.scorers.clinical.formats.hl7v2.times import TIMES, check_order, check_times, past_limit
from touchstone.scorers.clinical.formats.hl7v2.truncation import check_end, check_header_alone, is_open
from touchstone.scorers.clinical.formats.hl7v2.watermarks import check_marks
from touchstone.scorers.clinical.report import Context, Report

#: Fields that the specification binds to an HL7 table, whatever their data type.
BOUND: dict[str, tuple[tuple[int, str, Severity], ...]] = {
    "PID": ((8, "HL70001", "major"), (10, "HL70005", "minor"), (16, "HL70002", "minor"), (22, "HL70189", "minor")),
    "PV1": ((2, "HL70004", "major"), (36, "HL70112", "minor")),
    "OBX": ((8, "HL70078", "major"),),
    "RXR": ((1, "HL70162", "minor"),),
}
#: More fields than any segment has.
_NEVER = FIELDS_MAX + 1
#: Segment → the first field with a time that is checked, the first with an authority, and its bound fields.
MEANINGFUL: dict[str, tuple[int, int, tuple[tuple[int, str, Severity], ...]]] = {
    name: (
        min((position for position, _ in TIMES.get(name, ())), default=_NEVER),
        min((position for position, _ in AUTHORITIES.get(name, ())), default=_NEVER),
        BOUND.get(name, ()),
    )
    for name in (*BOUND, *TIMES, *AUTHORITIES)
}
USER_TABLES = NotChecked(
    check="hl7v2.user-tables", reason="codes of user-defined tables (IS, and most CWE) are a site's own, save those the specification names"
)
LOCAL_SEGMENTS = NotChecked(check="hl7v2.local-segments", reason="local (Z) segments have no published definition")
WITHOUT_TABLES = (2, 3)
#: Characters that old systems fill the last block of a file with: end-of-file marks and NUL.
PADDING = " \t\0\x1a"


@lru_cache(maxsize=16)
def _without_tables(version: str) -> NotChecked:
    return NotChecked(check="hl7v2.tables", reason=f"the source has no code tables for HL7 {version}")


def validate(data: bytes, context: Context | None = None, *, source: MembershipSource | None = None, profiles: Profiles | None = None) -> Report:
    """Validate one HL7 v2 document: a message, several, or a batch. Never raises.

    The code of a finding begins with its check (structure, data_types, valuesets, identifiers, datetimes, observations, units, plausibility,
    terminology, profile), and `rules_fired` counts by the same names. `source`: looks up code systems that are not shipped (a terminology server,
    the user's own tables); it may block, for QUESTIONS_MAX codes and about ASKING_S_MAX at most. `profiles`: conformance profiles, of which each
    message's own is applied.
    """
    context = context or Context()
    report = Report()
    try:
        check_document(data, context, report, source, profiles)
    except Exception as error:  # noqa: BLE001 - a defect of the validator is reported as one, and costs one document
        report.add(context.finding("critical", "structure.internal", "MSH", f"The validator failed ({type(error).__name__})"))
        report.skip("hl7v2", "the validator failed on this document")
    return report


def check_document(data: bytes, context: Context, report: Report, source: MembershipSource | None = None, profiles: Profiles | None = None) -> Document:
    """Read and check a document; returns everything that was read."""
    findings = Findings(context, report)
    if len(data) > DATA_BYTES_MAX:
        findings.add("critical", "structure.too-large", "MSH", f"The document is larger than {DATA_BYTES_MAX // 2**20} MiB and was not read")
        report.skip("hl7v2", "the document is too large")
        return Document()
    text, problems = decode(data)
    findings.add_problems(problems)
    document = read(text)
    if not document.messages:
        findings.add("critical", "structure.no-message", "MSH", "No message header: a message begins with MSH and its delimiters")
        report.skip("hl7v2", "there is no message")
        return document
    findings.add_problems(document.problems)
    report.fired("structure")
    if document.unread_lines:
        findings.add("critical", "structure.too-many-segments", "MSH", f"More than {SEGMENTS_MAX} segments; {document.unread_lines} lines were not looked at")
    for stray in document.strays:
        findings.add("major", "structure.stray-segment", _where(stray), "A segment outside of any message; messages begin with MSH", value=stray.name)
    check_envelope(document, findings)
    check_control_ids(document, findings)
    terms = Terms(source)
    for message in document.messages:
        before = len(report.findings)
        of_message = Findings(context, report, f"message[{message.number}]/" if len(document.messages) > 1 else "")
        check_message(message, of_message, terms, profiles)
        check_header_alone(message, of_message)
        if message is document.messages[-1] and is_open(text, PADDING):
            check_end(document, of_message, before)
    if terms.asked:
        report.fired("terminology", len(terms.asked))
    return document


def check_message(message: Message, findings: Findings, terms: Terms, profiles: Profiles | None = None) -> None:
    """Check one message."""
    report = findings.report
    header = message.segments[0]
    version = version_of(header, findings)
    check_header(header, version, findings)
    _check_order_of_segments(message, header, version, findings)
    loaded = profiles.choose(header, findings) if profiles is not None else None
    if loaded is None:
        is_strict = check_profiles(message, header, version, findings)
    else:  # the loaded profile says more than the list of required fields that is built in
        own = declared(header)
        is_strict = own is not None and own.is_strict
    if version.number <= WITHOUT_TABLES:
        findings.not_checked(_without_tables(version.name))
    findings.not_checked(USER_TABLES)
    fields_checked = 0
    for segment in message.segments:
        check = checker(version.name, segment.name)
        if check is not None:
            fields_checked += check.check(segment, findings)
            if segment.name != "MSH":  # its coded field (principal language) belongs to no terminology
                terms.take(segment, version.name, findings)
        else:
            _unknown_segment(segment, version, findings)
    report.fired("structure", len(message.segments))
    report.fired("data_types", fields_checked)
    _check_meaning(message, version, findings, is_strict=is_strict)
    check_marks(message, findings)
    if loaded is not None:
        loaded.check(message, findings)


def _unknown_segment(segment: Segment, version: Version, findings: Findings) -> None:
    """Report a line that is no segment, or a segment that the version does not define: minor if a later version defines it."""
    if segment.name == "?" and not segment.raw.strip(PADDING):
        findings.add("minor", "structure.padding", f"line {segment.line}", "A line holds nothing but characters that old systems fill files with")
        return
    if segment.name == "?":
        findings.add("major", "structure.segment-name", f"line {segment.line}", "A line is no segment: it begins with no segment name and field separator")
        return
    if segment.name[0] == "Z":
        findings.not_checked(LOCAL_SEGMENTS)
        return
    severity: Severity = "minor" if segment.name in load(VERSIONS[-1]).segments else "major"
    since = f"; HL7 {VERSIONS[-1]} does" if severity == "minor" else ""
    findings.add(severity, "structure.unknown-segment", _where(segment), f"HL7 {version.name} defines no such segment{since}", value=segment.name)


def _check_order_of_segments(message: Message, header: Segment, version: Version, findings: Findings) -> None:
    """Compare the sequence of segments with the structure that the message claims."""
    structure = structure_of(header, version, findings)
    if structure is None:
        return
    segments = [segment for segment in message.segments if segment.name != "?"]
    findings.report.fired("structure", len(segments))
    faults = structure.faults([segment.name for segment in segments])
    late = {fault.segment for fault in faults if fault.kind == "misplaced"}
    for fault in faults:
        if fault.kind == "missing" and fault.segment in late:
            late.discard(fault.segment)  # it is not missing but too late, which the finding of its place says
        else:
            _report_fault(fault, segments, structure.name, version, findings)


def _report_fault(fault: Fault, segments: list[Segment], structure: str, version: Version, findings: Findings) -> None:
    where = segments[fault.at].path if fault.at < len(segments) else "end"
    if fault.kind == "missing":
        findings.lacks_end = findings.lacks_end or where == "end"
        group = f" of {fault.required_by}" if fault.required_by != structure else ""
        message = f"{fault.segment}{group} is required by {structure}" + (f" before {where}" if where != "end" else "")
        findings.add("major", "structure.missing-segment", fault.segment, message)
    elif fault.kind == "misplaced":
        findings.add("major", "structure.misplaced-segment", where, f"{structure} has no place for this segment here")
    elif fault.segment in version.segments:
        findings.add("major", "structure.unexpected-segment", where, f"{structure} has no such segment")


def _where(segment: Segment) -> str:
    """The path of a segment whose name HL7 defines. Any other name may be text of the payload, so only its line is given."""
    return segment.path if segment.name in load(VERSIONS[-1]).segments else f"line {segment.line}"


def _check_meaning(message: Message, version: Version, findings: Findings, *, is_strict: bool) -> None:
    """Check what tables cannot express: identities, times, bound codes and observations."""
    past = past_limit(findings)
    observations = Observations(version, findings, Patient(), is_strict=is_strict)
    datetimes = identifiers = valuesets = data_types = 0
    for segment in message.segments:
        name = segment.name
        if name == "OBX":
            observations.take(segment)
        elif name not in WITHIN_GROUP:
            observations.end()
            # A message may hold several patients; what follows a PID belongs to that one.
            if name == "PID":
                observations.patient = Patient(birth=segment.component(7, 1), sex=sex_of(segment.component(8, 1)))
        if name not in MEANINGFUL:
            continue
        times_from, authorities_from, bound = MEANINGFUL[name]
        if len(segment.fields) > times_from:
            datetimes += check_times(segment, findings, past)
        if len(segment.fields) > authorities_from:
            identifiers += check_authorities(segment, findings)
        valuesets += sum(check_bound(version, segment, position, table, severity, findings) for position, table, severity in bound)
        if name == "PID":
            data_types += check_patient(segment, version, findings)
            check_order(segment, 7, 29, "The patient died before birth", findings)
        elif name == "PV1":
            check_order(segment, 44, 45, "The patient was discharged before admission", findings)
    observations.end()
    counts = (
        ("identifiers", identifiers),
        ("datetimes", datetimes),
        ("valuesets", valuesets),
        ("data_types", data_types),
        ("observations", observations.checked),
        ("units", observations.usual),
        ("plausibility", observations.usual),
    )
    for group, times in counts:
        if times:
            findings.report.fired(group, times)
