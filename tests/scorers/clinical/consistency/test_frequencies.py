"""How often a medication is taken, compared between formats."""

from typing import Any

import pytest

from tests.scorers.clinical.consistency.patient import CCDA, changed, compared

PLACE = '<effectiveTime xsi:type="IVL_TS"><low value="20260302"/></effectiveTime>'
ORDER = r"""
MSH|^~\&|A|B|C|D|20260302100000-0500||OMP^O09^OMP_O09|1|P|2.5.1
PID|1||MRN-4711^^^HOSP&2.16.840.1.113883.19.5&ISO^MR||Sample-Ortega^Zoë||19610409|F
ORC|NW
TQ1|1||@
RXO|860975^metformin^RXNORM|500||mg
RXR|PO
""".strip()


def fhir(*, more: dict[str, Any] | None = None, **timing: Any) -> dict[str, Any]:
    """The Bundle whose medication has this timing."""
    return changed(lambda resources: resources[5]["dosageInstruction"][0].update({"timing": timing, **(more or {})}))


def every(frequency: int, period: float, unit: str, **more: Any) -> dict[str, Any]:
    return fhir(repeat={"frequency": frequency, "period": period, "periodUnit": unit, **more})


def coded(code: str) -> dict[str, Any]:
    return fhir(code={"coding": [{"system": "http://terminology.hl7.org/CodeSystem/v3-GTSAbbreviation", "code": code}]})


def ccda(period: str, more: str = "") -> str:
    assert CCDA.count(PLACE) == 1
    return CCDA.replace(PLACE, f'{PLACE}<effectiveTime xsi:type="PIVL_TS" operator="A"><period {period}/></effectiveTime>{more}')


def order(pattern: str) -> str:
    return ORDER.replace("@", pattern).replace("\n", "\r")


def codes(*documents: tuple[str, Any]) -> list[str]:
    return [one.code for one in compared(*documents).findings if "frequency" in one.code]


@pytest.mark.parametrize("document", [every(2, 1, "d"), every(1, 12, "h"), coded("BID"), every(14, 1, "wk")], ids=["a day", "hours", "code", "a week"])
def test_equal_frequencies_in_other_words_are_equal(document: dict[str, Any]) -> None:
    assert not codes(("fhir", document), ("ccda", ccda('value="12" unit="h"')))
    assert not codes(("fhir", document), ("ccda", ccda('value="0.5" unit="d"')))
    assert not codes(("fhir", document), ("hl7v2", order("BID")))
    assert not codes(("fhir", document), ("hl7v2", order("Q12H&&HL70335")))


@pytest.mark.parametrize("document", [every(1, 1, "d"), every(3, 1, "d"), coded("QID"), every(1, 2, "d")], ids=["once", "thrice", "code", "other days"])
def test_another_frequency_is_found_with_both_places(document: dict[str, Any]) -> None:
    for other, place in (("ccda", ccda('value="12" unit="h"')), "/effectiveTime[2]/period"), (("hl7v2", order("BID")), "/TQ1[1]-3"):
        (found,) = [one for one in compared(("fhir", document), other).findings if "frequency" in one.code]
        assert (found.severity, found.code, found.path) == (
            "major",
            "consistency.medication.frequency",
            "outputs.fhir/MedicationRequest[0].dosageInstruction[0].timing",
        )
        assert place in found.message


@pytest.mark.parametrize(
    "document",
    [
        every(1, 1, "d", frequencyMax=2),
        every(1, 1, "d", when=["HS"]),
        every(1, 1, "mo"),
        fhir(repeat={"frequency": 1, "period": 1, "periodUnit": "d"}, more={"asNeededBoolean": True}),
        fhir(repeat={"period": 1, "periodUnit": "d"}),
        fhir(repeat={"frequency": 1, "period": 0, "periodUnit": "d"}),
        fhir(repeat=[1]),
        coded("AM"),
    ],
    ids=["range", "event", "month", "as needed", "no count", "no period", "no object", "time of day"],
)
def test_what_is_no_fixed_frequency_is_not_compared(document: dict[str, Any]) -> None:
    assert not codes(("fhir", document), ("ccda", ccda('value="12" unit="h"')))


def test_several_dosages_and_several_entries_of_a_drug_are_not_compared() -> None:
    def twice(resources: list[dict[str, Any]]) -> None:
        resources[5]["dosageInstruction"][0]["timing"] = {"repeat": {"frequency": 1, "period": 1, "periodUnit": "d"}}
        resources.append(resources[5])

    assert not codes(("fhir", changed(twice)), ("ccda", ccda('value="12" unit="h"')))
    assert not codes(("fhir", every(1, 1, "d")), ("ccda", ccda('value="12" unit="h"', "<precondition/>")))
    assert not codes(("fhir", every(1, 1, "d")), ("hl7v2", order("BID~QID")))
