"""Any report as one self-contained HTML file: no network, font or library, and a content policy that refuses them."""

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from touchstone.ops.reports.charts import histogram as drawn
from touchstone.ops.reports.charts import label_bar, tone_of
from touchstone.ops.reports.html_cases import CASES_MAX, Survey, case_rows, code_groups, survey
from touchstone.ops.reports.html_changes import comparison_section, trend_section
from touchstone.ops.reports.html_reading import anchors_of, drawn_readings, readings_section
from touchstone.ops.reports.html_words import plural, shown
from touchstone.ops.reports.listing import columns_of, not_read, passed_over, rate_of, span_of
from touchstone.scorers.reporting.folding import FINDINGS_BY_CODE
from touchstone.scorers.reporting.view import Figure, LayoutOptions, Table, View
from touchstone.scorers.reporting.words import counted, percent

PROBLEMS_MAX: Final = 1_000
PASSED_OVER_MAX: Final = 200
_PAGE: Final = Path(__file__).with_name("page")
_VERDICT_TONES: Final = {0: "pass", 1: "fail", 2: "review"}
_STATE_TONES: Final = {"good": "pass", "middling": "review", "bad": "fail"}
#: Marks beside the colours, for readers who cannot distinguish them.
_STATE_MARKS: Final = {"good": "✓", "middling": "!", "bad": "✗"}


def html_pieces(view: View, options: LayoutOptions) -> Iterator[str]:
    """The page. The cases are read two or three times: to count, for those that did not pass, and for the rest."""
    found = survey(view, options.only)
    readings = drawn_readings(options.readings)
    yield from _head(view, options)
    yield f'<header class="tone-{_VERDICT_TONES.get(options.verdict.exit_code, "fail")}"><div class="wrap">\n'
    yield from _banner(view, options, found, has_readings=bool(readings))
    yield '</div></header>\n<main class="wrap" id="main">\n'
    yield from _labels(view)
    yield from _figures(view.figures)
    if options.comparison is not None:
        yield from comparison_section(options.comparison)
    if options.trend is not None:
        yield from trend_section(options.trend)
    yield from _distributions(view)
    yield from _findings(view, found)
    # The section of codes says what a suite's table of codes says, and names the places.
    yield from _tables([table for table in view.tables if table.title != FINDINGS_BY_CODE or not found.codes])
    yield from _problems("not-read", "Not read", not_read(view), PROBLEMS_MAX)
    yield from _cases(view, options, found, anchors_of(readings))
    yield from readings_section(readings, view.noun, found.wanted)
    over = [*found.passed_over, *passed_over(view)]
    yield from _problems("passed-over", "Passed over", over, PASSED_OVER_MAX, found.passed_over_count + len(over) - len(found.passed_over))
    yield f'</main>\n<footer class="wrap">Written by Touchstone, {shown(view.generated_at)}.</footer>\n</body>\n</html>\n'


def _head(view: View, options: LayoutOptions) -> Iterator[str]:
    """The head of the page. The policy allows the page's own style and script by their hashes, and nothing else."""
    style, script = ((_PAGE / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; form-action 'none'"
    yield f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="color-scheme" content="light dark">\n'
    yield '<meta name="referrer" content="no-referrer">\n'
    yield f"<title>{shown(options.verdict.word)}: {shown(view.title)}</title>\n<style>{style}</style>\n<script>{script}</script>\n</head>\n<body>\n"
    yield '<a class="skip" href="#main">To the report</a>\n'


def _hash(text: str) -> str:
    """The name of an inline style or script in a content security policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode()}"


def _banner(view: View, options: LayoutOptions, found: Survey, *, has_readings: bool) -> Iterator[str]:
    """Title, verdict, origin, and links to the sections."""
    verdict = options.verdict
    yield f"<h1>{shown(view.title)}</h1>\n"
    yield f'<p class="verdict"><strong>{shown(verdict.word)}</strong> <span>{shown(verdict.reason)}</span></p>\n'
    yield f'<p class="counts">{shown(view.counts or counted(view.total, view.noun))}</p>\n'
    yield f'<p class="counts">{shown(rate[:1].upper() + rate[1:])}</p>\n' if (rate := rate_of(view)) else ""
    yield '<ul class="origin">\n'
    suite = f"suite {view.suite} {view.suite_version}"
    scored = (suite, f"configuration {view.config_digest}") if view.suite else ()
    for fact in (*scored, f"generated {view.generated_at}", *view.facts):
        yield f"<li>{shown(fact)}</li>\n"
    yield "</ul>\n"
    sections = (
        ("figures", "Figures", bool(view.figures)),
        ("against", "Before and now", options.comparison is not None),
        ("trend", "Trend", options.trend is not None),
        ("distributions", "Distributions", bool(view.distributions)),
        ("findings", "Findings", bool(found.codes)),
        ("tables", "Tables", bool(view.tables)),
        ("not-read", "Not read", bool(not_read(view))),
        ("cases", plural(view.noun).capitalize(), bool(found.wanted)),
        ("readings", f"{plural(view.noun).capitalize()} in full", has_readings),
        ("passed-over", "Passed over", bool(found.passed_over_count or passed_over(view))),
    )
    links = [f'<li><a href="#{name}">{shown(title)}</a></li>' for name, title, there in sections if there]
    if len(links) > 1:
        yield f'<nav aria-label="Sections"><ul>{"".join(links)}</ul></nav>\n'


def _labels(view: View) -> Iterator[str]:
    """How many cases have each label: a bar, and the same in words."""
    total = sum(view.labels.values())
    if not total:
        return
    yield f'<section aria-labelledby="labels"><h2 id="labels">Labels</h2>\n{label_bar(view.labels)}\n<ul class="legend">\n'
    for label, count in view.labels.items():
        yield f'<li class="key tone-{tone_of(label)}"><i></i>{shown(label)} <b>{count:,}</b> <span>{percent(count / total)}</span></li>\n'
    yield "</ul></section>\n"


def _figures(figures: Sequence[Figure]) -> Iterator[str]:
    if not figures:
        return
    spans = "<small>with the 95% intervals of means</small>" if any(figure.interval for figure in figures) else ""
    yield f'<section aria-labelledby="figures"><h2 id="figures">Figures{spans}</h2>\n<dl class="cards">\n'
    for figure in figures:
        tone = f" tone-{_STATE_TONES[figure.state]}" if figure.state else ""
        mark = f'<span class="mark" role="img" aria-label="{figure.state}">{_STATE_MARKS[figure.state]}</span>' if figure.state else ""
        note = f"<small>{shown(span)}</small>" if (span := span_of(figure)) else ""
        note += f"<small>{shown(figure.note)}</small>" if figure.note else ""
        yield f'<div class="figure{tone}"><dt>{shown(figure.name)}</dt><dd>{shown(figure.text)}{mark}{note}</dd></div>\n'
    yield "</dl></section>\n"


def _distributions(view: View) -> Iterator[str]:
    charts = [chart for one in view.distributions if (chart := drawn(one, view.noun))]
    if charts:
        yield '<section aria-labelledby="distributions"><h2 id="distributions">Distributions</h2>\n<div class="charts">\n'
        yield from charts
        yield "</div></section>\n"


def _findings(view: View, found: Survey) -> Iterator[str]:
    if found.codes:
        yield f'<section aria-labelledby="findings"><h2 id="findings">Findings by code<small>{shown(plural(view.noun))} that have each</small></h2>\n'
        yield from code_groups(view, found)
        yield "</section>\n"


def _tables(tables: Sequence[Table]) -> Iterator[str]:
    if not tables:
        return
    yield '<section id="tables" aria-label="Tables"><div class="small">\n'
    for number, table in enumerate(tables):
        yield f'<section aria-labelledby="table-{number}"><h2 id="table-{number}">{shown(table.title)}</h2>\n'
        yield f'<div class="scroll" tabindex="0" role="region" aria-labelledby="table-{number}"><table class="sortable">\n'
        yield f"{header_row(table.header, table.numeric)}<tbody>\n"
        for row in table.rows:
            cells = (f"<td{_numeric(place, table.numeric)}>{shown(cell)}</td>" for place, cell in enumerate(row))
            yield f"<tr>{''.join(cells)}</tr>\n"
        yield "</tbody></table></div></section>\n"
    yield "</div></section>\n"


def header_row(header: Sequence[str], numeric: frozenset[int]) -> str:
    """The headings of a table."""
    cells = (f'<th scope="col"{_numeric(place, numeric)}>{shown(heading)}</th>' for place, heading in enumerate(header))
    return f"<thead><tr>{''.join(cells)}</tr></thead>\n"


def _numeric(column: int, numeric: frozenset[int]) -> str:
    """The class of a right-aligned column."""
    return ' class="num"' if column in numeric else ""


def _cases(view: View, options: LayoutOptions, found: Survey, anchors: Mapping[str, str]) -> Iterator[str]:
    """The table of cases, bounded; a line above it says how many are left out. `anchors`: of the cases that are shown in full."""
    if not found.wanted:
        return
    name, listed = plural(view.noun), min(found.wanted, CASES_MAX)
    bound = f"<small>{listed:,} of {found.wanted:,}, those that did not pass first; all are in the JSON report</small>" if found.wanted > CASES_MAX else ""
    only = f"<small>only {shown(', '.join(sorted(options.only)).replace('_', ' '))}</small>" if options.only else ""
    yield f'<section aria-labelledby="cases"><h2 id="cases">{shown(name.capitalize())}{bound}{only}</h2>\n<div class="tools"></div>\n'
    yield '<div class="scroll" tabindex="0" role="region" aria-labelledby="cases"><table class="cases sortable">\n'
    yield header_row(columns_of(view), view.numeric_columns)
    yield from case_rows(view, options.only, found, anchors)
    yield "</table></div></section>\n"


def _problems(anchor: str, title: str, problems: Sequence[tuple[str, str]], most: int, total: int = 0) -> Iterator[str]:
    """The inputs without a score: where they are, and what is wrong with them."""
    if not problems:
        return
    total = max(total, len(problems))
    yield f'<section aria-labelledby="{anchor}"><h2 id="{anchor}">{title}<small>{total:,}</small></h2>\n'
    yield f'<div class="scroll" tabindex="0" role="region" aria-labelledby="{anchor}"><table class="sortable">\n'
    yield f"{header_row(('Where', 'What'), frozenset())}<tbody>\n"
    for where, what in problems[:most]:
        yield f"<tr><td>{shown(where)}</td><td>{shown(what)}</td></tr>\n"
    yield "</tbody></table></div>\n"
    if total > len(problems[:most]):
        yield f'<p class="rest">and {total - len(problems[:most]):,} more; all are in the JSON report</p>\n'
    yield "</section>\n"
