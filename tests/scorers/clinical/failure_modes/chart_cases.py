"""Personas as generators write them, from clinical knowledge and without a look at the rules: for each mode three that have it, three that nearly do."""

from typing import Any


def _chart(age: int, gender: str, prompt: str = "", **lists: Any) -> dict[str, Any]:
    return {"prompt": prompt, "persona": {"demographics": {"age": age, "gender": gender}, "age": age, "gender": gender, **lists}}


def _had(name: str, since: str = "", status: str = "active") -> dict[str, Any]:
    return {"name": name, "clinicalStatus": status, **({"onsetDate": since} if since else {})}


def _takes(name: str, dose: str = "", since: str = "", **more: str) -> dict[str, Any]:
    return {"name": name, **({"dose": dose} if dose else {}), **({"startDate": since} if since else {}), **more}


def _lab(name: str, value: float, unit: str, date: str = "2026-05-11") -> dict[str, Any]:
    return {"test": name, "name": name, "value": value, "unit": unit, "date": date}


def _seen(type_: str, reason: str, date: str = "2026-03-02") -> dict[str, Any]:
    return {"type": type_, "reason": reason, "date": date}


#: Mode → (what it is, the case).
HAS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "missing_key_lab": [
        (
            "hypothyroidism without TSH",
            _chart(
                66,
                "female",
                conditions=[_had("Hypothyroidism", "2012-04-01")],
                medications=[_takes("Levothyroxine", "75 mcg")],
                labs=[_lab("White blood cell count", 6.1, "10*3/uL"), _lab("Total cholesterol", 188, "mg/dL")],
            ),
        ),
        (
            "kidney disease without creatinine",
            _chart(
                72, "male", conditions=[_had("Chronic kidney disease, stage 3b")], labs=[_lab("LDL cholesterol", 92, "mg/dL"), _lab("Hemoglobin A1c", 5.6, "%")]
            ),
        ),
        (
            "iron deficiency anemia without hemoglobin or ferritin",
            _chart(
                34,
                "female",
                conditions=[_had("Iron deficiency anemia")],
                medications=[_takes("Ferrous sulfate", "325 mg")],
                labs=[_lab("Sodium", 140, "mmol/L"), _lab("Potassium", 4.1, "mmol/L")],
            ),
        ),
    ],
    "drug_without_indication": [
        (
            "insulin and migraine",
            _chart(
                45, "female", conditions=[_had("Migraine without aura")], medications=[_takes("Sumatriptan", "50 mg"), _takes("Insulin glargine", "20 units")]
            ),
        ),
        (
            "levodopa and osteoarthritis",
            _chart(
                62,
                "male",
                conditions=[_had("Osteoarthritis of the knee")],
                medications=[_takes("Acetaminophen", "650 mg"), _takes("Carbidopa-levodopa", "25/100 mg")],
            ),
        ),
        (
            "methotrexate and hay fever",
            _chart(
                50,
                "female",
                conditions=[_had("Seasonal allergic rhinitis")],
                medications=[_takes("Cetirizine", "10 mg"), _takes("Methotrexate", "15 mg once weekly")],
            ),
        ),
    ],
    "drug_before_onset": [
        (
            "levothyroxine two years early",
            _chart(59, "female", conditions=[_had("Hypothyroidism", "2020-06-15")], medications=[_takes("Levothyroxine", "50 mcg", "2018-03-01")]),
        ),
        (
            "apixaban a year early",
            _chart(74, "male", conditions=[_had("Atrial fibrillation", "2022-05-02")], medications=[_takes("Apixaban", "5 mg twice daily", "2021-01-10")]),
        ),
        (
            "donepezil three years early",
            _chart(81, "female", conditions=[_had("Alzheimer's disease", "2022-09-01")], medications=[_takes("Donepezil", "10 mg nightly", "2019-08-20")]),
        ),
    ],
    "age_impossible": [
        ("Alzheimer's at 4", _chart(4, "male", conditions=[_had("Alzheimer's disease")])),
        ("postmenopausal osteoporosis at 9", _chart(9, "female", conditions=[_had("Postmenopausal osteoporosis")])),
        ("neonatal jaundice at 67", _chart(67, "male", conditions=[_had("Neonatal jaundice")])),
    ],
    "sex_impossible": [
        ("a man with an ovarian cyst", _chart(55, "male", conditions=[_had("Ovarian cyst, left")])),
        ("a woman with prostatic hyperplasia", _chart(68, "female", conditions=[_had("Benign prostatic hyperplasia with lower urinary tract symptoms")])),
        ("a girl with testicular torsion", _chart(17, "female", conditions=[_had("Testicular torsion")])),
    ],
    "missing_encounter": [
        (
            "admitted for COPD, seen at home and by video",
            _chart(
                72,
                "male",
                "72-year-old man who was admitted for a COPD exacerbation last winter and sent home on prednisone",
                encounters=[_seen("Annual wellness visit", "Medicare wellness"), _seen("Telehealth", "Follow-up")],
            ),
        ),
        (
            "an inpatient stay for ketoacidosis",
            _chart(
                23,
                "female",
                "Young woman with type 1 diabetes, recently discharged after a five-day inpatient stay for diabetic ketoacidosis",
                encounters=[_seen("Office visit", "Diabetes follow-up")],
            ),
        ),
        (
            "a week of intensive care",
            _chart(
                48,
                "male",
                "A man of 48 who spent a week in the ICU with septic shock and is now recovering at home",
                encounters=[_seen("Primary care", "Fatigue")],
            ),
        ),
    ],
    "duplicate_therapy": [
        (
            "two ACE inhibitors",
            _chart(57, "male", conditions=[_had("Hypertension")], medications=[_takes("Lisinopril", "20 mg daily"), _takes("Enalapril", "10 mg twice daily")]),
        ),
        (
            "two proton pump inhibitors",
            _chart(63, "female", conditions=[_had("GERD")], medications=[_takes("Omeprazole", "20 mg"), _takes("Pantoprazole sodium", "40 mg")]),
        ),
        (
            "two SSRIs",
            _chart(
                39, "female", conditions=[_had("Major depressive disorder")], medications=[_takes("Sertraline (Zoloft)", "100 mg"), _takes("Lexapro", "10 mg")]
            ),
        ),
    ],
    "lab_against_condition": [
        ("untreated hypothyroidism, low TSH", _chart(47, "female", conditions=[_had("Hypothyroidism")], medications=[], labs=[_lab("TSH", 0.08, "mIU/L")])),
        ("anemia, high hemoglobin", _chart(52, "female", conditions=[_had("Anemia")], medications=[], labs=[_lab("Hemoglobin", 16.8, "g/dL")])),
        ("hyponatremia, high sodium", _chart(79, "male", conditions=[_had("Hyponatremia")], medications=[], labs=[_lab("Serum sodium", 149, "mEq/L")])),
    ],
    "late_pregnancy": [
        ("pregnant at 61", _chart(61, "female", conditions=[_had("Pregnancy, second trimester")])),
        ("gestational diabetes at 58", _chart(58, "female", conditions=[_had("Gestational diabetes mellitus")])),
        ("32 weeks at 63", _chart(63, "female", conditions=[_had("Intrauterine pregnancy at 32 weeks gestation")])),
    ],
    "paediatric_dose": [
        ("acetaminophen 80 mg", _chart(40, "male", conditions=[_had("Fever")], medications=[_takes("Acetaminophen chewable", "80 mg every 6 hours")])),
        ("ibuprofen 50 mg", _chart(52, "female", conditions=[_had("Low back pain")], medications=[_takes("Ibuprofen", "50 mg three times daily")])),
        ("cetirizine 2.5 mg", _chart(37, "male", conditions=[_had("Allergic rhinitis")], medications=[_takes("Cetirizine", "2.5 mg once daily")])),
    ],
}

NEARLY: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "missing_key_lab": [
        ("HbA1c by its long name", _chart(61, "male", conditions=[_had("Type 2 diabetes mellitus")], labs=[_lab("Glycated hemoglobin", 7.8, "%")])),
        ("TSH in words", _chart(44, "female", conditions=[_had("Hypothyroidism")], labs=[_lab("Thyroid stimulating hormone", 3.1, "uIU/mL")])),
        ("diabetes of the family", _chart(38, "male", conditions=[_had("Family history of type 2 diabetes")], labs=[_lab("TSH", 2.2, "mIU/L")])),
    ],
    "drug_without_indication": [
        (
            "metformin for ovaries",
            _chart(27, "female", conditions=[_had("Polycystic ovary syndrome")], medications=[_takes("Metformin", "500 mg twice daily")]),
        ),
        ("propranolol for tremor", _chart(69, "male", conditions=[_had("Essential tremor")], medications=[_takes("Propranolol", "40 mg twice daily")])),
        ("spironolactone for acne", _chart(24, "female", conditions=[_had("Acne vulgaris")], medications=[_takes("Spironolactone", "50 mg daily")])),
    ],
    "drug_before_onset": [
        (
            "metformin for prediabetes first",
            _chart(
                60,
                "male",
                conditions=[_had("Prediabetes", "2014-02-01"), _had("Type 2 diabetes mellitus", "2016-07-01")],
                medications=[_takes("Metformin", "500 mg", "2015-05-01")],
            ),
        ),
        (
            "lisinopril for pressure before the kidneys",
            _chart(
                66,
                "female",
                conditions=[_had("Hypertension", "2018-01-15"), _had("Chronic kidney disease stage 3", "2021-11-01")],
                medications=[_takes("Lisinopril", "10 mg", "2019-04-01")],
            ),
        ),
        (
            "apixaban for a thrombosis before the fibrillation",
            _chart(
                71,
                "male",
                conditions=[_had("Deep vein thrombosis of the left leg", "2020-01-20"), _had("Atrial fibrillation", "2021-06-01")],
                medications=[_takes("Apixaban", "5 mg twice daily", "2020-01-22")],
            ),
        ),
    ],
    "age_impossible": [
        ("type 2 diabetes at 14", _chart(14, "male", conditions=[_had("Type 2 diabetes mellitus"), _had("Obesity")])),
        ("Parkinson's at 38", _chart(38, "male", conditions=[_had("Early-onset Parkinson's disease")])),
        ("juvenile arthritis at 34", _chart(34, "female", conditions=[_had("Juvenile idiopathic arthritis", "2001-03-01")])),
    ],
    "sex_impossible": [
        ("a man with breast cancer", _chart(61, "male", conditions=[_had("Breast cancer, invasive ductal carcinoma")])),
        ("a woman whose father had it", _chart(40, "female", conditions=[_had("Family history of prostate cancer (father)")])),
        ("a man's neck", _chart(53, "male", conditions=[_had("Cervical radiculopathy"), _had("Osteoporosis")])),
    ],
    "missing_encounter": [
        (
            "an admission that was not needed",
            _chart(
                50,
                "female",
                "Pneumonia managed entirely as an outpatient; hospital admission was considered but was not needed",
                encounters=[_seen("Office visit", "Cough")],
            ),
        ),
        (
            "the stay is there",
            _chart(
                83,
                "female",
                "An 83-year-old admitted with a hip fracture",
                encounters=[_seen("inpatient", "Hip fracture repair"), _seen("Rehabilitation", "After surgery")],
            ),
        ),
        (
            "a nurse who admits something",
            _chart(
                41, "female", "She works as a nurse in a hospital and admits to two glasses of wine a day", encounters=[_seen("Office visit", "Annual check")]
            ),
        ),
    ],
    "duplicate_therapy": [
        (
            "two insulins",
            _chart(
                33,
                "male",
                conditions=[_had("Type 1 diabetes")],
                medications=[_takes("Insulin glargine", "18 units at bedtime"), _takes("Insulin lispro", "6 units with meals")],
            ),
        ),
        (
            "one was replaced",
            _chart(
                58,
                "female",
                conditions=[_had("GERD")],
                medications=[
                    _takes("Omeprazole", "20 mg", "2019-01-01", endDate="2020-02-01", status="stopped"),
                    _takes("Pantoprazole", "40 mg", "2020-02-01"),
                ],
            ),
        ),
        (
            "a reliever beside a controller",
            _chart(
                29,
                "female",
                conditions=[_had("Asthma")],
                medications=[_takes("Fluticasone-salmeterol inhaler", "250/50 mcg"), _takes("Albuterol inhaler", "90 mcg as needed")],
            ),
        ),
    ],
    "lab_against_condition": [
        (
            "diabetes under metformin",
            _chart(64, "male", conditions=[_had("Type 2 diabetes mellitus")], medications=[_takes("Metformin", "1000 mg")], labs=[_lab("HbA1c", 6.1, "%")]),
        ),
        ("hyperkalemia, high", _chart(70, "female", conditions=[_had("Hyperkalemia")], medications=[], labs=[_lab("Potassium", 5.9, "mmol/L")])),
        (
            "hypothyroidism, too much levothyroxine",
            _chart(55, "female", conditions=[_had("Hypothyroidism")], medications=[_takes("Levothyroxine", "150 mcg")], labs=[_lab("TSH", 0.2, "mIU/L")]),
        ),
    ],
    "late_pregnancy": [
        ("pregnant at 54 by donated egg", _chart(54, "female", conditions=[_had("Pregnancy, oocyte donation")])),
        ("long ago", _chart(66, "female", conditions=[_had("History of gestational diabetes (1989)")])),
        ("an ectopic one that is over", _chart(59, "female", conditions=[_had("Ectopic pregnancy", "1991-05-01", "resolved")])),
    ],
    "paediatric_dose": [
        ("a child", _chart(6, "male", conditions=[_had("Otitis media")], medications=[_takes("Amoxicillin", "250 mg twice daily")])),
        ("low-dose aspirin", _chart(67, "male", conditions=[_had("Coronary artery disease")], medications=[_takes("Aspirin", "81 mg daily")])),
        ("ibuprofen 200 mg", _chart(31, "female", conditions=[_had("Dysmenorrhea")], medications=[_takes("Ibuprofen", "200 mg as needed")])),
    ],
}
