"""Separates what HL7's FHIR validator found from what it could not look up: code systems, value sets and profiles that it does not have.

The message id decides. Two kinds of ids leave it open: those about membership in a value set are given for wrong codes and for unknown code systems alike,
and some issues have no id. For these the whole text is compared with the validator's own message templates (`Messages.properties` of
org.hl7.fhir.utilities 6.10), which name the code system. Any other id is a finding.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

from touchstone.schemas.result import NotChecked
from touchstone.scorers.clinical.checks.terminology import code_system
from touchstone.scorers.clinical.formats.fhir.tables import code_systems, definitions, listed_sets
from touchstone.scorers.operation_outcome import Issue, Outcome

SYSTEM: Final = "codes of a code system that the validator does not have"
VALUE_SET: Final = "codes of a value set that the validator cannot expand"
PROFILE: Final = "a profile or other definition that the validator does not have"
CONTENT: Final = "attachments behind an address, because the validator has no network"
#: Ids that always mean that something could not be looked up → what.
_IDS: Final = {
    "UNKNOWN_CODESYSTEM": SYSTEM,
    "UNKNOWN_CODESYSTEM_VERSION": SYSTEM,
    "UNKNOWN_CODESYSTEM_VERSION_NONE": SYSTEM,
    "UNKNOWN_CODESYSTEM_VERSION_UNK": SYSTEM,
    "UNKNOWN_CODESYSTEM_EXP": SYSTEM,
    "UNKNOWN_CODESYSTEM_VERSION_EXP": SYSTEM,
    "UNKNOWN_CODESYSTEM_VERSION_EXP_NONE": SYSTEM,
    "UNKNOWN_CODESYSTEM_CODING_NOT_CHECKED": SYSTEM,
    "Error_validating_code_running_without_terminology_services": SYSTEM,
    "TERMINOLOGY_TX_SYSTEM_NOT_USABLE": SYSTEM,
    "TERMINOLOGY_TX_SYSTEM_UNSUPPORTED": SYSTEM,
    "UNABLE_TO_RESOLVE_SYSTEM_SYSTEM_IS_INDETERMINATE": SYSTEM,
    "Error_expanding_ValueSet_running_without_terminology_services": VALUE_SET,
    "Terminology_TX_Binding_NoServer": VALUE_SET,
    "Terminology_TX_NoValid_15": VALUE_SET,
    "TERMINOLOGY_TX_NOSVC_BOUND_EXT": VALUE_SET,
    "TERMINOLOGY_TX_NOSVC_BOUND_REQ": VALUE_SET,
    "Terminology_TX_ValueSet_NotFound": VALUE_SET,
    "UNABLE_TO_CHECK_IF_THE_PROVIDED_CODES_ARE_IN_THE_VALUE_SET_": VALUE_SET,
    "UNABLE_TO_CHECK_IF_THE_PROVIDED_CODES_ARE_IN_THE_VALUE_SET_CS": VALUE_SET,
    "UNABLE_TO_CHECK_IF_THE_PROVIDED_CODES_ARE_IN_THE_VALUE_SET_VS": VALUE_SET,
    "VALUESET_TOO_COSTLY": VALUE_SET,
    "VALUESET_TOO_COSTLY_COUNT": VALUE_SET,
    "VALUESET_TOO_COSTLY_TIME": VALUE_SET,
    "VS_EXP_IMPORT_UNK": VALUE_SET,
    "VS_EXP_IMPORT_UNK_PINNED": VALUE_SET,
    "Validation_VAL_Profile_Unknown": PROFILE,
    "VALIDATION_VAL_PROFILE_UNKNOWN_ERROR": PROFILE,
    "VALIDATION_VAL_PROFILE_UNKNOWN_ERROR_NETWORK": PROFILE,
    "VALIDATION_VAL_PROFILE_UNKNOWN_NOT_POLICY": PROFILE,
    "TYPE_SPECIFIC_CHECKS_DT_CANONICAL_RESOLVE_NC": PROFILE,
}
#: Ids of canonical URLs and addresses; their texts tell what the validator lacked.
_DEFINITIONS: Final = frozenset({"TYPE_SPECIFIC_CHECKS_DT_CANONICAL_TYPE", "Type_Specific_Checks_DT_URL_Resolve"})
#: Ids about membership in a value set.
_MEMBERSHIP: Final = re.compile(
    r"Terminology_TX_(NoValid_\w+|Confirm_\w+|Error_Coding\w*|Error_CodeableConcept\w*)|TX_GENERAL_CC_ERROR_MESSAGE"
    r"|None_of_the_provided_codes?_\w+|UNABLE_TO_INFER_CODESYSTEM"
)
_OF_SYSTEM: Final = re.compile(
    r"A definition for (?:the code system|CodeSystem) '(?P<system>[^']*)'(?: version '[^']*')? could not be found,"
    r" so (?:the code cannot be validated|the value set cannot be expanded|this coding was not checked)"
    r"|Unable to validate code '[^']*' in system '(?P<without>[^']*)' because the validator is running without terminology services"
)
_OF_VALUE_SET: Final = re.compile(
    r"Unable to check whether the code is in the value set '[^']*'(?: because the (?:code system|value set) \S+ was not found)?"
    r"|Unable to find included value set '[^']*'(?: version '[^']*')?|Error expanding ValueSet: running without terminology services"
    r"|The value set '[^']*' expansion has too many codes to produce.*"
)
#: The validator's own failure to ask for a terminology server that it does not have, as Java words it.
_CRASH: Final = re.compile(r"(?:Error )?Cannot invoke \"org\.hl7\.fhir\.[\w.$]+\([\w.$, ]*\)\" because \"[^\"]*\" is null(?: validating \w+)?:?.*")
_REASON: Final = re.compile(r"\(error message = (?P<reason>.*)\)\s*\Z", re.DOTALL)
_INFERRED: Final = re.compile(r"The System URI could not be determined for the code '.*' in the ValueSet '(?P<value_set>[^'|]+)(?:\|[^']*)?'", re.DOTALL)
#: A canonical URL that resolves, at an element whose profile leaves the validator without a type to expect.
_MISREAD: Final = re.compile(r"Canonical URL '[^']*' refers to a resource that has the wrong type\. Found \w+ expecting one of \[\]")
#: An address of an extension; R4's core package has only those of R4.
_EXTENSION: Final = re.compile(r"No definition could be found for URL value '(?P<url>[^']*)'")
_NOT_FETCHED: Final = re.compile(r"Error fetching the content: .* Access to the internet is not allowed by local security policy", re.DOTALL)
#: The codings in a message: `(http://loinc.org#1234-5, …)`, `(codes = …)`.
_CODING: Final = re.compile(r"(?:[(]|codes? = |, )(?P<system>(?:https?://|urn:)[^#\s,()]+)#")
_NAMED_MAX: Final = 8


@dataclass(frozen=True, slots=True)
class NotKnown:
    """Something that the validator could not look up. `system`: the code system, if the message names one."""

    what: str
    system: str = ""


def separated(outcome: Outcome) -> Outcome:
    """The same verdict with the issues in `not_known` that say nothing about the document."""
    missing = frozenset(system for issue in outcome.issues for system in _systems_of(issue.text))
    found: list[Issue] = []
    not_known = list(outcome.not_known)
    for issue in outcome.issues:
        (found if why_not_known(issue, missing) is None else not_known).append(issue)
    return replace(outcome, issues=tuple(found), not_known=tuple(not_known))


def why_not_known(issue: Issue, missing: Collection[str] = ()) -> NotKnown | None:
    """What the validator lacked for an issue; None for a finding. `missing`: code systems that other issues of the document call unknown."""
    systems = _systems_of(issue.text)
    if issue.code in _IDS:
        return NotKnown(_IDS[issue.code], next(iter(systems), ""))
    if not issue.has_id:
        if _OF_SYSTEM.fullmatch(issue.text.strip()):
            return NotKnown(SYSTEM, systems[0])
        return NotKnown(CONTENT) if _NOT_FETCHED.fullmatch(issue.text.strip()) else None
    if issue.code in _DEFINITIONS:
        return NotKnown(PROFILE) if _is_of_a_definition(issue) else None
    return _of_membership(issue, missing) if _MEMBERSHIP.fullmatch(issue.code) else None


def _of_membership(issue: Issue, missing: Collection[str]) -> NotKnown | None:
    reason = _REASON.search(issue.text)
    sentences = [issue.text.strip(), *(reason["reason"].split("; ") if reason is not None else ())]
    for sentence in sentences:
        if (unknown := _OF_SYSTEM.match(sentence)) is not None:
            return NotKnown(SYSTEM, unknown["system"] or unknown["without"])
        if _OF_VALUE_SET.fullmatch(sentence) or _CRASH.fullmatch(sentence) or _is_open(_INFERRED.fullmatch(sentence), issue):
            return NotKnown(VALUE_SET)
    of_missing = next((one["system"] for one in _CODING.finditer(issue.text) if one["system"] in missing), None)
    return None if of_missing is None else NotKnown(SYSTEM, of_missing)


def as_not_checked(place: str, outcome: Outcome) -> list[NotChecked]:
    """What was not checked, for results: the number of issues, and the code systems that the tables know, because a document can make up others."""
    missing = frozenset(system for issue in outcome.not_known for system in _systems_of(issue.text))
    of = [why_not_known(issue, missing) or NotKnown(VALUE_SET) for issue in outcome.not_known]
    said = []
    for what, count in Counter(one.what for one in of).items():
        names = dict.fromkeys(name for one in of if one.what == what and (name := _title(one.system)))
        listed = f" ({', '.join([*names][:_NAMED_MAX])}{', …' if len(names) > _NAMED_MAX else ''})" if names else ""
        said.append(NotChecked(check=f"{place}: {what}{listed}".removeprefix(": "), reason=f"{count} {'issue' if count == 1 else 'issues'} of the validator"))
    return said


def _systems_of(text: str) -> list[str]:
    """The code systems that a message says are unknown."""
    return [one["system"] or one["without"] or "" for one in _OF_SYSTEM.finditer(text)]


def _is_open(inferred: re.Match[str] | None, issue: Issue) -> bool:
    """True if the validator refuses every code of a value set, as of MIME types, because no package lists them.

    R4's own value sets are in the tables. Of another it is not known, and only an error counts as a finding.
    """
    if inferred is None:
        return False
    bound, url = definitions().values, inferred["value_set"]
    return not bound[url] if url in bound else not issue.breaks and url not in listed_sets()


def _is_of_a_definition(issue: Issue) -> bool:
    """True for a canonical URL that was resolved and misread, and for an extension that HL7 publishes in another package than the validator's."""
    if issue.code == "TYPE_SPECIFIC_CHECKS_DT_CANONICAL_TYPE":
        return _MISREAD.fullmatch(issue.text.strip()) is not None
    address = _EXTENSION.fullmatch(issue.text.strip())
    return address is not None and address["url"] in definitions().extensions


def _title(system: str) -> str:
    """The name of a code system that the tables know; empty for others, which a document can make up."""
    known = code_system(system)
    return known.title if known is not None else system if system in code_systems() else ""
