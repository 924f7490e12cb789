"""Reports say which findings a list of known issues suppressed."""

import json
from pathlib import Path

import pytest

from tests.ops.commands import Commands


@pytest.mark.parametrize("form", ["console", "json", "markdown", "junit", "html"])
def test_every_format_of_report_says_what_was_suppressed(commands: Commands, form: str) -> None:
    Path("patient.json").write_text('{"resourceType": "Patient", "gender": "X"}', encoding="utf-8")
    entry = '[[suppress]]\ncode = "fhir.bindings.required"\nreason = "ticket seventeen"\nexpires = 9999-01-01\n'
    Path("known.toml").write_text(entry, encoding="utf-8")
    ran = commands("eval", "validate", "patient.json", "--suppress", "known.toml", "--format", form)
    assert ("fhir.bindings.required" if form == "json" else "ticket seventeen") in ran.out
    assert "1 finding suppressed" in ran.err
    assert ran.code == 0


@pytest.mark.parametrize("form", ["console", "json", "markdown", "junit", "html"])
def test_every_format_of_report_names_entries_that_expired_or_matched_nothing(commands: Commands, form: str) -> None:
    Path("patient.json").write_text('{"resourceType": "Patient", "gender": "male"}', encoding="utf-8")
    entries = "".join(f'[[suppress]]\ncode = "{code}"\nreason = "r"\nexpires = {day}\n' for code, day in (("a.old", "2020-01-01"), ("b.idle", "9999-01-01")))
    Path("known.toml").write_text(entries, encoding="utf-8")
    ran = commands("eval", "validate", "patient.json", "--suppress", "known.toml", "--format", form)
    if form == "json":
        assert json.loads(ran.out)[0]["suppress_idle"] == {"a.old": "expired", "b.idle": "unmatched"}
    else:
        assert "expired: suppresses nothing" in ran.out
        assert "matched nothing: take it out" in ran.out


def test_a_malformed_list_is_one_message_and_exit_3(commands: Commands) -> None:
    Path("patient.json").write_text('{"resourceType": "Patient"}', encoding="utf-8")
    Path("known.toml").write_text('[[suppress]]\ncode = "a"\nexpires = 2030-01-01\n', encoding="utf-8")
    ran = commands("eval", "validate", "patient.json", "--suppress", "known.toml")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err == "touchstone: suppress: known.toml: entry 1: reason is missing; add it\n"


@pytest.mark.parametrize("form", ["console", "markdown", "html", "junit"])
@pytest.mark.parametrize(
    ("document", "codes", "said"),
    [
        ({"resourceType": "Patient", "gender": "X"}, ("fhir.bindings.required",), "yes, but for 1 suppressed finding"),
        ({"resourceType": "Patient", "gender": "X", "birthDate": "2001-02-30"}, ("fhir.*",), "yes, but for 3 suppressed findings"),
        ({"resourceType": "Patient", "gender": "X", "birthDate": "2001-02-30"}, ("fhir.b*", "fhir.p*"), "yes, but for 2 suppressed findings"),
    ],
)
def test_a_document_is_called_valid_only_but_for_what_is_suppressed(
    commands: Commands, form: str, document: dict[str, str], codes: tuple[str, ...], said: str
) -> None:
    Path("patient.json").write_text(json.dumps(document), encoding="utf-8")
    Path("known.toml").write_text("".join(f'[[suppress]]\ncode = "{code}"\nreason = "r"\nexpires = 9999-01-01\n' for code in codes), encoding="utf-8")
    ran = commands("eval", "validate", "patient.json", "--suppress", "known.toml", "--format", form)
    assert ran.code == 0
    assert "no findings" not in ran.out
    if form == "junit":
        assert f"{codes[0]}: " in ran.out
        assert "suppressed until" in ran.out
    else:
        assert said in ran.out


def test_an_invalid_document_says_how_much_more_is_suppressed_and_a_clean_one_says_nothing(commands: Commands) -> None:
    Path("known.toml").write_text('[[suppress]]\ncode = "fhir.bindings.required"\nreason = "r"\nexpires = 9999-01-01\n', encoding="utf-8")
    for document, said in (
        ({"resourceType": "Patient", "gender": "X", "birthDate": "2001-02-30"}, "Valid: no, a rule of the standard is broken; 1 major; 1 finding suppressed\n"),
        ({"resourceType": "Patient", "gender": "male"}, "Valid: yes; no findings\n"),
    ):
        Path("patient.json").write_text(json.dumps(document), encoding="utf-8")
        assert said in commands("eval", "validate", "patient.json", "--suppress", "known.toml").out
