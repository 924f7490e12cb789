"""HL7 v2 text against HL7's own tables, and against what the tables cannot say."""

from __future__ import annotations

from functools import lru_cache

from touchstone.schemas.result import NotChecked, Severity
from touchstone.scorers.clinical.checks.parameters import sex_of
from touchstone.scorers.clinical.checks.terminology import MembershipSource
from touchstone.scorers.clinical.formats.hl7v2.charset import decode
from touchstone.scorers.clinical.formats.hl7v2.envelope import check_envelope
from touchstone.scorers.clinical.formats.hl7v2.fields import checker
from touchstone.scorers.clinical.formats.hl7v2.findings import Notes
from touchstone.scorers.clinical.formats.hl7v2.grammar import Fault
from touchstone.scorers.clinical.formats.hl7v2.header import check_header, structure_of, version_of
from touchstone.scorers.clinical.formats.hl7v2.identities import AUTHORITIES, check_authorities, check_patient
from touchstone.scorers.clinical.formats.hl7v2.lexer import DATA_BYTES_MAX, FIELDS_MAX, SEGMENTS_MAX, Document, Message, Segment, read
from touchstone.scorers.clinical.formats.hl7v2.measures import Patient
from touchstone.scorers.clinical.formats.hl7v2.observations import WITHIN_GROUP, Observations, check_bound
from touchstone.scorers.clinical.formats.hl7v2.profiles import check_profiles
from touchstone.scorers.clinical.formats.hl7v2.tables import VERSIONS, Version, load
from touchstone.scorers.clinical.formats.hl7v2.terminology import Terms
from touchstone.scorers.clinical.formats.hl7v2.times import TIMES, check_order, check_times, past_limit
from touchstone.scorers.clinical.formats.hl7v2.truncation import check_end, check_header_alone, is_open
from touchstone.scorers.clinical.formats.hl7v2.watermarks import check_marks
from touchstone.scorers.clinical.report import Context, Report

#: Fields that the specification binds to an HL7 table, whatever their type says.
BOUND: dict[str, tuple[tuple[int, str, Severity], ...]] = {
    "PID": ((8, "HL70001", "major"), (10, "HL70005", "minor"), (16, "HL70002", "minor"), (22, "HL70189", "minor")),
    "PV1": ((2, "HL70004", "major"), (36, "HL70112", "minor")),
    "OBX": ((8, "HL70078", "major"),),
    "RXR": ((1, "HL70162", "minor"),),
}
#: No segment is so long.
_NEVER = FIELDS_MAX + 1
#: Segment → how long it must be to hold a time, and an authority, that is looked at; and its bound fields.
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
#: What the last block of a file is filled with: end-of-file signs of old systems, and NUL.
PADDING = " \t\0\x1a"


@lru_cache(maxsize=16)
def _without_tables(version: str) -> NotChecked:
    return NotChecked(check="hl7v2.tables", reason=f"the source has no code tables for HL7 {version}")


def validate(data: bytes, context: Context | None = None, *, source: MembershipSource | None = None) -> Report:
    """Everything wrong with one HL7 v2 document: a message, several, or a batch. Never raises.

    Findings' codes begin with the check they belong to: structure, data_types, valuesets, identifiers, datetimes, observations,
    units, plausibility, terminology, profile. `rules_fired` counts by the same names. `source`: knows code systems that are not shipped
    (a terminology server, the user's own tables); it may block, for QUESTIONS_MAX codes and about ASKING_S_MAX at most.
    """
    context = context or Context()
    report = Report()
    try:
        check_document(data, context, report, source)
    except Exception as error:  # noqa: BLE001 - a validator's fault is told as such, and costs one document
        report.add(context.finding("critical", "structure.internal", "MSH", f"The validator failed ({type(error).__name__})"))
        report.skip("hl7v2", "the validator failed on this document")
    return report


def check_document(data: bytes, context: Context, report: Report, source: MembershipSource | None = None) -> Document:
    """Read and check a document; the document, with everything that was read."""
    notes = Notes(context, report)
    if len(data) > DATA_BYTES_MAX:
        notes.add("critical", "structure.too-large", "MSH", f"The document is larger than {DATA_BYTES_MAX // 2**20} MiB and was not read")
        report.skip("hl7v2", "the document is too large")
        return Document()
    text, problems = decode(data)
    notes.take(problems)
    document = read(text)
    if not document.messages:
        notes.add("critical", "structure.no-message", "MSH", "No message header: a message begins with MSH and its delimiters")
        report.skip("hl7v2", "there is no message")
        return document
    notes.take(document.problems)
    report.fired("structure")
    if document.unread_lines:
        notes.add("critical", "structure.too-many-segments", "MSH", f"More than {SEGMENTS_MAX} segments; {document.unread_lines} lines were not looked at")
    for stray in document.strays:
        notes.add("major", "structure.stray-segment", _where(stray), "A segment stands outside of any message", value=stray.name)
    check_envelope(document, notes)
    terms = Terms(source)
    for message in document.messages:
        since, its = len(report.findings), Notes(context, report, f"message[{message.number}]/" if len(document.messages) > 1 else "")
        check_message(message, its, terms)
        check_header_alone(message, its)
        if message is document.messages[-1] and is_open(text, PADDING):
            check_end(document, its, since)
    if terms.asked:
        report.fired("terminology", len(terms.asked))
    return document


def check_message(message: Message, notes: Notes, terms: Terms) -> None:
    """Check one message."""
    report = notes.report
    header = message.segments[0]
    version = version_of(header, notes)
    check_header(header, version, notes)
    _check_order_of_segments(message, header, version, notes)
    is_strict = check_profiles(message, header, version, notes)
    if version.number <= WITHOUT_TABLES:
        notes.not_checked(_without_tables(version.name))
    notes.not_checked(USER_TABLES)
    fields_checked = 0
    for segment in message.segments:
        check = checker(version.name, segment.name)
        if check is not None:
            fields_checked += check.check(segment, notes)
            if segment.name != "MSH":  # its coded fields (principal language) are of no terminology
                terms.take(segment, version.name, notes)
        elif segment.name == "?" and not segment.raw.strip(PADDING):
            notes.add("minor", "structure.padding", f"line {segment.line}", "A line holds nothing but characters that old systems fill files with")
        elif segment.name == "?":
            notes.add("major", "structure.segment-name", f"line {segment.line}", "A line is no segment: it begins with no segment name and field separator")
        elif segment.name[0] == "Z":
            notes.not_checked(LOCAL_SEGMENTS)
        else:
            _unknown_segment(segment, version, notes)
    report.fired("structure", len(message.segments))
    report.fired("data_types", fields_checked)
    _check_meaning(message, version, notes, is_strict=is_strict)
    check_marks(message, notes)


def _unknown_segment(segment: Segment, version: Version, notes: Notes) -> None:
    """Note a segment that the version does not define; one that senders took over from a later version is minor."""
    severity: Severity = "minor" if segment.name in load(VERSIONS[-1]).segments else "major"
    since = f"; HL7 {VERSIONS[-1]} does" if severity == "minor" else ""
    notes.add(severity, "structure.unknown-segment", _where(segment), f"HL7 {version.name} defines no such segment{since}", value=segment.name)


def _check_order_of_segments(message: Message, header: Segment, version: Version, notes: Notes) -> None:
    """Hold the sequence of segments against the structure that the message claims."""
    structure = structure_of(header, version, notes)
    if structure is None:
        return
    segments = [segment for segment in message.segments if segment.name != "?"]
    notes.report.fired("structure", len(segments))
    faults = structure.faults([segment.name for segment in segments])
    late = {fault.segment for fault in faults if fault.kind == "misplaced"}
    for fault in faults:
        if fault.kind == "missing" and fault.segment in late:
            late.discard(fault.segment)  # it is there, and only too late: the finding of its place says so
        else:
            _note_fault(fault, segments, structure.name, version, notes)


def _note_fault(fault: Fault, segments: list[Segment], structure: str, version: Version, notes: Notes) -> None:
    where = segments[fault.at].path if fault.at < len(segments) else "end"
    if fault.kind == "missing":
        notes.lacks_end = notes.lacks_end or where == "end"
        group = f" of {fault.required_by}" if fault.required_by != structure else ""
        message = (
            f"{fault.segment}{group} is required by {structure} before {where}" if where != "end" else f"{fault.segment}{group} is required by {structure}"
        )
        notes.add("major", "structure.missing-segment", fault.segment, message)
    elif fault.kind == "misplaced":
        notes.add("major", "structure.misplaced-segment", where, f"{structure} has no place for this segment here")
    elif fault.segment in version.segments:
        notes.add("major", "structure.unexpected-segment", where, f"{structure} has no such segment")


def _where(segment: Segment) -> str:
    """The path of a segment, if its name is one of HL7's; any other may be text of the payload, and only its line is given."""
    return segment.path if segment.name in load(VERSIONS[-1]).segments else f"line {segment.line}"


def _patient(segment: Segment) -> Patient:
    """The patient of a PID."""
    return Patient(birth=segment.component(7, 1), sex=sex_of(segment.component(8, 1)))


def _check_meaning(message: Message, version: Version, notes: Notes, *, is_strict: bool) -> None:
    """What tables cannot say: identities, times, bound codes and observations."""
    past = past_limit(notes)
    observations = Observations(version, notes, Patient(), is_strict=is_strict)
    identifiers = datetimes = valuesets = data_types = 0
    for segment in message.segments:
        name = segment.name
        if name == "OBX":
            observations.take(segment)
        elif name not in WITHIN_GROUP:
            observations.end()
            # A message may hold several patients; what follows a PID is of that one.
            if name == "PID":
                observations.patient = _patient(segment)
        if name not in MEANINGFUL:
            continue
        fields = segment.fields
        size = len(fields)
        times_from, authorities_from, bound = MEANINGFUL[name]
        if size > times_from:
            datetimes += check_times(segment, notes, past)
        if size > authorities_from:
            identifiers += check_authorities(segment, notes)
        for position, table, severity in bound:
            if position < size and fields[position]:
                valuesets += check_bound(version, segment, position, table, severity, notes)
        if name == "PID":
            data_types += check_patient(segment, version, notes)
            check_order(segment, 7, 29, "The patient died before birth", notes)
        elif name == "PV1":
            check_order(segment, 44, 45, "The patient was discharged before admission", notes)
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
            notes.report.fired(group, times)
