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
