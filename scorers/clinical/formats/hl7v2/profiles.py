"""Profiles that a message declares in MSH-21, or that its content calls for.

Base HL7 leaves most of MSH optional. A message that declares the public-health laboratory report (HL7 Version 2.5.1 Implementation
Guide: Electronic Laboratory Reporting to Public Health, Release 1) promises more; the part of it that decides whether a report can be
routed and read is checked here. Other profiles are named as not checked.
"""

from __future__ import annotations

from collections.abc import Mapping

from schemas.result import NotChecked
from scorers.clinical.formats.hl7v2.coded import CODED
from scorers.clinical.formats.hl7v2.identities import repetitions
from scorers.clinical.formats.hl7v2.lexer import Message, Segment
from scorers.clinical.formats.hl7v2.notes import Notes
from scorers.clinical.formats.hl7v2.tables import Version

#: The guide's profile ids (MSH-21.3), and the names of its components (MSH-21.1).
ELR_OIDS = frozenset({"2.16.840.1.113883.9.10", "2.16.840.1.113883.9.11"})
ELR_NAMES = frozenset({"PHLabReport-Ack", "PHLabReport-NoAck", "PHLabReport-Batch", "ELR_Receiver", "ELR251R1_Rcvr_Prof"})
#: Segment → fields that the guide requires.
ELR_REQUIRED: Mapping[str, tuple[int, ...]] = {
    "MSH": (3, 4, 5, 6, 21),
    "SFT": (1, 2, 3, 4),
    "PID": (3, 5),
    "OBR": (4, 7, 22, 25),
    "OBX": (3, 11, 23, 24),
    "SPM": (4,),
}
#: MSH-21, where profiles are declared.
PROFILES = 21
PARTLY = NotChecked(check="hl7v2.profile", reason="of the laboratory report's guide, MSH and the required fields of results are checked")
NOT_CARRIED = NotChecked(check="hl7v2.profile", reason="the profile that MSH-21 declares is not carried")


def declares_elr(header: Segment) -> bool:
    """Whether MSH-21 names the laboratory report."""
    declared = [text.split("^") for _, text in repetitions(header, 21)]
    return any(parts[0] in ELR_NAMES or (len(parts) > 2 and parts[2] in ELR_OIDS) for parts in declared)


def looks_like_elr(message: Message, header: Segment) -> bool:
    """Whether a message that declares nothing is a laboratory report of that guide by what it holds.

    The guide's version and event, its software segment, and registered ids of both facilities.
    """
    is_report = (header.component(9, 1), header.component(9, 2), header.component(12, 1)) == ("ORU", "R01", "2.5.1")
    has_facility_ids = header.component(4, 3) == "ISO" and header.component(6, 3) == "ISO"
    return is_report and has_facility_ids and not header.field(21) and any(segment.name == "SFT" for segment in message.segments)


def check_elr(message: Message, version: Version, notes: Notes) -> int:
    """Note what the laboratory report's guide requires and the message lacks; how many fields were asked for."""
    checked = 0
    if not any(segment.name == "SFT" for segment in message.segments):
        notes.add("major", "profile.required-segment", "SFT", "The declared laboratory report profile requires the segment SFT")
    for segment in message.segments:
        for position in ELR_REQUIRED.get(segment.name, ()):
            checked += 1
            if not segment.field(position):
                message_text = "The declared laboratory report profile requires this field"
                notes.add("major", "profile.required-field", f"{segment.path}-{position}", message_text)
        for element in version.segments.get(segment.name, ()):
            if element.datatype in CODED and "^" in segment.field(element.position):
                checked += 1
                _check_systems(segment, element.position, element.datatype, notes)
    return checked


def _check_systems(segment: Segment, position: int, datatype: str, notes: Notes) -> None:
    """An identifier goes with its coding system, whatever table the field is bound to."""
    for path, text in repetitions(segment, position):
        parts = text.split("^", 6)
        for at in (0, 3):
            if len(parts) > at and parts[at] and not (len(parts) > at + 2 and parts[at + 2]):
                message = f"The declared laboratory report profile requires {datatype}.{at + 3} (Coding System) where {datatype}.{at + 1} is present"
                notes.add("major", "profile.coding-system", path, message)


def check_profiles(message: Message, header: Segment, version: Version, notes: Notes) -> bool:
    """Note what declared profiles require; whether the laboratory report's rules apply."""
    if len(header.fields) <= PROFILES and not any(segment.name == "SFT" for segment in message.segments):
        return False
    if declares_elr(header):
        notes.report.fired("profile", check_elr(message, version, notes))
        notes.not_checked(PARTLY)
        return True
    if looks_like_elr(message, header):
        notes.report.fired("profile")
        text = "A laboratory report to public health must name its profile, and MSH-21 is empty"
        notes.add("major", "profile.undeclared", "MSH-21", text, suggestion="For example PHLabReport-NoAck^ELR251R1_Rcvr_Prof^2.16.840.1.113883.9.11^ISO")
    elif header.field(21):
        notes.not_checked(NOT_CARRIED)
    return False
