"""The main requirements of C-CDA's templates, for documents without a rule file (C-CDA R2.1, volume 2).

The sections of document types, the required entries of sections, and the elements and statuses of common entries. All rules are in HL7's Schematron.
"""

from __future__ import annotations

from typing import Final, NamedTuple

_T: Final = "2.16.840.1.113883.10.20.22."

ALLERGIES: Final = ("Allergies", f"{_T}2.6", f"{_T}2.6.1")
MEDICATIONS: Final = ("Medications", f"{_T}2.1", f"{_T}2.1.1")
PROBLEMS: Final = ("Problems", f"{_T}2.5", f"{_T}2.5.1")
RESULTS: Final = ("Results", f"{_T}2.3", f"{_T}2.3.1")
VITALS: Final = ("Vital Signs", f"{_T}2.4", f"{_T}2.4.1")
SOCIAL: Final = ("Social History", f"{_T}2.17")
REFERRAL: Final = ("Reason for Referral", "1.3.6.1.4.1.19376.1.5.3.1.3.1")
_ANESTHESIA: Final = ("Anesthesia", f"{_T}2.25")
_COMPLICATIONS: Final = ("Complications", f"{_T}2.37")
_DESCRIPTION: Final = ("Procedure Description", f"{_T}2.27")

#: A section's title, and the roots of its templates (entries optional, entries required), of which one must be present.
Wanted = tuple[str, ...]
#: Root of a document type → its name and its required sections.
DOCUMENTS: Final[dict[str, tuple[str, tuple[Wanted, ...]]]] = {
    f"{_T}1.2": ("Continuity of Care Document", (ALLERGIES, MEDICATIONS, PROBLEMS, RESULTS, SOCIAL, VITALS)),
    f"{_T}1.3": (
        "History and Physical",
        (
            ALLERGIES,
            ("Family History", f"{_T}2.15"),
            ("General Status", "2.16.840.1.113883.10.20.2.5"),
            ("Past Medical History", f"{_T}2.20"),
            MEDICATIONS,
            ("Physical Exam", "2.16.840.1.113883.10.20.2.10"),
            RESULTS,
            ("Review of Systems", "1.3.6.1.4.1.19376.1.5.3.1.3.18"),
            SOCIAL,
            VITALS,
        ),
    ),
    f"{_T}1.4": ("Consultation Note", (("History of Present Illness", "1.3.6.1.4.1.19376.1.5.3.1.3.4"), ALLERGIES, PROBLEMS)),
    f"{_T}1.5": ("Diagnostic Imaging Report", (("Findings", "2.16.840.1.113883.10.20.6.1.2"),)),
    f"{_T}1.6": (
        "Procedure Note",
        (_COMPLICATIONS, _DESCRIPTION, ("Procedure Indications", f"{_T}2.29"), ("Postprocedure Diagnosis", f"{_T}2.36")),
    ),
    f"{_T}1.7": (
        "Operative Note",
        (
            _ANESTHESIA,
            _COMPLICATIONS,
            ("Preoperative Diagnosis", f"{_T}2.34"),
            ("Estimated Blood Loss", "2.16.840.1.113883.10.20.18.2.9"),
            ("Procedure Findings", f"{_T}2.28"),
            ("Specimens Taken", f"{_T}2.31"),
            _DESCRIPTION,
            ("Postoperative Diagnosis", f"{_T}2.35"),
        ),
    ),
    f"{_T}1.8": (
        "Discharge Summary",
        (
            ALLERGIES,
            ("Hospital Course", "1.3.6.1.4.1.19376.1.5.3.1.3.5"),
            ("Discharge Diagnosis", f"{_T}2.24"),
            ("Plan of Treatment", f"{_T}2.10"),
        ),
    ),
    f"{_T}1.9": ("Progress Note", ()),
    f"{_T}1.10": ("Unstructured Document", ()),
    f"{_T}1.13": ("Transfer Summary", (ALLERGIES, MEDICATIONS, PROBLEMS, RESULTS, VITALS, REFERRAL)),
    f"{_T}1.14": ("Referral Note", (PROBLEMS, ALLERGIES, MEDICATIONS, REFERRAL)),
    f"{_T}1.15": ("Care Plan", (("Health Concerns", f"{_T}2.58"), ("Goals", f"{_T}2.60"))),
}

#: Root of a section with required entries → its title, its LOINC code, the element of the entry, and the entry's possible roots.
SECTIONS: Final[dict[str, tuple[str, str, str, tuple[str, ...]]]] = {
    ALLERGIES[2]: ("Allergies", "48765-2", "act", (f"{_T}4.30",)),
    MEDICATIONS[2]: ("Medications", "10160-0", "substanceAdministration", (f"{_T}4.16",)),
    PROBLEMS[2]: ("Problems", "11450-4", "act", (f"{_T}4.3",)),
    RESULTS[2]: ("Results", "30954-2", "organizer", (f"{_T}4.1",)),
    VITALS[2]: ("Vital Signs", "8716-3", "organizer", (f"{_T}4.26",)),
    f"{_T}2.7.1": ("Procedures", "47519-4", "", (f"{_T}4.12", f"{_T}4.13", f"{_T}4.14")),
    f"{_T}2.2.1": ("Immunizations", "11369-6", "substanceAdministration", (f"{_T}4.52",)),
    f"{_T}2.22.1": ("Encounters", "46240-8", "encounter", (f"{_T}4.49",)),
}


class Entry(NamedTuple):
    """Requirements of an entry's template: child elements, allowed status codes (none: any), a template inside, and `low` in its time."""

    title: str
    element: str
    children: tuple[str, ...]
    statuses: frozenset[str] = frozenset()
    holds: str = ""
    has_low: bool = False


_COMPLETED: Final = frozenset({"completed"})
_CONCERN: Final = frozenset({"completed", "aborted", "active", "suspended"})
_RESULT: Final = frozenset({"aborted", "active", "cancelled", "completed", "held", "suspended"})
_PROCEDURE: Final = frozenset({"completed", "active", "aborted", "cancelled"})
_ALL: Final = ("id", "code", "statusCode", "effectiveTime", "value")

#: Root of an entry's template → its requirements.
ENTRIES: Final[dict[str, Entry]] = {
    f"{_T}4.1": Entry("Result Organizer", "organizer", ("id", "code", "statusCode", "component"), _RESULT, f"{_T}4.2"),
    f"{_T}4.2": Entry("Result Observation", "observation", _ALL, _RESULT),
    f"{_T}4.3": Entry("Problem Concern Act", "act", ("id", "code", "statusCode", "effectiveTime", "entryRelationship"), _CONCERN, f"{_T}4.4", has_low=True),
    f"{_T}4.4": Entry("Problem Observation", "observation", _ALL, _COMPLETED, has_low=True),
    f"{_T}4.7": Entry("Allergy Observation", "observation", _ALL, _COMPLETED, has_low=True),
    f"{_T}4.8": Entry("Severity Observation", "observation", ("code", "statusCode", "value"), _COMPLETED),
    f"{_T}4.9": Entry("Reaction Observation", "observation", ("id", "code", "statusCode", "value"), _COMPLETED),
    f"{_T}4.13": Entry("Procedure Activity Observation", "observation", ("id", "code", "statusCode", "effectiveTime", "value"), _PROCEDURE),
    f"{_T}4.14": Entry("Procedure Activity Procedure", "procedure", ("id", "code", "statusCode"), _PROCEDURE),
    f"{_T}4.16": Entry("Medication Activity", "substanceAdministration", ("id", "statusCode", "effectiveTime", "consumable")),
    f"{_T}4.26": Entry("Vital Signs Organizer", "organizer", ("id", "code", "statusCode", "effectiveTime", "component"), _COMPLETED, f"{_T}4.27"),
    f"{_T}4.27": Entry("Vital Sign Observation", "observation", _ALL, _COMPLETED),
    f"{_T}4.30": Entry("Allergy Concern Act", "act", ("id", "code", "statusCode", "effectiveTime", "entryRelationship"), _CONCERN, f"{_T}4.7"),
    f"{_T}4.38": Entry("Social History Observation", "observation", ("id", "code", "statusCode"), _COMPLETED),
    f"{_T}4.45": Entry("Family History Organizer", "organizer", ("statusCode", "subject", "component"), _COMPLETED, f"{_T}4.46"),
    f"{_T}4.46": Entry("Family History Observation", "observation", ("id", "code", "statusCode", "value"), _COMPLETED),
    f"{_T}4.49": Entry("Encounter Activity", "encounter", ("id", "code", "effectiveTime")),
    f"{_T}4.52": Entry("Immunization Activity", "substanceAdministration", ("id", "statusCode", "effectiveTime", "consumable")),
    f"{_T}4.78": Entry("Smoking Status", "observation", ("code", "statusCode", "effectiveTime", "value"), _COMPLETED),
}
