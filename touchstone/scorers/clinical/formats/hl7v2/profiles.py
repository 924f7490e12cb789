"""Profiles that a message declares in MSH-21, or whose content it has.

Base HL7 leaves most of MSH optional; the guides of public health do not. Checked are the fields that a declared guide requires, and for the
laboratory report (HL7 Version 2.5.1 Implementation Guide: Electronic Laboratory Reporting to Public Health, Release 1) also coding systems and
registered ids. Other profiles are named as not checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from touchstone.schemas.result import NotChecked
from touchstone.scorers.clinical.formats.hl7v2.code_membership import CODED
from touchstone.scorers.clinical.formats.hl7v2.findings import Findings
from touchstone.scorers.clinical.formats.hl7v2.identities import repetitions
from touchstone.scorers.clinical.formats.hl7v2.lexer import Message, Segment
from touchstone.scorers.clinical.formats.hl7v2.tables import Element, Version, load
from touchstone.scorers.clinical.formats.memory import Memory


@dataclass(frozen=True, slots=True)
class Profile:
    """One guide. `names` and `ids`: MSH-21.1 and MSH-21.3; `required`: segment → required fields; `segments`: required segments.

    `names_ids`: HD fields of MSH that must have a registered id; `is_strict`: coding systems and set ids are checked too.
    """

    title: str
    names: frozenset[str]
    ids: frozenset[str]
    required: Mapping[str, tuple[int, ...]]
    segments: tuple[str, ...] = ()
    names_ids: tuple[int, ...] = ()
    is_strict: bool = False


ELR = Profile(
    title="laboratory report",
    names=frozenset({"PHLabReport-Ack", "PHLabReport-NoAck", "PHLabReport-Batch", "ELR_Receiver", "ELR251R1_Rcvr_Prof"}),
    ids=frozenset({"2.16.840.1.113883.9.10", "2.16.840.1.113883.9.11"}),
    required={
        "MSH": (3, 4, 5, 6, 21),
        "SFT": (1, 2, 3, 4),
        "PID": (1, 3, 5),
        "ORC": (1, 3, 21, 22, 23),
        "OBR": (1, 3, 4, 7, 22, 25),
        "OBX": (1, 3, 11, 23, 24),
        "SPM": (1, 2, 4, 17, 18),
    },
    segments=("SFT", "PID", "ORC", "OBX", "SPM"),
    names_ids=(3, 4, 5, 6),
    is_strict=True,
)
#: PHIN Messaging Guide for Case Notification Reporting, versions 2 and 3.
CASE_NOTIFICATION = Profile(
    title="case notification",
    names=frozenset({"NOTF_ORU_v3.0", "NOTF_ORU_V3.0", "NND_ORU_v2.0", "NND_ORU_V2.0"}),
    ids=frozenset(),
    required={"MSH": (3, 4, 5, 6, 21), "PID": (1, 3, 5), "OBR": (1, 3, 4, 7, 22, 25, 31), "OBX": (1, 2, 3, 11)},
    segments=("PID", "OBX"),
)
#: HL7 Version 2.5.1 Implementation Guide for Immunization Messaging, Release 1.5: an unsolicited update.
IMMUNIZATION = Profile(
    title="immunization update",
    names=frozenset({"Z22"}),
    ids=frozenset(),
    required={"MSH": (21,), "PID": (3, 5, 7), "ORC": (1, 3), "RXA": (1, 2, 3, 5, 6), "OBX": (1, 2, 3, 5, 11)},
)
#: Fields of the laboratory report whose code means nothing without its system; in other fields a bare code implies it.
CODES = frozenset({("PID", 10), ("PID", 22), ("OBR", 4), ("OBR", 31), ("OBX", 3), ("OBX", 17), ("SPM", 4)})
PROFILES = (ELR, CASE_NOTIFICATION, IMMUNIZATION)
#: MSH-21, where profiles are declared.
DECLARED_IN = 21
NULL = '""'
EMPTY = frozenset({"", NULL})
PARTLY = NotChecked(check="hl7v2.profile", reason="of the declared guide, required fields are checked, and for laboratory reports coding systems and ids")
NOT_CARRIED = NotChecked(check="hl7v2.profile", reason="the profile that MSH-21 declares is not carried")


def declared(header: Segment) -> Profile | None:
    """The first known profile that MSH-21 names."""
    value = header.field(DECLARED_IN)
    return _named[value] if value else None


def _profile_of(value: str) -> Profile | None:
    """The first known profile in the text of MSH-21."""
    header = Segment("MSH", [*[""] * DECLARED_IN, value], 1)
    ids = [(*text.split("^", 3), "", "")[:3] for _, text in repetitions(header, DECLARED_IN)]
    return next((profile for profile in PROFILES if any(name in profile.names or oid in profile.ids for name, _, oid in ids)), None)


_named = Memory(_profile_of)


def looks_like_elr(message: Message, header: Segment) -> bool:
    """True if a message that declares no profile by its id has the content of a laboratory report.

    It has the guide's version and event, a software segment, and registered ids of both facilities.
    """
    if any(len(text.split("^", 3)) > 2 for _, text in repetitions(header, DECLARED_IN)):
        return False
    is_report = (header.component(9, 1), header.component(9, 2), header.component(12, 1)) == ("ORU", "R01", "2.5.1")
    has_facility_ids = header.component(4, 3) == "ISO" and header.component(6, 3) == "ISO"
    return is_report and has_facility_ids and any(segment.name == "SFT" for segment in message.segments)


def check_profile(profile: Profile, message: Message, version: Version, findings: Findings) -> int:
    """Report what a declared guide requires and the message does not have; returns how many fields were checked."""
    checked = 0
    for name in profile.segments:
        if not any(segment.name == name for segment in message.segments):
            findings.add("major", "profile.required-segment", name, f"The declared {profile.title} profile requires the segment {name}")
    for segment in message.segments:
        positions = profile.required.get(segment.name, ())
        checked += len(positions)
        for position in positions:
            if segment.field(position) in EMPTY:
                findings.add("major", "profile.required-field", f"{segment.path}-{position}", f"The declared {profile.title} profile requires this field")
        if profile.is_strict:
            checked += _check_codes(profile, segment, version, findings)
    for position in profile.names_ids:
        checked += 1
        header = message.segments[0]
        if header.field(position) not in EMPTY and not (header.component(position, 2) and header.component(position, 3)):
            text = f"The declared {profile.title} profile requires HD.2 (Universal ID) and HD.3 (Universal ID Type)"
            findings.add("major", "profile.universal-id", f"MSH-{position}", text)
    return checked


@lru_cache(maxsize=1_024)
def _coded(version: str, name: str) -> tuple[Element, ...]:
    return tuple(element for element in load(version).segments.get(name, ()) if element.datatype in CODED)


def _check_codes(profile: Profile, segment: Segment, version: Version, findings: Findings) -> int:
    """Report identifiers without a coding system, whatever table the field is bound to; returns how many fields were checked."""
    checked = 0
    size = len(segment.fields)
    for element in _coded(version.name, segment.name):
        if element.position >= size:  # an empty field counts as checked if the guide requires its code
            checked += (segment.name, element.position) in CODES
            continue
        if not ("^" in segment.fields[element.position] or (segment.name, element.position) in CODES):
            continue
        checked += 1
        for path, text in repetitions(segment, element.position):
            parts = text.split("^", 6)
            for at in (0, 3):
                if len(parts) > at and parts[at] and not (len(parts) > at + 2 and parts[at + 2]):
                    needed = f"{element.datatype}.{at + 3} (Coding System) where {element.datatype}.{at + 1} is present"
                    findings.add("major", "profile.coding-system", path, f"The declared {profile.title} profile requires {needed}")
    return checked


def check_profiles(message: Message, header: Segment, version: Version, findings: Findings) -> bool:
    """Check the declared profile; True if its strict rules apply."""
    if len(header.fields) <= DECLARED_IN and not any(segment.name == "SFT" for segment in message.segments):
        return False
    profile = declared(header)
    if profile is not None:
        findings.report.fired("profile", check_profile(profile, message, version, findings))
        findings.not_checked(PARTLY)
        return profile.is_strict
    if looks_like_elr(message, header):
        findings.report.fired("profile")
        text = "A laboratory report to public health must name its profile, and MSH-21 names none by its id"
        findings.add("major", "profile.undeclared", "MSH-21", text, suggestion="For example PHLabReport-NoAck^ELR251R1_Rcvr_Prof^2.16.840.1.113883.9.11^ISO")
    elif header.field(DECLARED_IN):
        findings.not_checked(NOT_CARRIED)
    return False
