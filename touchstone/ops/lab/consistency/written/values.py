"""Pairs about results, vital signs and times."""

from __future__ import annotations

from typing import Any, Final

from touchstone.ops.lab.consistency.written.hands import (
    LOINC,
    PID,
    SNOMED,
    Written,
    bundle,
    concept,
    document,
    measured,
    message,
    observed,
    patient,
    pq,
    section,
    vital,
)

_RESULTS, _VITALS = "30954-2", "8716-3"


def _oru(name: str, resource: dict[str, Any], *obx: str, expects: tuple[str, ...] = (), version: str = "2.5.1", obr: str = "20250506081000+0200") -> Written:
    """One observation beside a result message."""
    segments = (f"OBR|1|||PANEL^Panel^L|||{obr}", *obx)
    return Written(name, (("fhir", bundle(patient(), resource)), ("hl7v2", message("ORU^R01", *segments, version=version))), expects)


def _cda(name: str, resource: dict[str, Any], entry: str, expects: tuple[str, ...] = (), code: str = _RESULTS) -> Written:
    return Written(name, (("fhir", bundle(patient(), resource)), ("ccda", document(section(code, entry)))), expects)


_TEMPERATURE: Final = vital("8310-5", "Body temperature", 37.2, "Cel")
_GLUCOSE: Final = observed("2345-7", "Glucose [Mass/volume] in Serum or Plasma", 99, "mg/dL")
_POTASSIUM: Final = observed("2823-3", "Potassium", 4.1, "mmol/L")
_COVID: Final = "94500-6"

PAIRS: Final = (
    _oru("temperature in Fahrenheit", _TEMPERATURE, "OBX|1|NM|8310-5^Temp^LN||99.0|F|||||F"),
    _oru("temperature in degrees Fahrenheit written out", _TEMPERATURE, "OBX|1|NM|8310-5^Temp^LN||98.96|deg F|||||F"),
    _oru("temperature in Fahrenheit that is another", _TEMPERATURE, "OBX|1|NM|8310-5^Temp^LN||101.3|[degF]|||||F", expects=("observation.value",)),
    _oru("glucose in millimoles", _GLUCOSE, "OBX|1|NM|2345-7^Glucose^LN||5.5|mmol/L|||||F"),
    _oru("glucose in millimoles that is another", _GLUCOSE, "OBX|1|NM|2345-7^Glucose^LN||9.9|mmol/L|||||F", expects=("observation.value",)),
    _oru("potassium in milliequivalents", _POTASSIUM, "OBX|1|NM|2823-3^K^LN||4.1|mEq/L|||||F"),
    _oru("a number with a comma between thousands of platelets", observed("777-3", "Platelets", 250, "10*3/uL"), "OBX|1|NM|777-3^PLT^LN||250|K/uL|||||F"),
    _oru("platelets in another way of thousands", observed("777-3", "Platelets", 250, "10*3/uL"), "OBX|1|NM|777-3^PLT^LN||250|x10E3/uL|||||F"),
    _oru("platelets in absolute numbers", observed("777-3", "Platelets", 250, "10*3/uL"), "OBX|1|NM|777-3^PLT^LN||250000|/uL|||||F"),
    _oru("platelets in giga per litre", observed("777-3", "Platelets", 250, "10*9/L"), "OBX|1|NM|777-3^PLT^LN||250|10*3/mm3|||||F"),
    _oru("enzymes in international units", observed("1742-6", "ALT", 31, "U/L"), "OBX|1|NM|1742-6^ALT^LN||31|IU/L|||||F"),
    _oru("weight in pounds", vital("29463-7", "Body weight", 81.6, "kg"), "OBX|1|NM|29463-7^Weight^LN||180|lbs|||||F"),
    _oru(
        "weight in pounds that is another",
        vital("29463-7", "Body weight", 81.6, "kg"),
        "OBX|1|NM|29463-7^Weight^LN||210|lb|||||F",
        expects=("observation.value",),
    ),
    _oru("height in inches", vital("8302-2", "Body height", 180.3, "cm"), "OBX|1|NM|8302-2^Height^LN||71|in|||||F"),
    _oru("measured weight by its other LOINC code", vital("29463-7", "Body weight", 81.6, "kg"), "OBX|1|NM|3141-9^Weight Measured^LN||81.6|kg|||||F"),
    _oru(
        "oxygen saturation by pulse oximetry under its two codes",
        vital("59408-5", "Oxygen saturation in Arterial blood by Pulse oximetry", 97, "%"),
        "OBX|1|NM|2708-6^SpO2^LN||97|%|||||F",
    ),
    _oru(
        "a result below the limit",
        observed("10839-9", "Troponin I", None, valueQuantity={"value": 0.01, "comparator": "<", "unit": "ng/mL"}),
        "OBX|1|SN|10839-9^Trop^LN||<^0.01|ng/mL|||||F",
    ),
    _oru(
        "a result below the limit as text",
        observed("10839-9", "Troponin I", None, valueQuantity={"value": 5, "comparator": "<", "unit": "ng/L"}),
        "OBX|1|ST|10839-9^Trop^LN||<5|ng/L|||||F",
    ),
    _oru(
        "a result below the limit beside the limit",
        observed("10839-9", "Troponin I", 0.01, "ng/mL"),
        "OBX|1|SN|10839-9^Trop^LN||<^0.01|ng/mL|||||F",
        expects=("observation.value",),
    ),
    _cda(
        "a limit as an interval without saying whether its end belongs to it",
        observed("10839-9", "Troponin I", None, valueQuantity={"value": 0.01, "comparator": "<", "unit": "ng/mL", "code": "ng/mL"}),
        measured("10839-9", '<value xsi:type="IVL_PQ"><high value="0.01" unit="ng/mL"/></value>'),
    ),
    _oru(
        "a coded positive beside its text",
        observed(_COVID, "SARS-CoV-2 RNA", None, valueCodeableConcept=concept((SNOMED, "10828004", "Positive"))),
        f"OBX|1|ST|{_COVID}^COVID^LN||POSITIVE||||||F",
    ),
    _oru(
        "detected beside a coded detected",
        observed(_COVID, "SARS-CoV-2 RNA", None, valueCodeableConcept=concept((SNOMED, "260373001", "Detected"))),
        f"OBX|1|CWE|{_COVID}^COVID^LN||260373001^Detected^SCT||||||F",
    ),
    _oru(
        "a text positive beside a text negative",
        observed(_COVID, "SARS-CoV-2 RNA", "Positive"),
        f"OBX|1|ST|{_COVID}^COVID^LN||Negative||||||F",
        expects=("observation.value",),
    ),
    _oru(
        "not detected beside a coded detected",
        observed(_COVID, "SARS-CoV-2 RNA", None, valueCodeableConcept=concept((SNOMED, "260373001", "Detected"))),
        f"OBX|1|ST|{_COVID}^COVID^LN||Not detected||||||F",
        expects=("observation.value",),
    ),
    _oru("a number as text in FHIR", observed("2345-7", "Glucose", "99 mg/dL"), "OBX|1|NM|2345-7^Glucose^LN||99|mg/dL|||||F"),
    _oru("another number as text in FHIR", observed("2345-7", "Glucose", "149"), "OBX|1|NM|2345-7^Glucose^LN||99|mg/dL|||||F", expects=("observation.value",)),
    _oru(
        "a range beside the same range",
        observed("5821-4", "WBC in urine", None, valueRange={"low": {"value": 2}, "high": {"value": 5}}),
        "OBX|1|SN|5821-4^WBC^LN||^2^-^5|/HPF|||||F",
    ),
    _oru(
        "a range beside another",
        observed("5821-4", "WBC in urine", None, valueRange={"low": {"value": 2}, "high": {"value": 5}}),
        "OBX|1|SN|5821-4^WBC^LN||^20^-^50|/HPF|||||F",
        expects=("observation.value",),
    ),
    _oru(
        "a titre beside the same titre",
        observed("5048-4", "ANA titer", None, valueRatio={"numerator": {"value": 1}, "denominator": {"value": 160}}),
        "OBX|1|SN|5048-4^ANA^LN||^1^:^160||||||F",
    ),
    _oru(
        "a titre beside another",
        observed("5048-4", "ANA titer", None, valueRatio={"numerator": {"value": 1}, "denominator": {"value": 160}}),
        "OBX|1|SN|5048-4^ANA^LN||^1^:^1280||||||F",
        expects=("observation.value",),
    ),
    _oru("a local code with LOINC as its translation", _POTASSIUM, "OBX|1|NM|K^Potassium^L^2823-3^Potassium^LN||4.1|mmol/L|||||F"),
    _oru("a local code alone by its name", _POTASSIUM, "OBX|1|NM|K^Potassium^99LAB||4.1|mmol/L|||||F"),
    _oru(
        "LOINC as the second alternate code of 2.8", _POTASSIUM, "OBX|1|NM|K^Kalium^99LAB^POT^Pot^99X^^^^2823-3^Potassium^LN||4.1|mmol/L|||||F", version="2.8"
    ),
    _oru("a result without a time of its own", _POTASSIUM, "OBX|1|NM|2823-3^K^LN||4.1|mmol/L|||||F", obr="20250506"),
    _oru("a local time without a zone", _POTASSIUM, "OBX|1|NM|2823-3^K^LN||4.1|mmol/L|||||F|||202505060810"),
    _oru(
        "a time in UTC across midnight",
        observed("2823-3", "Potassium", 4.1, "mmol/L", "2025-05-06T00:40:00+02:00"),
        "OBX|1|NM|2823-3^K^LN||4.1|mmol/L|||||F|||20250505224000+0000",
    ),
    _oru("a time an hour late", _POTASSIUM, "OBX|1|NM|2823-3^K^LN||4.1|mmol/L|||||F|||20250506091000+0200", expects=("observation.time",)),
    _oru("a time of another day without a zone", _POTASSIUM, "OBX|1|NM|2823-3^K^LN||4.1|mmol/L|||||F|||202505090810", expects=("observation.time",)),
    _oru("a corrected result after a wrong one", _POTASSIUM, "OBX|1|NM|2823-3^K^LN||8.1|mmol/L|||||W", "OBX|2|NM|2823-3^K^LN||4.1|mmol/L|||||C"),
    _oru(
        "a result entered in error in FHIR", observed("2823-3", "Potassium", 9.9, "mmol/L", status="entered-in-error"), "OBX|1|NM|2823-3^K^LN||4.1|mmol/L|||||F"
    ),
    _oru("a note beside a number", _POTASSIUM, "OBX|1|NM|2823-3^K^LN||4.1|mmol/L|||||F", "NTE|1||hemolyzed", "OBX|2|FT|8251-1^Comment^LN||See note||||||F"),
    _oru(
        "a result of 2.3 with a code and no system",
        observed("2823-3", "Potassium", 4.1, "mmol/L"),
        "OBX|1|NM|2823-3^Potassium||4.1|mmol/L|||||F",
        version="2.3",
    ),
    Written(
        "other delimiters",
        (
            ("fhir", bundle(patient(), _POTASSIUM)),
            (
                "hl7v2",
                "MSH|$%~&|A|B|C|D|20250506||ORU$R01|1|P|2.4\rPID|1||80221$$$GENHOSP&1.3.6.1.4.1.99.1&ISO$MR||ALVAREZ$HENRIK||19740312|M\rOBR|1\rOBX|1|NM|2823-3$K$LN||4.1|mmol/L|||||F",
            ),
        ),
    ),
    Written(
        "blood pressure as components and as two results",
        (
            (
                "fhir",
                bundle(
                    patient(),
                    observed(
                        "85354-9",
                        "Blood pressure panel",
                        None,
                        component=[
                            {"code": concept((LOINC, "8480-6", "Systolic")), "valueQuantity": {"value": 121, "unit": "mmHg"}},
                            {"code": concept((LOINC, "8462-4", "Diastolic")), "valueQuantity": {"value": 79, "unit": "mmHg"}},
                        ],
                    ),
                ),
            ),
            ("ccda", document(section(_VITALS, measured("8480-6", pq("121", "mm[Hg]")), measured("8462-4", pq("79", "mm[Hg]"))))),
        ),
    ),
    Written(
        "systolic and diastolic turned",
        (
            ("fhir", bundle(patient(), vital("8480-6", "Systolic", 121, "mm[Hg]"), vital("8462-4", "Diastolic", 79, "mm[Hg]"))),
            ("ccda", document(section(_VITALS, measured("8480-6", pq("79", "mm[Hg]")), measured("8462-4", pq("121", "mm[Hg]"))))),
        ),
        ("observation.value",),
    ),
    Written(
        "a series of one code at three times, in another order",
        (
            ("fhir", bundle(patient(), *(vital("8867-4", "Heart rate", 60 + hour, "/min", f"2025-05-06T{hour:02}:00:00Z") for hour in (7, 8, 9)))),
            ("ccda", document(section(_VITALS, *(measured("8867-4", pq(str(60 + hour), "/min"), f"20250506{hour:02}0000+0000") for hour in (9, 7, 8))))),
        ),
    ),
    Written(
        "a series of one code with one value of it changed",
        (
            ("fhir", bundle(patient(), *(vital("8867-4", "Heart rate", 60 + hour, "/min", f"2025-05-06T{hour:02}:00:00Z") for hour in (7, 8, 9)))),
            (
                "ccda",
                document(
                    section(_VITALS, *(measured("8867-4", pq(str(60 + hour + 30 * (hour == 8)), "/min"), f"20250506{hour:02}0000+0000") for hour in (7, 8, 9)))
                ),
            ),
        ),
        ("observation.value",),
    ),
    _cda("height in metres", vital("8302-2", "Body height", 180, "cm"), measured("8302-2", pq("1.80", "m")), code=_VITALS),
    _cda("a C-CDA result in grams for milligrams", _GLUCOSE, measured("2345-7", pq("0.99", "g/L"))),
    _cda("a C-CDA result with its value as a real number", _GLUCOSE, measured("2345-7", '<value xsi:type="REAL" value="99"/>')),
    _cda("a C-CDA result without a value", _GLUCOSE, measured("2345-7", '<value xsi:type="PQ" nullFlavor="UNK"/>')),
    _cda("a decimal point that moved", observed("2160-0", "Creatinine", 1.2, "mg/dL"), measured("2160-0", pq("12", "mg/dL")), ("observation.value",)),
    _cda("a creatinine in micromoles", observed("2160-0", "Creatinine", 1.2, "mg/dL"), measured("2160-0", pq("106", "umol/L"))),
    _cda(
        "the glycated haemoglobin in the other units' code",
        observed("4548-4", "Hemoglobin A1c/Hemoglobin.total in Blood", 7.0, "%"),
        measured("4548-4", pq("0.070", "1")),
    ),
    _cda(
        "a coded text in C-CDA beside its opposite",
        observed(_COVID, "SARS-CoV-2 RNA", "Negative"),
        measured(_COVID, '<value xsi:type="ST">Positive</value>'),
        ("observation.value",),
    ),
    _cda("a text in C-CDA beside the same", observed(_COVID, "SARS-CoV-2 RNA", "Not detected"), measured(_COVID, '<value xsi:type="ST">NOT DETECTED</value>')),
    Written(
        "a vaccine message whose observations tell of the dose",
        (
            (
                "fhir",
                bundle(
                    patient(),
                    _POTASSIUM,
                    {
                        "resourceType": "Immunization",
                        "status": "completed",
                        "vaccineCode": concept(("http://hl7.org/fhir/sid/cvx", "20", "DTaP")),
                        "occurrenceDateTime": "2025-05-06",
                    },
                ),
            ),
            (
                "hl7v2",
                message(
                    "VXU^V04",
                    "ORC|RE||1",
                    "RXA|0|1|20250506||20^DTaP^CVX|0.5|mL",
                    "OBX|1|NM|30973-2^Dose number in series^LN|1|2||||||F",
                    "OBX|2|CE|64994-7^Eligibility^LN|1|V02^^HL70064||||||F",
                ),
            ),
        ),
    ),
    Written(
        "an encounter seen from observation status",
        (
            (
                "fhir",
                bundle(
                    patient(),
                    {
                        "resourceType": "Encounter",
                        "status": "finished",
                        "class": {"code": "OBSENC"},
                        "identifier": [{"value": "V77"}],
                        "period": {"start": "2025-05-05T20:00:00Z"},
                    },
                ),
            ),
            ("hl7v2", message("ADT^A01", "PV1|1|O|||||||||||||||||V77|||||||||||||||||||||||||20250505200000+0000")),
        ),
    ),
    Written(
        "an emergency beside an inpatient stay",
        (
            (
                "fhir",
                bundle(
                    patient(),
                    {
                        "resourceType": "Encounter",
                        "status": "finished",
                        "class": {"code": "EMER"},
                        "identifier": [{"value": "V77"}],
                        "period": {"start": "2025-05-05T20:00:00Z"},
                    },
                ),
            ),
            ("hl7v2", message("ADT^A01", "PV1|1|I|||||||||||||||||V77|||||||||||||||||||||||||20250505200000+0000")),
        ),
        ("encounter.class",),
    ),
    Written(
        "a visit in another year",
        (
            (
                "fhir",
                bundle(
                    patient(),
                    {
                        "resourceType": "Encounter",
                        "status": "finished",
                        "class": {"code": "IMP"},
                        "identifier": [{"value": "V77"}],
                        "period": {"start": "2024-05-05T20:00:00Z"},
                    },
                ),
            ),
            ("hl7v2", message("ADT^A01", "PV1|1|I|||||||||||||||||V77|||||||||||||||||||||||||20250505200000+0000", pid=PID)),
        ),
        ("encounter.time",),
    ),
)
