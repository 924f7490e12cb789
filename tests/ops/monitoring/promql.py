"""What rules and dashboards ask, taken apart far enough to be checked: names of metrics, selectors, matchers."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric as Family
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from tests.streams.telemetry.test_names import engine_readings
from touchstone.streams.telemetry.metric_list import METRICS
from touchstone.streams.telemetry.readings import families
from touchstone.streams.telemetry.service_counts import ProjectorCounts

MONITORING = Path(__file__).parents[3] / "touchstone" / "ops" / "monitoring"
RULES = MONITORING / "prometheus" / "rules" / "touchstone.yml"
ALERTS = MONITORING / "prometheus" / "alerts" / "touchstone.yml"
DASHBOARDS = sorted((MONITORING / "grafana" / "dashboards").glob("*.json"))
#: What Prometheus itself makes.
OWN = {"up", "ALERTS"}
#: What Grafana would fill in for All, and for a scrape every second.
VARIABLES = {"$__rate_interval": "1m", "$__interval": "15s", **{f"${name}": ".+" for name in ("job", "instance", "suite", "metric", "engine")}}

_NAME = re.compile(r"(?<![\w:.$])[a-zA-Z_:][\w:]*(?!\s*\()(?![\w:])")
_WORDS = {"and", "or", "unless", "on", "ignoring", "by", "without", "group_left", "group_right", "offset", "bool", "sum", "max", "min", "count", "group", "abs"}
_SELECTOR = re.compile(r'(?P<name>[a-zA-Z_:][\w:]*)\{(?P<matchers>(?:[^"}]|"[^"]*")*)\}')


def metrics_of(expression: str) -> set[str]:
    text = re.sub(r'"[^"]*"', "", expression)
    text = re.sub(r"\{[^}]*\}|\[[^\]]*\]", " ", text)
    text = re.sub(r"\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)", " ", text)
    return {name for name in _NAME.findall(text) if name not in _WORDS}


def selectors(expression: str) -> Iterator[tuple[str, str]]:
    """(metric, matchers) of every selector with braces."""
    for found in _SELECTOR.finditer(expression):
        yield found["name"], found["matchers"]


def filled(expression: str) -> str:
    """An expression of a dashboard, as Grafana sends it to Prometheus."""
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    return expression


@dataclass(frozen=True)
class Query:
    """An expression and where it stands."""

    place: str
    expression: str


def rules(path: Path) -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"] for rule in group["rules"]]


@cache
def recorded() -> dict[str, str]:
    """Recorded series → their expression."""
    return {rule["record"]: rule["expr"] for rule in rules(RULES)}


def read(path: Path) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return made


def panels(page: dict[str, Any]) -> list[dict[str, Any]]:
    """Its panels, without the rows' titles."""
    return [panel for panel in page["panels"] if panel["type"] != "row"]


def queries() -> list[Query]:
    found = []
    for path in DASHBOARDS:
        page = read(path)
        found += [Query(f"{page['title']} / {panel['title']} / {target['refId']}", target["expr"]) for panel in panels(page) for target in panel["targets"]]
    return found


@cache
def exported() -> frozenset[str]:
    """Names of the samples that Touchstone's processes expose, those of the client library included."""
    registry = CollectorRegistry()
    ProjectorCounts(registry)
    library = list(text_string_to_metric_families(generate_latest(registry).decode()))
    names = {sample.name for family in library for sample in family.samples}
    for name, kind in {(metric.name, metric.kind) for metric in METRICS} | {_full(family) for family in families("a_suite", engine_readings())}:
        names |= {name + suffix for suffix in ("_bucket", "_sum", "_count")} if kind == "histogram" else {name}
    return frozenset(names)


def _full(family: Family) -> tuple[str, str]:
    return family.name + ("_total" if family.type == "counter" else ""), family.type
