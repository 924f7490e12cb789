"""Any report as markdown, fit for a pull request or a job summary: the verdict first, and bounded."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from touchstone.ops.reports.changes import comparison_tables, headline, remarks, trend_table
from touchstone.ops.reports.listing import cells_of, choose, columns_of, grave, needs_attention, not_read, origin, passed_over, rate_of, span_of
from touchstone.scorers.reporting.folding import folded_case
from touchstone.scorers.reporting.view import CaseView, LayoutOptions, View
from touchstone.scorers.reporting.words import counted, visible

#: A job summary has a size limit: bounds of the rows of cases, of the cases with findings, and of the findings of each.
CASES_MAX: Final = 1_000
CASES_DETAILED_MAX: Final = 50
FINDINGS_MAX: Final = 20
PASSED_OVER_MAX: Final = 100

#: Characters that Markdown, or a page that shows it, interprets. All others stay as written, for people who read the source.
_SPECIAL: Final = re.compile(
    r"[\\`*\[\]<|~$@]"  # code, emphasis, links, HTML, cells, strikes, formulas, mentions
    r"|(?<!\w)_+|_+(?!\w)"  # emphasis; inside a word an underscore is none
    r"|#(?=\w|#*$)|!(?=\d)|&(?=[#\w])"  # references to issues, the end of a heading, entities
    r"|:(?=//|[\w+-]*[A-Za-z][\w+-]*:|[+-]1:|100:|1234:)"  # addresses, and pictures as `:tada:`
    r"|(?<=\bgh)-(?=\d)",  # another reference to an issue
    re.IGNORECASE,
)
#: Text that markdown turns into a link without any markup.
_BARE_LINK: Final = re.compile(r"\b(www)\.", re.IGNORECASE)
#: What is markup at the beginning of a line: lists, quotations, headings, and lines below them.
_OPENING: Final = re.compile(r"[-+=>#]|\d+[.)](?=\s|$)")


def escaped(text: str) -> str:
    """Text escaped for the middle of a line: it produces no markup, link, mention, HTML or cell border."""
    plain = _SPECIAL.sub(lambda found: "".join(f"\\{mark}" for mark in found.group()), visible(text))
    return _BARE_LINK.sub(r"\1\\.", plain)


def begun(text: str) -> str:
    """Text escaped for the beginning of a line."""
    line = escaped(text).lstrip()
    opening = _OPENING.match(line)
    return f"{line[: opening.end() - 1]}\\{line[opening.end() - 1 :]}" if opening else line


def markdown_pieces(view: View, options: LayoutOptions) -> Iterator[str]:
    """Verdict, figures, tables, cases, findings, and what was not read."""
    verdict = options.verdict
    yield f"# {escaped(view.title)}\n\n**{escaped(verdict.word)}**: {escaped(verdict.reason)}.\n\n"
    labels = ", ".join(f"{count} {escaped(label)}" for label, count in view.labels.items())
    yield f"{begun(_sentence(origin(view)))} {escaped(_sentence(view.counts or counted(view.total, view.noun)))}{f' {labels}.' if labels else ''}"
    yield f" {escaped(_sentence(rate))}\n" if (rate := rate_of(view)) else "\n"
    for fact in view.facts:
        yield f"\n{begun(fact)}  "
    yield "\n" if view.facts else ""
    yield from _figures(view)
    for table in view.tables:
        yield from _section(table.title, table.header, table.rows, table.numeric)
    yield from changes(options)
    yield from _cases(view, options)
    yield from _section("Not read", ("Where", "What"), not_read(view))


def changes(options: LayoutOptions) -> Iterator[str]:
    """The comparison with an earlier batch, and the trend."""
    if (comparison := options.comparison) is not None:
        yield f"\n## Before and now\n\n{begun(_sentence(headline(comparison)))}\n"
        yield from (f"{begun(remark)}\n" for remark in remarks(comparison))
        for place, table in enumerate(comparison_tables(comparison)):
            yield from _section(table.title if place else "", table.header, table.rows, table.numeric)
    if (trend := options.trend) is not None:
        table = trend_table(trend)
        yield from _section(table.title, table.header, table.rows, table.numeric)


def _figures(view: View) -> Iterator[str]:
    """The table of figures, without columns that would be empty."""
    rows = [(figure.name, figure.text, span_of(figure), figure.note) for figure in view.figures]
    kept = [place for place in range(4) if place < 2 or any(row[place] for row in rows)]
    header = ("Figure", "Value", "95% interval", "Note")
    numeric = frozenset(at for at, place in enumerate(kept) if place in {1, 2})
    yield from _section("", [header[place] for place in kept], ([row[place] for place in kept] for row in rows), numeric)


def _sentence(text: str) -> str:
    """The text as a sentence: a capital in front and one full stop at the end."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _cases(view: View, options: LayoutOptions) -> Iterator[str]:
    """The table of cases, findings of the first ones, and the cases that were passed over."""
    details: list[str] = []
    more = 0

    def row(case: CaseView) -> Sequence[str]:
        nonlocal more
        if needs_attention(case) and grave(case):
            if len(details) < CASES_DETAILED_MAX:
                details.append(_details(case))
            else:
                more += 1
        return cells_of(view, case)

    listed = choose(view, CASES_MAX, options.only, row, passed_over_most=PASSED_OVER_MAX)
    yield from _section(listed.title(view.noun), columns_of(view), listed.rows, view.numeric_columns)
    if details:
        beyond = f" (the first {CASES_DETAILED_MAX} {view.noun}s that have any; all are in the JSON report)" if more else ""
        yield f"\n## Findings by {escaped(view.noun)}{beyond}\n"
        yield from details
    over = [*listed.passed_over, *passed_over(view)]
    rows = over[:PASSED_OVER_MAX]
    total = listed.passed_over_count + len(over) - len(listed.passed_over)
    yield from _section(f"Passed over: {total}", ("What", "Why"), rows)


def _details(case: CaseView) -> str:
    """The findings of one case, the most severe first, equal ones as one."""
    lines = ["", f"### {escaped(case.name)}", ""]
    findings, rest = folded_case(case, FINDINGS_MAX)
    for one in findings:
        place = f" {escaped(one.where)}:" if one.places else ""
        hint = f" *{escaped(one.finding.suggestion)}*" if one.finding.suggestion else ""
        lines.append(f"- **{one.finding.severity}**{place} {escaped(one.what)}{hint}")
    if rest:
        lines.append(f"- and {rest} more")
    return "\n".join(lines) + "\n"


def _section(title: str, header: Sequence[str], rows: Iterable[Sequence[str]], numeric: frozenset[int] = frozenset()) -> Iterator[str]:
    """A titled table; nothing if it has no rows."""
    begun = False
    for row in rows:
        if not begun:
            begun = True
            yield f"\n## {escaped(title)}\n\n" if title else "\n"
            yield f"| {' | '.join(escaped(cell) for cell in header)} |\n"
            yield "|" + "".join(" ---: |" if column in numeric else " --- |" for column in range(len(header))) + "\n"
        yield f"| {' | '.join(escaped(cell) for cell in row[: len(header)])} |\n"
