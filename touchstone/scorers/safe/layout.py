"""The console scorecard of SAFE v0 §5.2, drawn as the specification draws it; columns widen if a value needs it.

Plain text without colour, so it is the same in a terminal, a file and under NO_COLOR.
"""

from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len

from touchstone.schemas.reports.safe import SafeV0BatchReport, SafeV0Judged, SafeV0Result
from touchstone.scorers.reporting.view import STATUSES, LayoutOptions
from touchstone.scorers.reporting.words import counted, number_span, percent, percent_span, visible
from touchstone.scorers.safe.batch import JUDGE_STATES, intervals_of
from touchstone.scorers.safe.names import NO_NAMES, NOT_QUOTED, Names
from touchstone.scorers.safe.settings import METRICS
from touchstone.scorers.safe.view import SafeReport

#: Findings of the judge that are listed without --verbose.
JUDGE_FINDINGS_MAX = 10
# Widths of the specification's drawing, in terminal cells.
FRAME_CELLS = 71
METRIC_CELLS, MEAN_CELLS, RATE_CELLS = 8, 12, 11
TEST_ID_CELLS, ARCHETYPE_CELLS, SCORE_CELLS, LABEL_CELLS = 15, 21, 4, 7


def console_pieces(report: SafeReport, options: LayoutOptions) -> Iterator[str]:
    """The scorecard of a report."""
    batch = report.batch
    if options.only:
        batch = batch.model_copy(update={"results": tuple(result for result in batch.results if STATUSES[result.label] in options.only)})
    yield render_console(batch, verbose=options.verbose, names=report.names)


def render_console(report: SafeV0BatchReport, *, verbose: bool = False, names: Names = NO_NAMES) -> str:
    """Scorecard, per-case breakdown and top issues; `verbose` adds intervals, archetypes, and what each case found and missed.

    `names`: of expectations that may not be quoted.
    """
    if not report.total_cases:
        # A scorecard of zeros would read as a batch that failed.
        parts = [" ".join(filter(None, ("SAFE v0", visible(report.concern_id)))) + ": no case was scored"]
        return "\n".join([*parts, *_not_scored(report)]) + "\n"
    parts = [_scorecard(report), "", "Per-Case Breakdown:", _breakdown(report.results), "", _top_issues(report, names)]
    if report.judge is not None:
        parts += ["", *_judge_lines(report.judge, verbose=verbose)]
    if verbose:
        parts += ["", _intervals(report), "", _archetypes(report), "", _details(report.results, names)]
    return "\n".join([*parts, *_not_scored(report)]) + "\n"


def _not_scored(report: SafeV0BatchReport) -> list[str]:
    """The cases that could not be scored, and why."""
    return ["", "Not Scored:", *(f"  {visible(error.where)}: {visible(error.what)}" for error in report.errors)] if report.errors else []


def pad(text: str, cells: int) -> str:
    """Text filled with spaces to a width in terminal cells (an East Asian character takes two)."""
    return text + " " * (cells - cell_len(text))


def _scorecard(report: SafeV0BatchReport) -> str:
    total = report.total_cases
    title = f"SAFE v0 Scorecard - {visible(report.concern_id)}"
    labels = report.label_distribution
    shares = [f"{name}: {count} ({percent(count / total if total else 0)})" for name, count in labels.model_dump().items()]
    counts = f" Total Cases: {total}    " + "    ".join(shares) + " "
    columns = METRIC_CELLS + MEAN_CELLS + RATE_CELLS + 3
    statuses = {metric: f" {_status(report, metric)} " for metric in METRICS}
    inner = max(FRAME_CELLS, cell_len(title) + 2, len(counts), columns + max(map(len, statuses.values())))
    last = inner - columns
    bar = "═" * inner
    # The specification's title sits two cells left of the middle.
    indent = max(1, (inner - cell_len(title)) // 2 - 2)
    rows = [f"╔{bar}╗", f"║{pad(' ' * indent + title, inner)}║", f"╠{bar}╣", f"║{pad(counts, inner)}║", f"╠{bar}╣"]
    rows.append("║" + "│".join((" Metric ", " Mean Score ", " Pass Rate ", pad(" Status", last))) + "║")
    rows.append("╠" + "┼".join("─" * cells for cells in (METRIC_CELLS, MEAN_CELLS, RATE_CELLS, last)) + "╣")
    for metric in METRICS:
        mean = f"{getattr(report.mean_scores, metric):.2f}".center(MEAN_CELLS)
        rate = f"{percent(getattr(report.pass_rates, metric)):>6}".ljust(RATE_CELLS)
        rows.append("║" + "│".join((metric.center(METRIC_CELLS), mean, rate, pad(statuses[metric], last))) + "║")
    rows += [f"╠{bar}╣", f"║{pad(f' Composite: {report.mean_scores.composite:.2f}', inner)}║", f"╚{bar}╝"]
    return "\n".join(rows)


def _status(report: SafeV0BatchReport, metric: str) -> str:
    """How a metric's mean compares with its thresholds; for AH with the number of violations."""
    mean, threshold = getattr(report.mean_scores, metric), getattr(report.thresholds, metric)
    if not report.total_cases or mean >= threshold.pass_:
        return "OK" if report.total_cases else "no cases"
    failed = mean < threshold.review
    if metric == "AH":
        violations = sum(entry.count for entry in report.common_AH_violations)
        reason = f"{counted(violations, 'violation')} across batch"
    else:
        reason = "below review threshold" if failed else "review threshold"
    return f"{'FAIL' if failed else 'WARN'} ({reason})"


def _breakdown(results: Sequence[SafeV0Result]) -> str:
    """The lower frame: a row per case."""
    rows = [(visible(result.test_id), visible(result.archetype), result) for result in results]
    test_cells = max([TEST_ID_CELLS, *(cell_len(test_id) for test_id, _, _ in rows)])
    archetype_cells = max([ARCHETYPE_CELLS, *(cell_len(archetype) for _, archetype, _ in rows)])
    widths = (test_cells, archetype_cells, SCORE_CELLS, SCORE_CELLS, SCORE_CELLS, LABEL_CELLS)

    def line(left: str, middle: str, right: str) -> str:
        return left + middle.join("─" * (cells + 2) for cells in widths) + right

    def row(values: Iterable[str]) -> str:
        return "│" + "│".join(f" {pad(value, cells)} " for value, cells in zip(values, widths, strict=True)) + "│"

    drawn = [line("┌", "┬", "┐"), row(("Test ID", "Archetype", " CR", " AH", " AC", "Label")), line("├", "┼", "┤")]
    for test_id, archetype, result in rows:
        scores = [f"{getattr(result.scores, metric):.2f}" for metric in METRICS]
        drawn.append(row((test_id, archetype, *scores, result.label.upper())))
    return "\n".join([*drawn, line("└", "┴", "┘")])


def _top_issues(report: SafeV0BatchReport, names: Names) -> str:
    """The most frequent issue of each metric."""
    issues = []
    if report.common_CR_misses:
        signal = report.common_CR_misses[0]
        issues.append(f"  CR Misses: {_shown(signal.signal, names)} ({counted(signal.miss_count, 'case')})")
    if report.common_AH_violations:
        term = report.common_AH_violations[0]
        issues.append(f"  AH Violations: {_shown(term.term, names)} ({counted(term.count, 'case')})")
    if report.common_AC_misses:
        phrase = report.common_AC_misses[0]
        issues.append(f"  AC Misses: {_shown(phrase.phrase, names)} ({counted(phrase.miss_count, 'case')})")
    return "\n".join(["Top Issues:", *issues]) if issues else "Top Issues: none"


def _shown(text: str, names: Names) -> str:
    """A text in quotes, or the place of one that may not be quoted."""
    name = names.shown(text)
    return f'"{visible(text)}"' if name == text else visible(name)


def _intervals(report: SafeV0BatchReport) -> str:
    """The intervals of the means and pass rates above, for which the drawing has no room."""
    intervals = intervals_of(report)
    lines = ["95% Intervals:"]
    for name in (*METRICS, "composite"):
        parts = [f"mean {number_span(interval)}"] if (interval := intervals.means.get(name)) is not None else []
        parts += [f"pass rate {percent_span(interval)}"] if (interval := intervals.pass_rates.get(name)) is not None else []
        lines += [f"  {name}: {', '.join(parts)}"] if parts else []
    if (overall := intervals.pass_rate) is not None:
        lines.append(f"  Pass: {percent_span(overall)}")
    return "\n".join(lines)


def _archetypes(report: SafeV0BatchReport) -> str:
    """Means and pass rate of each archetype."""
    lines = ["By Archetype:"]
    for name, group in report.by_archetype.items():
        means = f"CR {group.mean_CR:.2f}, AH {group.mean_AH:.2f}, AC {group.mean_AC:.2f}"
        lines.append(f"  {visible(name)}: {counted(group.count, 'case')}, {means}, pass rate {percent(group.pass_rate)}")
    return "\n".join(lines)


def _details(results: Sequence[SafeV0Result], names: Names) -> str:
    """What each case found, missed and used."""
    lines = ["Details:"]
    for result in results:
        lines.append(f"  {visible(result.test_id)}: {result.label.upper()}, composite {result.scores.composite:.2f}")
        parts = (
            ("CR found", result.details.CR.found),
            ("CR missing", result.details.CR.missing),
            ("AH violations", result.details.AH.violations),
            ("AC found", result.details.AC.found),
            ("AC missing", result.details.AC.missing),
        )
        lines += [f"    {name}: {_in_case(result, texts, names)}" for name, texts in parts if texts]
    return "\n".join(lines)


def _in_case(result: SafeV0Result, texts: Sequence[str], names: Names) -> str:
    """The texts in quotes; of those that may not be quoted the places, and how many have none: a result does not say where those lie that were found."""
    named = [(text, names.in_case(result.test_id, text)) for text in texts]
    told = [f'"{visible(text)}"' if name == text else name for text, name in named if name != NOT_QUOTED or name == text]
    rest = len(texts) - len(told)
    return ", ".join(told) + ((" and " if told else "") + f"{rest} not quoted" if rest else "")


def _judge_lines(judge: SafeV0Judged, *, verbose: bool) -> Iterator[str]:
    """What the judge did and found, below the drawing."""
    judged, found = counted(judge.states.get("answered", 0), "case"), counted(len(judge.findings), "finding")
    spent = f"{counted(judge.calls, 'request')}, {judge.tokens_in} tokens in, {judge.tokens_out} out, USD {judge.cost_usd:.4f}"
    yield f"Judge: {judged} judged, {found} (in no score); {spent}"
    if others := [f"{visible(JUDGE_STATES.get(state, state))} {count}" for state, count in judge.states.items() if state != "answered"]:
        yield f"  Cases not judged: {', '.join(others)}"
    shown = judge.findings if verbose else judge.findings[:JUDGE_FINDINGS_MAX]
    yield from (f"  {visible(one.test_id)}: {one.severity}: {visible(one.path)}: {visible(one.message)}" for one in shown)
    if rest := len(judge.findings) - len(shown):
        yield f"  and {rest} more; --verbose and the JSON report show them"
