"""The FHIR R4 validator: bytes in, a report out, whatever the bytes are."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from touchstone.scorers.clinical.formats.fhir.attachments import check_attachments
from touchstone.scorers.clinical.formats.fhir.bundles import check_bundles
from touchstone.scorers.clinical.formats.fhir.codings import check_codings
from touchstone.scorers.clinical.formats.fhir.definitional_resources import check_definitions
from touchstone.scorers.clinical.formats.fhir.document import Document, Place, breaking
from touchstone.scorers.clinical.formats.fhir.duplicate_findings import drop_duplicates
from touchstone.scorers.clinical.formats.fhir.engine import Engine
from touchstone.scorers.clinical.formats.fhir.extensions import check_extensions
from touchstone.scorers.clinical.formats.fhir.measure_reports import check_measure_reports
from touchstone.scorers.clinical.formats.fhir.narrative import check_narratives
from touchstone.scorers.clinical.formats.fhir.options import Options
from touchstone.scorers.clinical.formats.fhir.parsing import check_duplicate_members, parse
from touchstone.scorers.clinical.formats.fhir.profiles.checker import check_profiles
from touchstone.scorers.clinical.formats.fhir.profiles.library import library
from touchstone.scorers.clinical.formats.fhir.profiles.us_core_codes import check_us_core_codes
from touchstone.scorers.clinical.formats.fhir.questionnaire_responses import check_responses
from touchstone.scorers.clinical.formats.fhir.references import Resolver, check_identifiers, check_references
from touchstone.scorers.clinical.formats.fhir.shared_checks import check_shared
from touchstone.scorers.clinical.formats.fhir.signatures import check_signatures
from touchstone.scorers.clinical.formats.fhir.tables import definitions
from touchstone.scorers.clinical.formats.fhir.text_rules import check_texts
from touchstone.scorers.clinical.formats.fhir.walk import Walk
from touchstone.scorers.clinical.formats.fhir.watermarks import check_marks
from touchstone.scorers.clinical.report import Context, Report

#: Marks a template for tests (HL7's tools, matchetypes).
TEMPLATE: Final = "http://hl7.org/fhir/tools/StructureDefinition/matchetype"


@lru_cache(maxsize=1)
def engine() -> Engine:
    """Return the shared engine."""
    return Engine()


def validate(data: bytes, context: Context | None = None, options: Options | None = None) -> Report:
    """Validate one JSON, NDJSON or XML document against FHIR R4. Never raises because of the document."""
    report = Report()
    document = Document(report, context or Context(), options or Options())
    parsed = parse(data, document)
    if parsed is None:
        return report
    for value, text, line in parsed:
        one = Document(report, document.context, document.options, good_codings=engine().good_codings, counts=document.counts, skipped=document.skipped)
        _validate_value(value, text, one, line)
    return report


def validate_resource(resource: dict[str, Any], context: Context | None = None, options: Options | None = None) -> Report:
    """Validate a parsed resource. Duplicate members can no longer be seen."""
    report = Report()
    _validate_value(resource, None, Document(report, context or Context(), options or Options(), good_codings=engine().good_codings), None)
    return report


def is_valid(report: Report) -> bool:
    """Return True if a report means valid FHIR R4: rules were evaluated, and none that a conformant resource must keep was broken."""
    return any(report.rules_fired.values()) and not any(breaking(code, severity) for code, severity in report.counts())


def _validate_value(value: Any, text: bytes | None, document: Document, number: int | None) -> None:
    if not isinstance(value, dict):
        document.add("critical", "fhir.json.object", None, "a FHIR document is a JSON object")
        return
    name = value.get("resourceType")
    shown = name if isinstance(name, str) and name in definitions().resources else "Resource"
    outer: Place | None = None if number is None else (None, "Line", number)
    place: Place = (outer, shown, None)
    if _is_template(value):
        _template(document, place)
        return
    since = len(document.report.findings)
    try:
        frame = Walk(engine(), document).run(value, place)
    except Exception as error:  # noqa: BLE001 - no document may make the caller fail
        document.add("critical", "fhir.structure.failed", place, f"could not be walked: {type(error).__name__}")
        return
    if text is not None and not document.counts["fhir.structure.depth", "critical"] and frame is not None:
        check_duplicate_members(text, document.members, document, place)
    if frame is not None:
        _rules(document)
        drop_duplicates(document.report, since, document.beyond)


def _is_template(value: dict[str, Any]) -> bool:
    """True for a template that tests compare resources with: its values may be patterns such as $uuid$."""
    listed = value.get("extension")
    return isinstance(listed, list) and any(isinstance(one, dict) and one.get("url") == TEMPLATE for one in listed)


def _template(document: Document, place: Place) -> None:
    document.report.fired("structure")
    document.skip("a template for tests", "its values may be patterns, so it is not validated as a resource")
    if not document.options.templates:
        message = "this is a template for tests (it has HL7's extension matchetype), not a resource"
        document.add("major", "fhir.structure.template", place, message, suggestion="Validate the resource that is compared with it, or take the extension out")


def _rules(document: Document) -> None:
    """Run the rules that need more than one object. A rule that fails is reported as not checked; the others still run."""
    resolver = Resolver(document)
    at_hand = library(document.options.packages, document.options.installed_packages)
    rules: dict[str, Callable[[], None]] = {
        "references": lambda: check_references(document, resolver),
        "identifiers": lambda: check_identifiers(document),
        "bundle": lambda: check_bundles(document, resolver),
        "narrative": lambda: check_narratives(document),
        "extensions": lambda: check_extensions(document, at_hand.extension),
        "US Core codes": lambda: check_us_core_codes(document),
        "codings": lambda: check_codings(document, at_hand.system, at_hand.values.holds, at_hand.displays),
        "definitions": lambda: check_definitions(document, at_hand.packages.find),
        "questionnaires": lambda: check_responses(document, resolver, at_hand),
        "measures": lambda: check_measure_reports(document, resolver, at_hand),
        "attachments": lambda: check_attachments(document),
        "signatures": lambda: check_signatures(document),
        "texts": lambda: check_texts(document),
        "profiles": lambda: check_profiles(document, resolver, at_hand),
    }
    if document.options.clinical:
        rules["shared checks"] = lambda: check_shared(document, resolver)
    if document.options.marks:
        rules["watermarks"] = lambda: check_marks(document)
    for name, rule in rules.items():
        try:
            rule()
        except Exception as error:  # noqa: BLE001 - a rule that fails must not stop the others, nor the caller
            document.skip(name, f"the rule failed: {type(error).__name__}")
            # Not a fault of the document, but not a pass either: part of it was not checked.
            document.add("critical", "internal.rule", None, f"The rules of {name} failed ({type(error).__name__}); not all was checked")
