"""`touchstone score` of several concerns: one report with a row for each; `--concern` narrows. Files are named with the folder of their concern."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.ops.commands import Commands
from touchstone.scorers.safe import samples

(SAMPLES,) = samples().paths
CASE = {"test_id": "T-1", "archetype": "a", "expectations": {}, "output": {"summary": "A fall."}}


def test_several_concerns_are_one_report_with_a_row_for_each(commands: Commands) -> None:
    ran = commands("score", "safe_v0", SAMPLES)
    assert ran.code == 1
    assert "SAFE v0: 4 concerns" in ran.out
    rows = [line.split() for line in ran.out.partition("By concern")[2].partition("Values")[0].splitlines() if line.strip().startswith("I")]
    assert [row[0] for row in rows] == ["I25", "I30", "I41", "I52"]
    assert all(int(row[1]) == sum(map(int, row[2:6])) for row in rows)
    assert sum(int(row[1]) for row in rows) == 44
    assert ran.err.endswith("SAFE v0 FAIL: 9 of 44 cases failed (exit 1)\n")


def test_one_concern_of_them_is_the_suite_s_own_report(commands: Commands) -> None:
    narrowed = commands("score", "safe_v0", SAMPLES, "--concern", "I52")
    alone = commands("score", "safe_v0", SAMPLES / "I52")
    assert "SAFE v0 Scorecard - I52" in narrowed.out
    assert narrowed.out.splitlines()[:12] == alone.out.splitlines()[:12]


@pytest.mark.parametrize("form", ["json", "markdown", "junit", "html"])
def test_every_format_holds_all_of_them(commands: Commands, form: str) -> None:
    out = commands("score", "safe_v0", SAMPLES, "--format", form).out
    assert all(name in out for name in ("I25-BATCH-1-001", "I30", "I41", "I52-GOLDEN-001"))
    if form == "json":
        assert json.loads(out)["labels"]["Fail"] == 9
    if form == "junit":
        assert {suite.get("name") for suite in ET.fromstring(out).iter("testsuite")} == {"I25", "I30", "I41", "I52"}


def test_a_gate_counts_all_of_them(commands: Commands) -> None:
    assert commands("score", "safe_v0", SAMPLES, "--min-pass-rate", "0.5").code == 0
    assert commands("score", "safe_v0", SAMPLES, "--min-pass-rate", "0.6").code == 1


def test_a_comparison_is_of_one_concern(commands: Commands) -> None:
    commands("score", "safe_v0", SAMPLES / "I25", "--format", "json", "--output", "earlier.json")
    ran = commands("score", "safe_v0", SAMPLES, "--against", "earlier.json")
    assert ran.code == 3
    assert "choose one with --concern" in ran.one_line


@pytest.mark.parametrize("given", ["I52/golden.json", "I52", "./I52", "."])
def test_a_case_without_a_concern_gets_that_of_its_folder_however_it_is_named(commands: Commands, given: str) -> None:
    Path("I52").mkdir()
    Path("I52/golden.json").write_text(json.dumps(CASE))
    ran = commands("score", "safe_v0", given, "--format", "json")
    assert json.loads(ran.out)["concern_id"] == "I52"


@pytest.mark.parametrize("given", ["golden.json", "../golden.json"])
def test_a_file_without_a_folder_in_its_name_says_what_is_missing(commands: Commands, given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("golden.json").write_text(json.dumps(CASE))
    if given.startswith(".."):
        Path("inside").mkdir()
        monkeypatch.chdir("inside")
    assert "concern_id is missing; add it" in commands("score", "safe_v0", given).err
    told = commands("produce", given).one_line
    assert told == f"touchstone: nothing was sent: {given}, line 1: concern_id is missing; add it"


@pytest.mark.parametrize("given", [SAMPLES / "I52" / "I52_golden.jsonl", SAMPLES / "I52"])
def test_produce_takes_the_sample_whose_folder_names_its_concern(commands: Commands, given: Path) -> None:
    ran = commands("produce", given, "--bootstrap", "127.0.0.1:1")
    assert "Kafka at 127.0.0.1:1" in ran.one_line  # everything was checked before
    assert json.loads(commands("score", "safe_v0", given, "--format", "json").out)["concern_id"] == "I52"


def test_a_record_of_an_unknown_kind_is_refused_with_a_next_step(commands: Commands) -> None:
    Path("x.json").write_text(json.dumps({"kind": "nothing"}))
    told = commands("produce", "x.json").one_line
    assert "kind_unknown at kind; `kind` is one of " in told
    assert "`touchstone explain FILE` says how it is read" in told
