"""Dashboards as code: `python -m touchstone.ops.monitoring.dashboards` writes Grafana's JSON.

The JSON in `ops/monitoring/grafana` is what is used; a test holds it equal to what this code makes. No suite is named: suites, components,
engines and topics come from the labels that a process exposes, so a new suite is on every page without a change.
"""

from collections.abc import Iterator
from pathlib import Path

from touchstone.ops.monitoring.dashboards import engines, judges, overview, streaming, suites
from touchstone.ops.monitoring.dashboards.parts import as_json

FOLDER = Path(__file__).resolve().parents[1] / "grafana" / "dashboards"


def files() -> Iterator[tuple[Path, str]]:
    """Every dashboard: its file and its text."""
    for page in (overview.PAGE, suites.PAGE, streaming.PAGE, engines.PAGE, judges.PAGE):
        yield FOLDER / f"{page.uid}.json", as_json(page)
