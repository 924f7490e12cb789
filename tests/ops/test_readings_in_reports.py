"""Every command that writes an HTML report shows how the worst cases read, where it may quote, and nowhere else."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.ops.clinical_cases import BAD_FHIR, text
from tests.ops.commands import Commands, Ran
from tests.ops.loss_cases import TableScorer, card, summary
from tests.ops.test_show_kept import EVENT, keep, stored
from tests.scorers.safe.cases import record
from touchstone.schemas.result import ScoreResult
from touchstone.scorers.summary import SUITE as SUMMARY

__all__ = ["stored"]
CANARY = "Xylander Quiborax"
RECORDS = [record("fails", signals=[f"{CANARY} fell"]), record("passes", signals=["fever"], found=["fever"])]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A file of each suite that has a command of its own."""
    safe, loss, clinical = tmp_path / "safe.json", tmp_path / "loss.jsonl", tmp_path / "patient.json"
    safe.write_text(json.dumps(RECORDS), encoding="utf-8")
    loss.write_text(json.dumps(summary("a", generated=f"{CANARY} fell.")), encoding="utf-8")
    clinical.write_text(text(BAD_FHIR | {"name": [{"text": CANARY}]}), encoding="utf-8")
    monkeypatch.setattr("touchstone.scorers.summary.SUITE", replace(SUMMARY, build=lambda _: TableScorer({"a": card(0.9, "Fail")})))
    return {"safe": safe, "loss": loss, "clinical": clinical}


def page_of(run: Commands, *arguments: object) -> tuple[str, Ran]:
    """The HTML report that a command writes."""
    output = Path("report.html")
    ran = run(*arguments, "--format", "html", "--output", output)
    return output.read_text(encoding="utf-8"), ran


@pytest.mark.parametrize(
    ("command", "file"),
    [(("score", "safe_v0"), "safe"), (("safe", "score"), "safe"), (("loss", "score"), "loss"), (("eval", "validate"), "clinical")],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else one,
)
def test_a_command_on_files_shows_how_its_failed_cases_read(commands: Commands, files: dict[str, Any], command: tuple[str, ...], file: str) -> None:
    quoting, _ = page_of(commands, *command, files[file], "--quote")
    assert '<details class="reading' in quoting
    assert CANARY in quoting
    assert '<a href="#reading-0">Read it in full</a>' in quoting
    withholding, _ = page_of(commands, *command, files[file], "--withhold")
    assert '<details class="reading' not in withholding
    assert CANARY not in withholding


def test_a_report_from_the_store_reads_the_texts_from_the_archive(commands: Commands, monkeypatch: pytest.MonkeyPatch, stored: tuple[str, ScoreResult]) -> None:
    url, _ = stored
    keep(monkeypatch, url, orjson.dumps(EVENT))
    quoting, ran = page_of(commands, "report", "--store", url, "--quote")
    assert f"{CANARY} fell" in quoting
    assert CANARY not in ran.err
    without, _ = page_of(commands, "report", "--store", url)
    assert '<details class="reading' not in without
    assert CANARY not in without


def test_a_case_that_the_archive_does_not_have_is_read_without_text_and_why_is_said(
    commands: Commands, monkeypatch: pytest.MonkeyPatch, stored: tuple[str, ScoreResult]
) -> None:
    url, _ = stored
    keep(monkeypatch, url, None)
    page, ran = page_of(commands, "report", "--store", url, "--quote")
    assert "The text of the case is not at hand" in page
    assert "signal 1" in page
    assert "1 case of the report without text: the archive does not have it" in ran.err
