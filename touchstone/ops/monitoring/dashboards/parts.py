"""Panels and pages on the Grafana Foundation SDK that all dashboards share."""

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from grafana_foundation_sdk.builders import common, dashboard, heatmap, prometheus, stat, statetimeline, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common as looks
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models.heatmap import HeatmapColorMode
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

SOURCE = looks.DataSourceRef(type_val="prometheus", uid="${datasource}")
ROW_HEIGHT = 8
#: Matches series that have the label; `.*` would also match series without it.
ALL = ".+"

Target = tuple[str, str]
Panel = Any


@dataclass(frozen=True, slots=True)
class Row:
    """A titled row of panels. `width`: columns of each."""

    title: str
    panels: Sequence[Panel]
    width: int = 12
    height: int = ROW_HEIGHT


@dataclass(frozen=True, slots=True)
class Page:
    """One dashboard. `others`: (name, label, query) of variables beside data source, job, instance and suite."""

    uid: str
    title: str
    description: str
    rows: Sequence[Row]
    others: Sequence[tuple[str, str, str]] = field(default=())


def lines(title: str, description: str, unit: str, *targets: Target, stacked: bool = False, top: float | None = None) -> Panel:
    """Lines over time. `targets`: (expression, legend); `top`: the unit's largest value."""
    panel = _with(timeseries.Panel(), title, description, unit, targets).min(0)
    if top is not None:
        panel = panel.max(top)
    legend = common.VizLegendOptions().show_legend(True).display_mode(looks.LegendDisplayMode.LIST).placement(looks.LegendPlacement.BOTTOM)
    tooltip = common.VizTooltipOptions().mode(looks.TooltipDisplayMode.MULTI).sort(looks.SortOrder.DESCENDING)
    panel = panel.legend(legend).tooltip(tooltip).line_width(1).fill_opacity(60 if stacked else 8).show_points(looks.VisibilityMode.NEVER)
    return panel.stacking(common.StackingConfig().mode(looks.StackingMode.NORMAL)) if stacked else panel


def number(title: str, description: str, unit: str, expression: str, *, warn: float | None = None, bad: float | None = None) -> Panel:
    """One number with its course. `warn`, `bad`: bounds for orange and red; if `bad` is the smaller one, low values are bad."""
    panel = _with(stat.Panel(), title, description, unit, [(expression, "")])
    panel = panel.graph_mode(looks.BigValueGraphMode.AREA).reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    return panel.color_mode(looks.BigValueColorMode.VALUE).thresholds(_thresholds(warn, bad))


def heat(title: str, description: str, unit: str, expression: str) -> Panel:
    """A histogram over time: each column a distribution."""
    query = _target(expression, "{{le}}", 0).format(PromQueryFormat.HEATMAP)
    panel = heatmap.Panel().title(title).description(description).unit(unit).datasource(SOURCE).with_target(query)
    color = heatmap.HeatmapColorOptions().mode(HeatmapColorMode.SCHEME).scheme("Blues").steps(64)
    return panel.calculate(False).color(color).hide_legend()


def states(title: str, description: str, *targets: Target, bad: str = "down", good: str = "up") -> Panel:
    """States (1 or 0) over time, one band per series."""
    words = {"0": model.ValueMappingResult(text=bad, color="red"), "1": model.ValueMappingResult(text=good, color="green")}
    panel = _with(statetimeline.Panel(), title, description, "short", targets)
    return panel.mappings([model.ValueMap(options=words)]).merge_values(True).show_value(looks.VisibilityMode.NEVER).row_height(0.8)


def as_json(page: Page) -> str:
    """A page as JSON for Grafana."""
    made = dashboard.Dashboard(page.title).uid(page.uid).description(page.description).tags(["touchstone"]).readonly()
    made = made.refresh("30s").time("now-3h", "now").timezone("browser").tooltip(model.DashboardCursorSync.CROSSHAIR)
    made = made.link(dashboard.DashboardLink("Touchstone").type(model.DashboardLinkType.DASHBOARDS).tags(["touchstone"]).as_dropdown(True).keep_time(True))
    made = made.annotation(_changes())
    for variable in _variables(page):
        made = made.with_variable(variable)
    numbers = itertools.count(1)
    for row in page.rows:
        made = made.with_row(dashboard.Row(row.title).id(next(numbers)))
        for panel in row.panels:
            made = made.with_panel(panel.id(next(numbers)).span(row.width).height(row.height))
    return json.dumps(made.build(), cls=JSONEncoder, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _with(panel: Any, title: str, description: str, unit: str, targets: Sequence[Target]) -> Any:
    panel = panel.title(title).description(description).unit(unit).datasource(SOURCE)
    for place, (expression, legend) in enumerate(targets):
        panel = panel.with_target(_target(expression, legend, place))
    return panel


def _target(expression: str, legend: str, place: int) -> Any:
    return prometheus.Dataquery().expr(expression).legend_format(legend).ref_id(chr(ord("A") + place)).datasource(SOURCE)


def _thresholds(warn: float | None, bad: float | None) -> Any:
    low_is_bad = warn is not None and bad is not None and bad < warn
    if low_is_bad:
        steps = [model.Threshold(value=None, color="red"), model.Threshold(value=bad, color="orange"), model.Threshold(value=warn, color="green")]
    else:
        bounds = [(value, color) for value, color in ((warn, "orange"), (bad, "red")) if value is not None]
        steps = [model.Threshold(value=None, color="green"), *(model.Threshold(value=value, color=color) for value, color in bounds)]
    return dashboard.ThresholdsConfig().mode(model.ThresholdsMode.ABSOLUTE).steps(steps)


def _changes() -> Any:
    """A vertical line where a suite began to score with another version or configuration."""
    new = 'job_suite_suite_version_config_digest:touchstone_results_by_configuration:new1h{job=~"$job", suite=~"$suite"}'
    return (
        dashboard.AnnotationQuery().name("Configuration").datasource(SOURCE).enable(True).icon_color("purple").expr(f"{new} == 1 unless {new} offset 2m == 1")
    )


def _variables(page: Page) -> list[Any]:
    source = dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus")
    named = [
        ("job", "Job", "label_values(touchstone_build_info, job)"),
        ("instance", "Instance", 'label_values(touchstone_build_info{job=~"$job"}, instance)'),
        ("suite", "Suite", 'label_values(touchstone_results_total{job=~"$job"}, suite)'),
        *page.others,
    ]
    return [source, *(_chosen(*each) for each in named)]


def _chosen(name: str, label: str, query: str) -> Any:
    variable = dashboard.QueryVariable(name).label(label).query(query).datasource(SOURCE)
    variable = variable.multi(True).include_all(True).all_value(ALL).current(model.VariableOption(selected=True, text="All", value="$__all"))
    return variable.refresh(model.VariableRefresh.ON_TIME_RANGE_CHANGED).sort(model.VariableSort.ALPHABETICAL_ASC)
