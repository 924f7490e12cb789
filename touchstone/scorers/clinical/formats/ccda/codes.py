"""Coded values: form and membership in their code systems, and the value sets that the specification names (Priority 3)."""

from __future__ import annotations

import time
from typing import Any, Final, NamedTuple

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.checks.displays import check_display, is_of_another_code
from touchstone.scorers.clinical.checks.languages import SYSTEM as LANGUAGES
from touchstone.scorers.clinical.checks.registries import problem_of
from touchstone.scorers.clinical.checks.routes import check_route
from touchstone.scorers.clinical.checks.terminology import CodeCheck, check_code, code_system
from touchstone.scorers.clinical.checks.valuesets import codes_of
from touchstone.scorers.clinical.formats.ccda.document import Document
from touchstone.scorers.clinical.formats.ccda.elements import carries, child, is_null, local, tag
from touchstone.scorers.clinical.formats.ccda.options import SOURCE_CODES_MAX, SOURCE_S_MAX

#: Code systems of the value sets below.
_GENDER: Final = "2.16.840.1.113883.5.1"
_MARITAL: Final = "2.16.840.1.113883.5.2"
_ACT: Final = "2.16.840.1.113883.5.4"
_STATUS: Final = "2.16.840.1.113883.5.14"
_CONFIDENTIALITY: Final = "2.16.840.1.113883.5.25"
_INTERPRETATION: Final = "2.16.840.1.113883.5.83"
_RACE: Final = "2.16.840.1.113883.6.238"
_SNOMED: Final = "2.16.840.1.113883.6.96"
_SEVERITY: Final = "2.16.840.1.113883.10.20.22.4.8"
#: Value set Reaction Severity (2.16.840.1.113883.3.88.12.3221.6.8), with the SNOMED CT codes of its later versions.
_SEVERITIES: Final = frozenset({"255604002", "6736007", "24484000", "371923003", "371924009", "399166001", "442452003"})
_CONFIDENTIALITIES: Final = frozenset({"N", "R", "V", "L", "M", "U", "B", "D", "I", "ETH", "HIV", "PSY", "SDV", "C", "S", "T"})


class _Bound(NamedTuple):
    """A value set that an element is bound to. It is checked only if the element names the set's code system, or none."""

    name: str
    title: str
    system: str
    severity: Severity


#: Elements for which C-CDA requires the code system too.
_OF_PERSONS: Final = {"administrativeGenderCode": _GENDER, "maritalStatusCode": _MARITAL, "raceCode": _RACE, "ethnicGroupCode": _RACE}
_BOUND: Final = {
    "administrativeGenderCode": _Bound("v3-AdministrativeGender", "Administrative gender", _GENDER, "major"),
    "maritalStatusCode": _Bound("marital-status", "Marital status", _MARITAL, "minor"),
    "statusCode": _Bound("v3-ActStatus", "Act status", _STATUS, "major"),
    "interpretationCode": _Bound("observation-interpretation", "Observation interpretation", _INTERPRETATION, "minor"),
}


def check_value_sets(document: Document) -> None:
    """Check the codes of elements that the specification binds to a value set."""
    for element in document.having("code"):
        if is_null(element):
            continue
        name, code = local(element), element.get("code")
        if name in _OF_PERSONS:
            _check_system(document, element, _OF_PERSONS[name])
        if name in _BOUND:
            bound = _BOUND[name]
            codes = codes_of(bound.name)
            if element.get("codeSystem") in {None, bound.system} and codes is not None:
                _check_in(document, element, bound.title, codes, bound.severity)
        elif name in {"languageCode", "confidentialityCode", "raceCode", "ethnicGroupCode", "code"}:
            _check_other(document, element, name, code)
    for observation in document.root.iter(tag("observation")):
        value = child(observation, "value")
        if value is not None and value.get("code") and value.get("codeSystem") == _SNOMED and carries(observation, _SEVERITY):
            _check_in(document, value, "Reaction severity", _SEVERITIES, "minor")


def is_no_status(status: Any) -> bool:
    """True if a status has a code that no act can have, which `check_value_sets` reports."""
    codes, code = codes_of("v3-ActStatus"), status.get("code")
    return code is not None and codes is not None and status.get("codeSystem") in {None, _STATUS} and code not in codes


def _check_system(document: Document, element: Any, system: str) -> None:
    document.report.fired("valuesets")
    found = element.get("codeSystem")
    if found is not None and found != system:
        message = "the value set's codes are of another code system, so nothing says what the code means here"
        document.add("minor", "ccda.valuesets.system", element, message, suggestion=f"Write codeSystem={system}", value=found, at="codeSystem")


def _check_other(document: Document, element: Any, name: str, code: str) -> None:
    system, parent = element.get("codeSystem"), element.getparent()
    if name == "languageCode":
        document.report.fired("valuesets")
        problem = problem_of(LANGUAGES, code)
        if problem is not None:
            document.add("minor", "ccda.valuesets.language", element, problem[1], suggestion="Write a tag such as en-US", value=code)
    elif name == "confidentialityCode" and system in {None, _CONFIDENTIALITY}:
        _check_in(document, element, "Confidentiality", _CONFIDENTIALITIES, "minor", shown=frozenset({"N", "R", "V"}))
    elif name == "raceCode" and system in {None, _RACE} and "sdtc" not in element.tag and parent.find(tag("raceCode")) is element:
        _check_in(document, element, "OMB race category", codes_of("omb-race-category"), "minor")
    elif name == "ethnicGroupCode" and system in {None, _RACE} and "sdtc" not in element.tag:
        _check_in(document, element, "OMB ethnicity category", codes_of("omb-ethnicity-category"), "minor")
    elif name == "code" and system == _ACT and local(parent) in {"encounter", "encompassingEncounter"}:
        _check_in(document, element, "Encounter class", codes_of("v3-ActEncounterCode"), "minor")


def _check_in(document: Document, element: Any, title: str, codes: frozenset[str] | None, severity: Severity, *, shown: frozenset[str] | None = None) -> None:
    """Report a code that is not in its value set. `shown`: codes for the message, if not all of the set."""
    document.report.fired("valuesets")
    if element.get("code") not in (codes or ()):
        listed = ", ".join(sorted(shown or codes or ())[:12])
        document.add(severity, "ccda.valuesets.code", element, f"code is not one of {title}: {listed}", value=element.get("code"), at="code")


def check_terminology(document: Document) -> None:
    """Check every code of a known system: its form, and its membership by tables and servers."""
    source, report = document.options.source, document.report
    checked: dict[tuple[str, str], CodeCheck] = {}
    asked, begun = 0, time.monotonic()
    displaced: dict[tuple[str, str, str | None], bool] = {}
    for element in document.having("code"):
        code, system = element.get("code"), element.get("codeSystem")
        if system is None or is_null(element):
            continue
        display = element.get("displayName")
        shown = (system, code, display)
        if shown not in displaced:
            displaced[shown] = is_of_another_code(*shown)
        if displaced[shown]:
            document.add_all(check_display(system, code, display, f"{document.path(element)}/@displayName", document.context))
        if local(element) == "routeCode":
            document.add_all(check_route(system, f"{document.path(element)}/@codeSystem", document.context))
        if code_system(system) is None and source is None:
            continue
        report.fired("terminology")
        found = checked.get((system, code))
        if found is None:
            may_ask = source is not None and asked < SOURCE_CODES_MAX and time.monotonic() - begun < SOURCE_S_MAX
            asked += may_ask
            document.check_time()
            found = checked[system, code] = check_code(system, code, "", document.context, source=source if may_ask else None)
        if found.reason is not None:
            document.skip("terminology", found.reason)
        if found.findings:
            path = f"{document.path(element)}/@code"
            document.add_all([one.model_copy(update={"path": path}) for one in found.findings])
