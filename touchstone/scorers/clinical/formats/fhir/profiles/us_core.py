"""The invariants of US Core, known without its package: by the profile that a resource claims, or the one asked for.

A package at hand says what its version says. These rules stand in where none is, and add what later versions say (reported as minor: the version that is
installed does not ask for it). Expressions are those of US Core 3.1.1 to 8.0.0 (HL7, CC0-1.0), read as `fhirpath.repairs` reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from touchstone.scorers.clinical.formats.fhir.tables import Invariant, compile_invariant

URL = "http://hl7.org/fhir/us/core/StructureDefinition/"
#: The newest version that these rules are known of: a later one may have dropped some.
VERSION_KNOWN = (8, 0, 0)
_UCUM = "http://unitsofmeasure.org"
_NPI = "http://hl7.org/fhir/sid/us-npi"
_CLIA = "urn:oid:2.16.840.1.113883.4.7"
_NAIC = "urn:oid:2.16.840.1.113883.6.300"
_REPORTED = "(status='partial' or status='preliminary' or status='final' or status='amended' or status='corrected' or status='appended')"
_RESULTS = ("us-core-observation-lab", "us-core-observation-clinical-result", "us-core-observation-screening-assessment")
_NPI_SUM = "+".join(
    f"(value.substring({place},1).toInteger())" if place % 2 else f"(value.substring({place},1).toInteger().select(iif($this<5, $this*2, ($this*2)-9)))"
    for place in range(10)
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One invariant. `at`: the element it is stated on, empty for the resource; `where`: a system that the element's identifier must have, or empty."""

    key: str
    profiles: tuple[str, ...]
    type: str
    severity: str
    human: str
    expression: str
    at: str = ""
    where: str = ""

    @property
    def urls(self) -> tuple[str, ...]:
        """The canonical URLs of the profiles that state it."""
        return tuple(URL + name for name in self.profiles)


RULES = (
    Rule("pd-1", ("us-core-practitionerrole",), "PractitionerRole", "error", "telecom or endpoint must be there", "telecom or endpoint"),
    Rule(
        "provenance-1",
        ("us-core-provenance",),
        "Provenance",
        "error",
        "a practitioner or device acts on behalf of somebody",
        "who.exists((resolve() is Practitioner) or (resolve() is Device)) implies onBehalfOf.exists()",
        "agent",
    ),
    Rule(
        "us-core-1",
        _RESULTS,
        "Observation",
        "error",
        "a date is given at least to the day",
        "$this is dateTime implies $this.toString().length() >= 10",
        "effective",
    ),
    Rule(
        "us-core-2",
        (*_RESULTS, "us-core-observation-sexual-orientation"),
        "Observation",
        "error",
        "without components or members there must be a value or a dataAbsentReason",
        "(component.empty() and hasMember.empty()) implies (dataAbsentReason.exists() or value.exists())",
    ),
    Rule(
        "us-core-3",
        (*_RESULTS, "us-core-smokingstatus"),
        "Observation",
        "error",
        "coded units of a quantity are UCUM's",
        f"value.ofType(Quantity).system.empty() or value.ofType(Quantity).system = '{_UCUM}'",
    ),
    Rule(
        "us-core-4",
        ("us-core-observation-lab",),
        "Observation",
        "warning",
        "coded results should be in SNOMED CT",
        "value.ofType(CodeableConcept).coding.system.empty() or value.ofType(CodeableConcept).coding.system contains 'http://snomed.info/sct'",
    ),
    Rule(
        "us-core-5",
        ("us-core-immunization",),
        "Immunization",
        "warning",
        "a CVX code should come with its NDC translation",
        "vaccineCode.coding.where(system='http://hl7.org/fhir/sid/ndc').empty()",
    ),
    Rule("us-core-6", ("us-core-documentreference",), "DocumentReference", "error", "an attachment has a url or data", "url or data", "content.attachment"),
    Rule(
        "us-core-6",
        ("us-core-patient",),
        "Patient",
        "error",
        "a name has a family or given name, or says why not",
        "(family.exists() or given.exists()) xor extension.where(url='http://hl7.org/fhir/StructureDefinition/data-absent-reason').exists()",
        "name",
    ),
    Rule(
        "us-core-7",
        ("us-core-procedure",),
        "Procedure",
        "error",
        "a procedure that is under way or done says when",
        "(status='completed' or status='in-progress') implies performed.exists()",
    ),
    Rule(
        "us-core-8",
        ("us-core-diagnosticreport-lab",),
        "DiagnosticReport",
        "error",
        "a report with results says of when",
        f"{_REPORTED} implies effective.exists()",
    ),
    Rule(
        "us-core-9",
        ("us-core-diagnosticreport-lab",),
        "DiagnosticReport",
        "error",
        "a report with results says when it was issued",
        f"{_REPORTED} implies issued.exists()",
    ),
    Rule(
        "us-core-10",
        ("us-core-diagnosticreport-note",),
        "DiagnosticReport",
        "error",
        "a report with results says of when",
        f"{_REPORTED} implies effective.exists()",
    ),
    Rule(
        "us-core-12",
        ("us-core-implantable-device",),
        "Device",
        "error",
        "a UDI has its carrier's text",
        "udiCarrier.empty() or (udiCarrier.carrierAIDC.exists() or udiCarrier.carrierHRF.exists())",
    ),
    Rule(
        "us-core-13",
        ("us-core-practitionerrole",),
        "PractitionerRole",
        "error",
        "a role names a practitioner, organization, service or location",
        "practitioner or organization or healthcareService or location",
    ),
    Rule("us-core-14", ("us-core-relatedperson",), "RelatedPerson", "error", "a related person has a name or relationship", "name or relationship"),
    Rule(
        "us-core-15",
        ("us-core-coverage",),
        "Coverage",
        "error",
        "the member's or the subscriber's id must be there",
        "identifier.type.coding.where(system='http://terminology.hl7.org/CodeSystem/v2-0203' and code='MB').exists() or subscriberId.exists()",
    ),
    *(
        rule
        for profile, kind in (("us-core-organization", "Organization"), ("us-core-practitioner", "Practitioner"))
        for rule in (
            Rule("us-core-16", (profile,), kind, "error", "an NPI has ten digits", "value.matches('^[0-9]{10}$')", "identifier", _NPI),
            Rule("us-core-17", (profile,), kind, "error", "the check digit of the NPI is wrong", f"({_NPI_SUM}+24) mod 10 = 0", "identifier", _NPI),
        )
    ),
    Rule(
        "us-core-18",
        ("us-core-organization",),
        "Organization",
        "error",
        "a CLIA number is two digits, D and seven digits",
        "value.matches('^[0-9]{2}D[0-9]{7}$')",
        "identifier",
        _CLIA,
    ),
    Rule("us-core-19", ("us-core-organization",), "Organization", "error", "a NAIC code has five digits", "value.matches('^[0-9]{5}$')", "identifier", _NAIC),
    Rule(
        "us-core-20",
        ("us-core-medicationdispense",),
        "MedicationDispense",
        "error",
        "a completed dispense says when it was handed over",
        "status='completed' implies whenHandedOver.exists()",
    ),
    Rule(
        "us-core-21",
        ("us-core-medicationrequest",),
        "MedicationRequest",
        "error",
        "an order names its requester",
        "(intent='order' or intent='original-order' or intent='reflex-order' or intent='filler-order' or intent='instance-order') implies requester.exists()",
    ),
    Rule(
        "us-core-22",
        ("us-core-observation-lab",),
        "Observation",
        "error",
        "coded units of a reference range are UCUM's",
        f"(low.system.empty() or low.system = '{_UCUM}') and (high.system.empty() or high.system = '{_UCUM}')",
        "referenceRange",
    ),
    Rule(
        "us-core-24",
        ("us-core-smokingstatus",),
        "Observation",
        "error",
        "smoking status is told as a coded value",
        "code.coding.where(code = '72166-2' or code = '11367-0').exists() implies value.ofType(CodeableConcept).exists()",
    ),
    Rule(
        "us-core-25",
        ("us-core-smokingstatus",),
        "Observation",
        "warning",
        "packs per day and pack-years are told as a quantity",
        "code.coding.where(code = '401201003' or code = '782516008' or code = '8663-7' or code = '8664-5').exists() implies value.ofType(Quantity).exists()",
    ),
    Rule(
        "us-core-26",
        ("us-core-average-blood-pressure",),
        "Observation",
        "error",
        "a component has a value or says why not, and not both",
        "value.exists() xor dataAbsentReason.exists()",
        "component",
    ),
)


def profiles_stating(key: str) -> tuple[tuple[str, str], ...]:
    """Return (type, profile URL) of every profile that states an invariant in some version."""
    return tuple((rule.type, url) for rule in RULES if rule.key == key for url in rule.urls)


def is_later(canonical: str) -> bool:
    """Return whether a canonical URL names a version of US Core that these rules were not read from."""
    numbers = re.match(r"\d{1,6}(\.\d{1,6}){0,3}", canonical.partition("|")[2], re.ASCII)
    return numbers is not None and tuple(int(part) for part in numbers[0].split(".")) > VERSION_KNOWN


@lru_cache(maxsize=1)
def _by_profile() -> dict[str, tuple[tuple[Rule, Invariant], ...]]:
    found: dict[str, tuple[tuple[Rule, Invariant], ...]] = {}
    for rule in RULES:
        made = compile_invariant(rule.key, rule.severity, rule.human, rule.expression)
        for url in rule.urls:
            found[url] = (*found.get(url, ()), (rule, made))
    return found


def rules_of(canonical: str) -> Iterator[tuple[Rule, Invariant]]:
    """Yield the invariants that US Core states on a profile."""
    yield from _by_profile().get(canonical.partition("|")[0], ())
