"""Why the verdicts of the two validators differ: errors that are set aside before verdicts are compared, and known classes of differences.

Each class has its reason in docs/fhir-differences.md. A difference that fits none is listed as unexplained.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from touchstone.scorers.clinical.conformance.not_known import SYSTEM, VALUE_SET, why_not_known
from touchstone.scorers.operation_outcome import Issue

#: Errors of the official validator that say only that something was not available: it then refuses every code of a system, right or wrong.
WITHOUT_SYSTEM: Final = "code systems that are not in the packages"
_WITHOUT_EXTENSION: Final = "extensions whose definition is not in the packages"
_URL_OF_EXTENSION: Final = re.compile(r"(?i)extension\[\d+\]\.url$")


@dataclass(frozen=True, slots=True)
class Class:
    """Differences that are meant: errors of one side, by their codes."""

    name: str
    side: str
    codes: re.Pattern[str]


CLASSES = (
    Class("reference form", "ours", re.compile(r"fhir\.references\.form")),
    Class("blank text", "ours", re.compile(r"fhir\.primitives\.blank")),
    Class("element with an id only", "ours", re.compile(r"fhir\.invariants\.ele-1")),
    Class("empty list of primitives", "ours", re.compile(r"fhir\.structure\.empty-list")),
    Class("system of a coding", "ours", re.compile(r"fhir\.codings\.(system|value-set)")),
    Class("form of the narrative", "ours", re.compile(r"fhir\.narrative\.(malformed|root|doctype)")),
    Class("language tag", "ours", re.compile(r"fhir\.bindings\.language")),
    Class("codes of US Core", "ours", re.compile(r"fhir\.bindings\.us-core")),
    Class(
        "MeasureReports",
        "official",
        re.compile(r"MEASURE_MR_(GRP_(STRAT_CODE_MISMATCH|UNK_CODE|MISSING_BY_CODE|POP_(UNK|MISSING)\w*)|SCORE_(REQUIRED|UNIT_\w+))"),
    ),
    Class("answers to a Questionnaire", "ours", re.compile(r"fhir\.questionnaires\.(answer|response)")),
    Class("order of slices", "ours", re.compile(r"fhir\.profiles\.slice-order")),
    Class("bounds in kelvin", "official", re.compile(r"TYPE_SPECIFIC_CHECKS_DT_QTY_M(IN|AX)_M(IN|AX)_NO_CONVERT")),
    Class("slices that it cannot evaluate", "official", re.compile(r"SLICING_CANNOT_BE_EVALUATED")),
    Class("source of a narrative's parts", "official", re.compile(r"XHTML_CONTROL_NO_SOURCE")),
    Class("version in the URL of an extension", "official", re.compile(r"Extension_EXT_Version_Invalid$")),
    Class("codes of HL7 terminology", "official", re.compile(r"Unknown_Code_in_Version")),
    Class("extensions published after R4", "official", re.compile(r"Extension_EXT(_Type|_SubExtension_Invalid|_Modifier_[NY]|[MP]_Context_Wrong(_VER)?)")),
    Class("fullUrl and references in Bundles", "official", re.compile(r"BUNDLE_ENTRY_URL_MATCHES_TYPE_ID|BUNDLE_BUNDLE_ENTRY_NOTFOUND_CANNOT")),
    Class("vital signs by code", "official", re.compile(r"VALIDATION_VAL_PROFILE_MINIMUM_MAGIC")),
    Class("relative canonical", "official", re.compile(r"TYPE_SPECIFIC_CHECKS_CANONICAL_ABSOLUTE")),
    Class("unknown address below hl7.org/fhir", "official", re.compile(r"Type_Specific_Checks_DT_URL_Resolve")),
    Class("scheme in capitals", "official", re.compile(r"Type_Specific_Checks_DT_Identifier_System|BUNDLE_ENTRY_URL_ABSOLUTE")),
    Class("OID of fewer than four numbers", "official", re.compile(r"Type_Specific_Checks_DT_OID_Valid")),
    Class("extension where a code is required", "official", re.compile(r"Terminology_TX_Code_ValueSet_MISSING")),
    Class("identifier that should be a URI", "official", re.compile(r"TYPE_SPECIFIC_CHECKS_DT_IDENTIFIER_IETF_SYSTEM_VALUE")),
)
#: Dates of different precision and the like: the official validator counts an invariant that is neither true nor false as broken.
OPEN_COMPARISON = "comparison that the values leave open"


def set_aside(issue: Issue, ours: Collection[str] = ()) -> str | None:
    """Why an error does not count against a document, None if it does. `ours`: the codes of Touchstone's errors, which may know more."""
    lacking = why_not_known(issue)
    if lacking is not None and lacking.what in {SYSTEM, VALUE_SET}:
        return WITHOUT_SYSTEM
    is_address = issue.code == "Type_Specific_Checks_DT_URL_Resolve" and _URL_OF_EXTENSION.search(issue.location) and "/StructureDefinition/" in issue.text
    return _WITHOUT_EXTENSION if is_address and "fhir.extensions.unknown" not in ours else None


def explanations(official: Sequence[str], ours: Sequence[str], left_open: Collection[str] = ()) -> list[str]:
    """The classes of a difference in verdict, from the error codes of the side that has any; empty if one of them is in no class.

    `left_open`: what Touchstone's report names as not checked.
    """
    side, codes = ("official", official) if official else ("ours", ours)
    classes = [_class(side, code, left_open) for code in codes]
    return [] if None in classes else sorted({name for name in classes if name is not None})


def _class(side: str, code: str, left_open: Collection[str]) -> str | None:
    key = code.rpartition("#")[2]
    if side == "official" and "#" in code and f"invariant {key}" in left_open:
        return OPEN_COMPARISON
    return next((one.name for one in CLASSES if one.side == side and one.codes.fullmatch(code)), None)
