import copy
import time
from typing import Any

import pytest

from tests.scorers.clinical.consistency.short_documents import (
    RXNORM,
    SNOMED,
    bundle,
    condition,
    document,
    message,
    order,
    patient,
    problem,
    section,
    snomed,
)
from touchstone.scorers.clinical.consistency import Given, check_consistency
from touchstone.scorers.clinical.report import Context, Report

#: What each may cost on a slow processor. Where time grows with the square, each of these takes over a minute.
SECONDS_MAX = 15.0


def checked(*documents: tuple[Any, Any], persona: Any = None) -> Report:
    return check_consistency([Given(f"outputs.{form}", form, content) for form, content in documents], persona, Context())


def visits(count: int) -> list[dict[str, Any]]:
    return [{"resourceType": "Encounter", "status": "finished", "identifier": [{"value": f"A{one}.{other}"} for other in range(20)]} for one in range(count)]


def referring(count: int) -> str:
    reference = '<value xsi:type="CD" nullFlavor="UNK"><originalText><reference value="#p{}"/></originalText></value>'
    narrative = "".join(f'<content ID="p{number}">Thing</content>' for number in range(5 * count))
    return document(section("11450-4", *(problem(reference.format(number)) for number in range(count)), text=narrative))


def stays(count: int) -> list[str]:
    return [f"PV1|1|O|||||||||||||||||V{number}|||||||||||||||||||||||||1950{1 + number % 12:02}01" for number in range(count)]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (bundle(patient(), *visits(900)), ("hl7v2", message("ADT^A01", *stays(900)))),
        (bundle(patient()), ("ccda", referring(1_500))),
        (bundle(*(patient() for _ in range(6_000))), ("hl7v2", "\r".join(message("ADT^A08") for _ in range(500)))),
        (
            bundle(patient(), *(condition(SNOMED, str(number), f"Thing {number}") for number in range(1_500))),
            ("ccda", document(*(section("11450-4", problem(snomed(str(number), "Thing"))) for number in range(1_500)))),
        ),
        (
            bundle(patient(), *(order(RXNORM, str(number), f"drug {number}") for number in range(5_000))),
            ("hl7v2", message("RDE^O11", *(f"RXE||{number}^drug {number}^RXNORM|1||mg" for number in range(5_000)))),
        ),
    ],
    ids=["visits", "references", "patients", "sections", "orders"],
)
def test_thousands_of_entries_are_compared_in_bounded_time(ours: dict[str, Any], theirs: tuple[str, str]) -> None:
    began_s = time.thread_time()
    checked(("fhir", ours), theirs)

    assert time.thread_time() - began_s < SECONDS_MAX


@pytest.mark.parametrize("junk", [None, 1e308, "", [], {}, [[]], [None], True, "\ud800"], ids=repr)
def test_members_of_any_type_raise_nothing(junk: Any) -> None:
    whole = bundle(
        patient(telecom=[{"system": "phone", "value": "5550102233"}], address=[{"postalCode": "1"}]),
        condition(SNOMED, "1", "Thing"),
        order(RXNORM, "1", "drug", (1, "mg")),
        *visits(1),
    )
    for number, entry in enumerate(whole["entry"]):
        for member, value in entry["resource"].items():
            if member == "resourceType":
                continue
            changed = copy.deepcopy(whole)
            changed["entry"][number]["resource"][member] = junk
            checked(("fhir", changed), ("hl7v2", message("ADT^A01")), persona={"conditions": junk, "age": junk, "name": junk})
            if isinstance(value, list) and value and isinstance(value[0], dict):
                for inner in value[0]:
                    changed["entry"][number]["resource"][member] = [{**value[0], inner: junk}]
                    checked(("fhir", changed), ("hl7v2", message("ADT^A01")))


def test_a_name_with_less_detail_under_another_code_is_a_mild_finding() -> None:
    other = message("RDE^O11", "ORC|NW|1", "RXE||999^drug^RXNORM|1||mg")
    report = checked(("fhir", bundle(patient(), order(RXNORM, "1", "drug 500 forte"))), ("hl7v2", other))

    assert [(finding.severity, finding.code) for finding in report.findings] == [("minor", "consistency.medication.code")]
