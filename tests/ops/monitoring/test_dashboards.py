"""The dashboards: made from code, and as grafana/dashboard-linter would have them."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ops.monitoring.promql import DASHBOARDS, MONITORING, OWN, Query, exported, filled, metrics_of, panels, queries, read, recorded, selectors
from touchstone.scorers.registry import suite_entry_points

EVERY = queries()
UNITS = {"cps", "percentunit", "s", "short", "bytes", "currencyUSD"}
#: The linter has a rule for job and one for instance. These have no instance any more: they were added up over instances, or are alerts.
WITHOUT_INSTANCE = re.compile(r".*:.*:.*|ALERTS")


def place(query: Query) -> str:
    return query.place


@pytest.fixture(params=DASHBOARDS, ids=lambda path: path.stem)
def page(request: pytest.FixtureRequest) -> dict[str, Any]:
    return read(request.param)


def test_the_five_pages_are_there() -> None:
    titles = [read(path)["title"].removeprefix("Touchstone / ") for path in DASHBOARDS]
    assert sorted(titles) == ["Judges and cost", "NLI and GPU", "Overview", "Streaming", "Suites"]


def test_what_is_committed_is_what_the_code_makes() -> None:
    from touchstone.ops.monitoring.dashboards import files

    made = {path.name: text for path, text in files()}
    assert made == {path.name: path.read_text(encoding="utf-8") for path in DASHBOARDS}, "run: python -m touchstone.ops.monitoring.dashboards"


def test_the_data_source_is_chosen_on_the_page(page: dict[str, Any]) -> None:
    (chosen,) = [variable for variable in page["templating"]["list"] if variable["type"] == "datasource"]
    assert (chosen["name"], chosen["label"], chosen["query"]) == ("datasource", "Data source", "prometheus")


@pytest.mark.parametrize("name", ["job", "instance"])
def test_job_and_instance_are_chosen_on_the_page(page: dict[str, Any], name: str) -> None:
    (chosen,) = [variable for variable in page["templating"]["list"] if variable["name"] == name]
    assert chosen["label"] == name.capitalize()
    assert chosen["type"] == "query"
    assert chosen["multi"]
    assert chosen["includeAll"]
    assert chosen["allValue"] == ".+"
    assert chosen["datasource"] == {"type": "prometheus", "uid": "${datasource}"}


def test_suites_come_from_what_is_exported(page: dict[str, Any]) -> None:
    (chosen,) = [variable for variable in page["templating"]["list"] if variable["name"] == "suite"]
    assert chosen["query"].startswith("label_values(touchstone_")
    assert [name for name in suite_entry_points() if name in json.dumps(page)] == []


def test_every_variable_reads_a_metric_that_exists_and_follows_the_time_range(page: dict[str, Any]) -> None:
    for variable in page["templating"]["list"]:
        if variable["type"] == "query":
            metric, label = re.fullmatch(r"label_values\((\w+)(?:\{[^}]*\})?, (\w+)\)", variable["query"]).groups()  # type: ignore[union-attr]
            assert metric in exported()
            assert variable["refresh"] == 2
            assert label == variable["name"]


def test_every_panel_has_a_title_a_description_a_unit_and_queries(page: dict[str, Any]) -> None:
    titles = [panel["title"] for panel in panels(page)]
    assert all(titles)
    for panel in panels(page):
        assert panel["description"].endswith("."), panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS, panel["title"]
        assert panel["targets"], panel["title"]
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}, panel["title"]
        assert all(target["datasource"]["uid"] == "${datasource}" for target in panel["targets"])


def test_panels_fill_the_grid_without_covering_each_other(page: dict[str, Any]) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in page["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24
        assert not taken & cells, panel["title"]
        taken |= cells
    ids = [panel["id"] for panel in page["panels"]]
    assert len(set(ids)) == len(ids)


def test_a_page_cannot_be_edited_away_from_the_code(page: dict[str, Any]) -> None:
    assert page["editable"] is False
    assert re.fullmatch(r"touchstone-[a-z]+", page["uid"])


@pytest.mark.parametrize("query", EVERY, ids=place)
def test_a_query_reads_what_is_exported_or_recorded(query: Query) -> None:
    assert metrics_of(query.expression)
    assert metrics_of(query.expression) - exported() - OWN - recorded().keys() == set()


@pytest.mark.parametrize("query", EVERY, ids=place)
def test_every_selector_holds_to_the_chosen_job_and_instance(query: Query) -> None:
    found = dict(selectors(query.expression))
    assert found.keys() == metrics_of(query.expression)  # none without braces
    for name, matchers in selectors(query.expression):
        assert 'job=~"$job"' in matchers, name
        assert 'instance=~"$instance"' in matchers or WITHOUT_INSTANCE.fullmatch(name), name


@pytest.mark.parametrize("query", EVERY, ids=place)
def test_rates_follow_the_scrape_interval_and_counters_are_never_shown_raw(query: Query) -> None:
    ranges = re.findall(r"\[([^\]]+)\]", query.expression)
    assert set(ranges) <= {"$__rate_interval"}
    assert not re.search(r"\bavg\b", query.expression)
    if "abs(" in query.expression:
        return  # the difference of the account is one of counters, by its nature
    raw = re.sub(r"rate \([^()]*\)|rate\([^()]*\)", "", query.expression)
    assert not [name for name in metrics_of(raw) if re.search(r"_(total|bucket|sum|count)$", name)]


@pytest.mark.parametrize("query", EVERY, ids=place)
def test_a_legend_names_labels_that_are_kept(query: Query) -> None:
    shown = {target["expr"]: target["legendFormat"] for path in DASHBOARDS for panel in panels(read(path)) for target in panel["targets"]}
    kept = re.match(r"(?:histogram_quantile\([\d.]+, )?(?:sum|max|count) by \(([^)]*)\)", query.expression)
    if kept:
        assert set(re.findall(r"\{\{(\w+)\}\}", shown[query.expression])) <= {label.strip() for label in kept.group(1).split(",")}


@pytest.mark.timeout(660)
def test_promtool_can_read_every_query(tmp_path: Path) -> None:
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed (Debian: apt-get install prometheus)")
    made = [{"record": f"query:number_{number}:x", "expr": filled(query.expression)} for number, query in enumerate(EVERY)]
    path = tmp_path / "queries.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": made}]}))
    done = subprocess.run(["promtool", "check", "rules", str(path)], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_grafana_finds_the_data_source_and_the_pages() -> None:
    provisioning = MONITORING / "grafana" / "provisioning"
    (source,) = yaml.safe_load((provisioning / "datasources" / "prometheus.yml").read_text())["datasources"]
    assert (source["type"], source["isDefault"], source["editable"]) == ("prometheus", True, False)
    (provider,) = yaml.safe_load((provisioning / "dashboards" / "touchstone.yml").read_text())["providers"]
    assert provider["allowUiUpdates"] is False
    compose = yaml.safe_load((MONITORING.parents[2] / "docker-compose.metrics.yml").read_text())
    mounts = {mount["target"]: mount["source"] for mount in compose["services"]["grafana"]["volumes"] if isinstance(mount, dict)}
    assert mounts[provider["options"]["path"]] == "./touchstone/ops/monitoring/grafana/dashboards"
    assert mounts["/etc/grafana/provisioning"] == "./touchstone/ops/monitoring/grafana/provisioning"
