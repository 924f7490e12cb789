import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tests.ops.reports.test_comparing import MIXED, batch
from tests.ops.reports.toy import SUITE, problem, report_of, result
from touchstone.ops.batch.run import Run
from touchstone.ops.batch.sources import find_sources
from touchstone.ops.reports import earlier
from touchstone.ops.reports.comparing import compare
from touchstone.ops.reports.earlier import read_report, reported
from touchstone.ops.reports.layouts import lay_out
from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical import SUITE as CLINICAL
from touchstone.scorers.clinical.settings import ClinicalSettings
from touchstone.scorers.reporting import LayoutOptions
from touchstone.scorers.reporting.report import RunFacts
from touchstone.scorers.safe import SUITE as SAFE
from touchstone.scorers.safe.settings import SafeSettings
from touchstone.scorers.suite import Suite
from touchstone.scorers.summary import SUITE as SUMMARY

ROOT = Path(__file__).parents[3]
SAMPLES = ((SAFE, SafeSettings(quote=True), "scorers/safe/samples/I25"), (CLINICAL, ClinicalSettings(), "scorers/clinical/samples/traces"))


def written(path: Path, suite: Suite, report: Any) -> Path:
    path.write_text("".join(lay_out(suite, report, "json", LayoutOptions(suite.verdict(report, None)))), encoding="utf-8")
    return path


@pytest.mark.parametrize(("suite", "settings", "samples"), SAMPLES, ids=[suite.name for suite, _, _ in SAMPLES])
def test_a_report_compared_with_itself_read_back_has_every_case_and_no_change(suite: Suite, settings: Any, samples: str, tmp_path: Path) -> None:
    run = Run(suite, settings)
    facts = run.score(find_sources([ROOT / samples], any_file=True))
    report = suite.report(run.entries, facts)
    found = compare(suite, read_report(written(tmp_path / "before.json", suite, report), suite), reported(report, suite))
    assert found.pairs == found.before.cases == found.now.cases > 4
    assert found.before.passed == found.now.passed
    assert [one.before for one in found.values] == [one.now for one in found.values]
    assert (found.improved, found.worsened, found.codes, found.alike) == (0, 0, (), True if suite is SAFE else None)


def test_a_loss_report_is_read_back(tmp_path: Path) -> None:
    entries = [one.model_copy(update={"values": {"loss": 0.25}, "suite": SUMMARY.name}) for one in batch(["Pass", "Fail"])]
    report = SUMMARY.report(entries, facts(SUMMARY))
    found = compare(SUMMARY, read_report(written(tmp_path / "before.json", SUMMARY, report), SUMMARY), reported(report, SUMMARY))
    assert (found.pairs, found.alike, found.values[0].before) == (2, True, 0.25)


def facts(suite: Suite) -> RunFacts:
    return report_of([]).facts if suite is SUITE else dataclasses.replace(report_of([]).facts, suite=suite)


@pytest.mark.parametrize("entries", [batch(MIXED), [*batch(["unscored"]), problem()], []], ids=["cases", "none scored", "none"])
def test_the_report_of_any_suite_is_read_back(entries: Any, tmp_path: Path) -> None:
    report = report_of(entries)
    side = read_report(written(tmp_path / "before.json", SUITE, report), SUITE)
    assert list(side.cases) == list(reported(report, SUITE).cases)
    assert (side.suite_version, side.config_digest) == ("1.2.0", "d41d8cd98f00b204")


class Model(BaseModel):
    names: list[str]


def test_the_report_of_a_suite_that_is_a_model_is_read_back_by_its_view(tmp_path: Path) -> None:
    suite = dataclasses.replace(
        SUITE,
        report_model=Model,
        report=lambda entries, given: Model(names=[one.case_id for one in entries]),
        view=lambda report: SUITE.view(report_of([result(name) for name in report.names])),
        verdict=lambda report, gate: SUITE.verdict(report_of([]), gate),
    )
    report = suite.report(batch(["Pass", "Pass"]), facts(SUITE))
    assert [case.name for case in read_report(written(tmp_path / "before.json", suite, report), suite).cases] == ["case-000", "case-001"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is no JSON report of toy"),
        ("[]", "is no JSON report of toy"),
        ('{"suite": "toy"}', "is no JSON report of toy"),
        ("[" * 100_000, "is no JSON report of toy"),
        ("\x00\xff", "is no JSON report of toy"),
    ],
)
def test_what_is_no_report_is_refused_in_one_line(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match=said) as refused:
        read_report(path, SUITE)
    assert len(str(refused.value).splitlines()) == 1


def test_a_report_of_another_suite_is_refused_by_its_name(tmp_path: Path) -> None:
    other = dataclasses.replace(SUITE, name="other")
    path = written(tmp_path / "x.json", other, report_of(batch(MIXED), other))
    with pytest.raises(ConfigError, match="is a report of other, not of toy"):
        read_report(path, SUITE)


def test_a_file_that_is_not_there_is_refused_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.json: cannot be read \(No such file"):
        read_report(tmp_path / "nowhere.json", SUITE)


def test_a_report_past_the_bound_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earlier, "REPORT_BYTES_MAX", 10)
    with pytest.raises(ConfigError, match="larger than 10 bytes"):
        read_report(written(tmp_path / "x.json", SUITE, report_of([])), SUITE)


def test_a_suite_that_does_not_say_its_form_cannot_be_compared_by_file(tmp_path: Path) -> None:
    def own(_report: Any, _options: Any) -> Iterator[str]:
        yield json.dumps({})

    suite = dataclasses.replace(SUITE, layouts={"json": own})
    with pytest.raises(ConfigError, match="report_model"):
        read_report(tmp_path / "x.json", suite)
