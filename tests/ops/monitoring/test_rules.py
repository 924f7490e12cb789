import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ops.monitoring.promql import ALERTS, MONITORING, OWN, RULES, exported, metrics_of, queries, recorded, rules
from touchstone.scorers.registry import suite_entry_points

ROOT = Path(__file__).parents[3]
TESTS = sorted((MONITORING / "prometheus" / "tests").glob("*.yml"))
SCENARIOS: list[dict[str, Any]] = [scenario for path in TESTS for scenario in yaml.safe_load(path.read_text(encoding="utf-8"))["tests"]]
EVERY_ALERT = rules(ALERTS)
NAMES = sorted({alert["alert"] for alert in EVERY_ALERT})
#: promtool takes seconds of a processor, on a very busy machine minutes.
PATIENCE_S = 900
#: Labels that may stand in an alert's text: names of processes, suites, engines and models, never what was scored.
TELLABLE = {"job", "instance", "suite", "subject", "engine", "dependency", "model", "outcome", "suite_version", "config_digest"}


def run(tool: str, *arguments: str) -> str:
    """A tool's output. Skips where it is not installed; fails where it fails."""
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed (Debian: apt-get install prometheus prometheus-alertmanager)")
    done = subprocess.run([tool, *arguments], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_promtool_finds_nothing_wrong_with_the_rules() -> None:
    assert "SUCCESS" in run("promtool", "check", "rules", "--lint=all", str(RULES), str(ALERTS))


@pytest.mark.timeout(PATIENCE_S + 60)
@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_every_alert_fires_when_it_should_and_only_then(path: Path) -> None:
    assert "SUCCESS" in run("promtool", "test", "rules", str(path))


def test_the_alertmanagers_configuration_is_valid() -> None:
    assert "SUCCESS" in run("amtool", "check-config", str(MONITORING / "alertmanager" / "alertmanager.yml"))


def fires(scenario: dict[str, Any]) -> set[str]:
    told = {test["alertname"] for test in scenario.get("alert_rule_test", []) if test["exp_alerts"]}
    samples = [sample["labels"] for test in scenario.get("promql_expr_test", []) for sample in test["exp_samples"]]
    return told | {name for labels in samples for name in re.findall(r'alertname="(\w+)"', labels)}


@pytest.mark.parametrize("name", NAMES)
def test_an_alert_has_a_scenario_in_which_it_fires(name: str) -> None:
    assert any(name in fires(scenario) for scenario in SCENARIOS)


def test_the_healthy_hour_holds_every_metric_that_an_alert_reads() -> None:
    healthy = next(scenario for scenario in SCENARIOS if scenario["name"] == "a healthy hour raises nothing")
    given = {series["series"].partition("{")[0] for series in healthy["input_series"]}
    known, wanted = recorded(), set[str]()
    todo = {name for alert in EVERY_ALERT for name in metrics_of(alert["expr"])}
    while todo:
        name = todo.pop()
        if name in known:
            todo |= metrics_of(known[name])
        else:
            wanted.add(name)
    assert wanted - given == set()


@pytest.mark.parametrize("alert", EVERY_ALERT, ids=lambda alert: f"{alert['alert']}-{alert['labels'].get('window', '')}")
def test_an_alert_says_how_bad_it_is_what_it_means_and_what_to_do(alert: dict[str, Any]) -> None:
    assert alert["labels"]["severity"] in {"critical", "warning", "info"}
    assert alert["annotations"].keys() == {"summary", "description", "runbook_url"}
    default = "https://git.example.org/touchstone/blob/main/docs"
    link = f"{{{{ with $externalLabels.touchstone_docs }}}}{{{{ . }}}}{{{{ else }}}}{default}{{{{ end }}}}/runbooks/{alert['alert']}.md"
    assert alert["annotations"]["runbook_url"] == link
    page = (ROOT / "docs" / "runbooks" / f"{alert['alert']}.md").read_text(encoding="utf-8")
    assert re.findall(r"^#+ .*$", page, re.MULTILINE) == [f"# {alert['alert']}", "## What it means", "## What to look at", "## What to do"]
    for text in alert["annotations"].values():
        assert set(re.findall(r"\$labels\.(\w+)", text)) <= TELLABLE


def test_a_runbook_s_link_begins_with_the_address_that_prometheus_is_given(tmp_path: Path) -> None:
    """Rendered by promtool: the default is in the rules' own tests, the setting here."""
    folder = MONITORING / "prometheus" / "tests"
    flow = yaml.safe_load((folder / "flow.yml").read_text(encoding="utf-8"))
    test = next(scenario for scenario in flow["tests"] if fires(scenario))
    test["external_labels"] = {"touchstone_docs": "https://wiki.test/touchstone"}
    for check in test["alert_rule_test"]:
        for alert in check.get("exp_alerts") or ():
            alert["exp_annotations"]["runbook_url"] = f"https://wiki.test/touchstone/runbooks/{check['alertname']}.md"
    flow |= {"tests": [test], "rule_files": [str((folder / name).resolve()) for name in flow["rule_files"]]}
    (tmp_path / "flow.yml").write_text(yaml.safe_dump(flow), encoding="utf-8")
    assert "SUCCESS" in run("promtool", "test", "rules", str(tmp_path / "flow.yml"))


def test_every_runbook_has_an_alert() -> None:
    assert {path.stem for path in (ROOT / "docs" / "runbooks").glob("*.md")} == set(NAMES)


def test_recorded_names_are_level_metric_operations_and_the_level_is_what_is_left() -> None:
    for name, expression in recorded().items():
        level, metric, operations = name.split(":")
        assert re.fullmatch(r"touchstone_[a-z_]+", metric), name
        assert operations, name
        outermost = re.match(r"(?:1 - )?(?:sum|max) by \(([^)]*)\)", expression)
        if outermost:
            assert sorted(outermost.group(1).replace(", ", "_").split("_")) == sorted(level.split("_")), name


def test_rules_read_what_is_exported_or_recorded() -> None:
    known = exported() | OWN | recorded().keys()
    for rule in [*rules(RULES), *EVERY_ALERT]:
        assert metrics_of(rule["expr"]) - known == set(), rule


def test_every_recorded_series_is_read() -> None:
    read = [*(alert["expr"] for alert in EVERY_ALERT), *(query.expression for query in queries()), *recorded().values()]
    # What people ask first of a suite, though no page here does.
    for_people = {
        "job_suite:touchstone_consumer_lag_seconds:max",
        "job_suite:touchstone_events_in_flight:sum",
        "job_suite_label:touchstone_results:rate5m",
        "job_suite_metric:touchstone_score_ratio:mean_rate1h",
    }
    assert recorded().keys() - {name for text in read for name in metrics_of(text)} <= for_people


@pytest.mark.parametrize("path", [RULES, ALERTS], ids=lambda path: path.parent.name)
def test_ratios_are_made_of_sums_and_no_suite_is_named(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"\bavg(_over_time)?\b", text)
    assert [name for name in suite_entry_points() if name in text] == []
