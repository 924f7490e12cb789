"""Rules of profiles on dates that are relative to now, and on the sections and sources of narratives."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.scorers.clinical.fhir.resources import PLAIN, definition, patient
from touchstone.scorers.clinical.formats.fhir import validate
from touchstone.scorers.clinical.formats.fhir.profiles.relative_bounds import against_now
from touchstone.scorers.clinical.report import Context, Report

HL7 = "http://hl7.org/fhir/StructureDefinition/"
NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)
YEARS, DAYS = (
    {"value": 120, "system": "http://unitsofmeasure.org", "code": "a", "unit": "years"},
    {"value": 0, "system": "http://unitsofmeasure.org", "code": "d"},
)


def judged(facts: dict[str, Any], folder: Path, path: str = "Patient.birthDate", **changes: Any) -> Report:
    (folder / "a.json").write_text(json.dumps(definition({"id": path, "path": path} | facts)))
    options = replace(PLAIN, packages=(folder / "a.json",), profiles=("http://a.test/sd",))
    return validate(json.dumps(patient(**changes)).encode(), Context(now=lambda: NOW), options)


def codes(report: Report) -> list[str]:
    return [one.code for one in report.findings if one.severity == "major"]


@pytest.mark.parametrize(
    ("facts", "born", "breach"),
    [
        ({"minValueQuantity": YEARS}, "1980-02-29", False),
        ({"minValueQuantity": YEARS}, "1906-03-31", False),
        ({"minValueQuantity": YEARS}, "1906-03-30", False),  # a day has no zone
        ({"minValueQuantity": YEARS}, "1906", False),  # it may be later in that year
        ({"minValueQuantity": YEARS}, "1906-03-29", True),
        ({"minValueQuantity": YEARS}, "1905", True),
        ({"minValueDuration": YEARS}, "1871-02-03", True),
        ({"maxValueQuantity": DAYS}, "2026-04-01", False),
        ({"maxValueQuantity": DAYS}, "2026-04-02", True),
        ({"maxValueQuantity": DAYS}, "2027", True),
    ],
)
def test_a_quantity_bounds_a_date_relative_to_now(tmp_path: Path, facts: dict[str, Any], born: str, breach: bool) -> None:
    assert codes(judged(facts, tmp_path, birthDate=born)) == (["fhir.profiles.range"] if breach else [])


def test_the_message_of_a_relative_bound_has_its_span(tmp_path: Path) -> None:
    report = judged({"minValueQuantity": YEARS}, tmp_path, birthDate="1871-02-03")
    assert [one.message for one in report.findings if one.severity == "major"] == ["profile sd asks for a date no earlier than 120 years ago"]


def test_a_span_in_an_unknown_unit_is_not_checked(tmp_path: Path) -> None:
    report = judged({"minValueQuantity": {"value": 1, "unit": "eons"}}, tmp_path)
    assert codes(report) == []
    assert [one.check for one in report.not_checked] == ["bounds of a profile"]


@pytest.mark.parametrize(
    ("moment", "span", "order"),
    [
        ("2026-02-28T12:00:00Z", {"value": 1, "code": "mo"}, 0),  # 31 March less one month
        ("2026-02-28T11:59:59Z", {"value": 1, "code": "mo"}, -1),
        ("2026-03-24T12:00:01Z", {"value": 1, "code": "wk"}, 1),
        ("2026-03-31T13:30:00+02:00", {"value": 90, "code": "min"}, 1),
        ("2026-03-31", {"value": 90, "code": "min"}, 0),
        ("2026", {"value": 10, "code": "a"}, 1),
        ("2026-03-31T12:00:00Z", {"value": 1e300, "code": "s"}, None),
        ("2026-03-31T12:00:00Z", {"value": 1, "system": "http://a.example/u", "code": "d"}, None),
        ("2026-03-31T12:00:00Z", {"value": True, "code": "d"}, None),
    ],
)
def test_a_limit_is_counted_by_the_calendar(moment: str, span: dict[str, Any], order: int | None) -> None:
    assert against_now(moment, span, NOW, -1) == order


def narrative(inner: str) -> dict[str, str]:
    return {"status": "generated", "div": f'<div xmlns="http://www.w3.org/1999/xhtml">{inner}</div>'}


EN, NL = '<div lang="en" xml:lang="en"><p>A</p></div>', '<div xml:lang="nl" lang="nl"><p>A</p></div>'


@pytest.mark.parametrize(
    ("asked", "language", "inner", "breach"),
    [
        ("_no", None, "<p lang='nl'>A</p>", False),
        ("_no", None, "<p>A<br/></p>", False),
        ("_no", None, EN, True),
        ("_yes", None, EN, False),
        ("_yes", None, f"<div>{EN}</div>", True),
        ("_yes", None, "<p>A</p>", True),
        ("_resource", "nl", EN + NL, False),
        ("_resource", "de", EN + NL, True),
        ("_resource", None, EN, False),
        ("_resource", None, "<p>A</p>", True),
        ("nl", "en", EN + NL, False),
        ("nl", "nl", EN, True),
    ],
)
def test_a_narrative_has_the_sections_in_languages_that_a_profile_asks_for(tmp_path: Path, asked: str, language: str | None, inner: str, breach: bool) -> None:
    facts = {"extension": [{"url": HL7 + "narrative-language-control", "valueCode": asked}]}
    report = judged(facts, tmp_path, "Patient.text", text=narrative(inner), language=language)
    assert codes(report) == (["fhir.profiles.narrative"] if breach else [])


@pytest.mark.parametrize(
    ("level", "inner", "severities"),
    [
        ("error", '<p class="generated">A</p><p class="blue original">B</p>', []),
        ("error", '<div class="boilerplate"><p>A</p></div>', []),
        ("error", '<p class="generated">A</p><p>B</p>', ["major"]),
        ("error", 'A <p class="generated">B</p>', ["major"]),
        ("warning", "<p>A</p>", ["minor"]),
        ("success", "<p>A</p>", []),
    ],
)
def test_each_part_of_a_narrative_gives_its_source_where_a_profile_asks_for_it(tmp_path: Path, level: str, inner: str, severities: list[str]) -> None:
    facts = {"extension": [{"url": HL7 + "narrative-source-control", "valueCode": level}]}
    report = judged(facts, tmp_path, "Patient.text", text=narrative(inner))
    assert [one.severity for one in report.findings if one.code == "fhir.profiles.narrative"] == severities


@pytest.mark.parametrize(
    ("photo", "breach"), [({"data": "AAAA"}, False), ({"data": "AAAAAA=="}, True), ({"size": 4}, True), ({"url": "http://a.example/x"}, False)]
)
def test_an_attachment_has_at_most_the_bytes_that_a_profile_allows(tmp_path: Path, photo: dict[str, Any], breach: bool) -> None:
    facts = {"extension": [{"url": HL7 + "maxSize", "valueDecimal": 3}]}
    report = judged(facts, tmp_path, "Patient.photo", photo=[{"contentType": "image/png"} | photo])
    assert codes(report) == (["fhir.profiles.length"] if breach else [])
