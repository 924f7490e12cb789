"""The cases of an HTML page: rows that unfold, and the findings by their code. Bounded, however many cases there are."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from touchstone.ops.reports.html_words import shown
from touchstone.ops.reports.listing import cells_of, columns_of, grave, needs_attention
from touchstone.schemas.result import Severity
from touchstone.scorers.reporting.findings import LABEL_BOUND, SEVERITIES
from touchstone.scorers.reporting.folding import Folded, counts_of, folded_case
from touchstone.scorers.reporting.view import CaseView, View
from touchstone.scorers.reporting.words import counted

#: Rows that a browser sorts and searches without a pause, in a file of a few megabytes.
CASES_MAX: Final = 5_000
#: Most findings that unfold under the rows: of one case, and of all cases.
FINDINGS_MAX: Final = 20
FINDINGS_ALL_MAX: Final = 10_000
#: Codes that are listed, shown before the rest unfolds, and counted; cases named under each code, and under all.
CODES_MAX: Final = 100
CODES_OPEN_MAX: Final = 12
_CODES_COUNTED_MAX: Final = 5_000
PLACES_MAX: Final = 200
_PLACES_ALL_MAX: Final = 10_000
PASSED_OVER_MAX: Final = 200

_TONES: Final = {"pass": "pass", "review": "review", "fail": "fail", "unscored": "unscored", "error": "fail", "passed_over": "other"}
#: Cases that need attention sort first.
_RANKS: Final = {"error": 0, "fail": 1, "unscored": 2, "review": 3, "pass": 4, "passed_over": 5}
_SEVERITY_TONES: Final = {"critical": "fail", "major": "review", "minor": "other", "info": "other"}


@dataclass(slots=True)
class Code:
    """A code at one severity: how many cases have it and how often, and the first places.

    A place: the case's number among all and among those that did not pass (None if it did), its name, and the finding's path and message.
    """

    cases: int = 0
    findings: int = 0
    places: list[tuple[int, int | None, str, str, str]] = field(default_factory=list)


@dataclass(slots=True)
class Survey:
    """The result of one reading of the cases. `wanted`: cases to list; `not_passed`: those of them that did not pass."""

    wanted: int = 0
    not_passed: int = 0
    codes: dict[tuple[str, Severity], Code] = field(default_factory=dict)
    other_codes: bool = False
    passed_over: list[tuple[str, str]] = field(default_factory=list)
    passed_over_count: int = 0


def survey(view: View, only: frozenset[str]) -> Survey:
    """Read the cases once."""
    found = Survey()
    places = 0
    for case in view.cases:
        if only and case.status not in only:
            continue
        if case.status == "passed_over" and not only:
            found.passed_over_count += 1
            if len(found.passed_over) < PASSED_OVER_MAX:
                found.passed_over.append((case.name, case.why))
            continue
        number, among_not_passed = found.wanted, found.not_passed if needs_attention(case) else None
        found.wanted += 1
        found.not_passed += needs_attention(case)
        # A case keeps only its first findings, but counts all of them.
        for name, severities in counts_of(case).items():
            for severity, times in severities.items():
                if times and (severity != "info" or name == LABEL_BOUND) and (code := _counted(found, (name, severity))):
                    code.cases += 1
                    code.findings += times
        for finding in grave(case):
            if (code := found.codes.get((finding.code, finding.severity))) and len(code.places) < PLACES_MAX and places < _PLACES_ALL_MAX:
                code.places.append((number, among_not_passed, case.name, finding.path, finding.message))
                places += 1
    return found


def _counted(found: Survey, key: tuple[str, Severity]) -> Code | None:
    """The entry of a code at one severity, made if there is none; None if no more are counted."""
    if key not in found.codes and len(found.codes) >= _CODES_COUNTED_MAX:
        found.other_codes = True
        return None
    return found.codes.setdefault(key, Code())


def code_groups(view: View, found: Survey) -> Iterator[str]:
    """Every code with its cases, in the order of the table of codes: the most severe, then the most frequent first.

    Long lists are collapsed, so that the cases stay in sight.
    """
    ordered = sorted(found.codes.items(), key=lambda item: (SEVERITIES.index(item[0][1]), -item[1].cases, -item[1].findings, item[0][0]))
    listed = ordered[:CODES_MAX]
    yield '<div class="codes">\n'
    for key, code in listed[:CODES_OPEN_MAX]:
        yield from _code(view, found, *key, code)
    if others := listed[CODES_OPEN_MAX:]:
        yield f'<details class="others"><summary>{counted(len(others), "more code")}</summary>\n'
        for key, code in others:
            yield from _code(view, found, *key, code)
        yield "</details>\n"
    yield "</div>\n"
    if (rest := len(ordered) - len(listed)) or found.other_codes:
        yield f'<p class="rest">and {"at least " if found.other_codes else ""}{counted(max(rest, 1), "other code")}; all are in the JSON report</p>\n'


def _code(view: View, found: Survey, name: str, severity: Severity, code: Code) -> Iterator[str]:
    """One code at one severity, and the places where it was found."""
    often = f", {code.findings:,} times" if code.findings > code.cases else ""
    chip = f'<span class="chip tone-{_SEVERITY_TONES[severity]}">{severity}</span>'
    yield f'<details><summary><span class="code">{shown(name)}</span>{chip}<b>{counted(code.cases, shown(view.noun))}{often}</b></summary>\n<ul class="list">\n'
    for number, among_not_passed, case, path, message in code.places:
        row = number if found.wanted <= CASES_MAX else among_not_passed
        link = f'<a href="#case-{row}">{shown(case)}</a>' if row is not None and row < CASES_MAX else shown(case)
        place = f' <span class="code">{shown(path)}</span>' if path else ""
        yield f"<li>{link}{place} <em>{shown(message)}</em></li>\n"
    named = len({number for number, *_ in code.places})
    if code.cases > named:
        yield f"<li>and {code.cases - named:,} more; all are in the JSON report</li>\n"
    yield "</ul></details>\n"


def case_rows(view: View, only: frozenset[str], found: Survey, anchors: Mapping[str, str]) -> Iterator[str]:
    """A table body for each case: its row, and the details that unfold under it. If there are too many, those that did not pass come first."""
    listed: Iterable[CaseView] = _listed(view, only)
    if found.wanted > CASES_MAX:
        listed = chain((case for case in listed if needs_attention(case)), (case for case in _listed(view, only) if not needs_attention(case)))
    left = FINDINGS_ALL_MAX
    for number, case in zip(range(CASES_MAX), listed, strict=False):
        lines, rest = folded_case(case, min(FINDINGS_MAX, left))
        left -= len(lines)
        yield _case(view, case, number, _more(view, case, lines, rest, _anchor_of(view, case, anchors)))


def _listed(view: View, only: frozenset[str]) -> Iterator[CaseView]:
    return (case for case in view.cases if (case.status in only if only else case.status != "passed_over"))


def _anchor_of(view: View, case: CaseView, anchors: Mapping[str, str]) -> str | None:
    """The anchor of a case's reading; a reading has the name by which one-line listings call the case."""
    names = (cells_of(view, case)[0], case.name, *case.ids) if anchors else ()
    return next((anchors[name] for name in names if name in anchors), None)


def _case(view: View, case: CaseView, number: int, more: str) -> str:
    label = case.status.replace("_", " ") if case.status in {"error", "passed_over"} else case.label
    cells = []
    is_labelled = False
    for place, cell in enumerate(cells_of(view, case)):
        if place == 0:
            name = f'<button type="button" class="name" aria-expanded="false" aria-controls="more-{number}">{shown(cell)}</button>' if more else ""
            cells.append(f'<th scope="row">{name or f"""<span class="bare">{shown(cell)}</span>"""}</th>')
        elif not is_labelled and cell.casefold() == case.label.casefold():
            is_labelled = True
            cells.append(f'<td class="label" data-sort="{_RANKS[case.status]}"><span class="chip tone-{_TONES[case.status]}">{shown(cell)}</span></td>')
        else:
            kind = ' class="num"' if place in view.numeric_columns else ""
            cells.append(f"<td{kind}>{shown(cell)}</td>")
    head = f'<tbody id="case-{number}" class="tone-{_TONES[case.status]}" data-label="{shown(label)}">\n<tr>{"".join(cells)}</tr>\n'
    unfolded = f'<tr class="more" id="more-{number}"><td colspan="{len(columns_of(view))}">{more}</td></tr>\n' if more else ""
    return f"{head}{unfolded}</tbody>\n"


def _more(view: View, case: CaseView, findings: list[Folded], rest: int, anchor: str | None) -> str:
    """The details that unfold under a row; empty if there are none. `rest`: findings that are not shown; `anchor`: of its reading."""
    lines = [f"<li>{shown(line)}</li>" for line in case.details[:FINDINGS_MAX]]
    for one in findings:
        finding = one.finding
        chip = f'<span class="chip tone-{_SEVERITY_TONES[finding.severity]}">{finding.severity}</span>'
        place = f' <span class="code">{shown(one.where)}</span>' if one.places else ""
        hint = f" <em>{shown(finding.suggestion)}</em>" if finding.suggestion else ""
        lines.append(f'<li>{chip} <span class="code">{shown(finding.code)}</span>{place} {shown(one.what)}{hint}</li>')
    if anchor is not None:
        lines.insert(0, f'<li><a href="#{anchor}">Read it in full</a></li>')
    if not lines:
        return ""
    if rest:
        lines.append(f"<li>and {rest:,} more; all are in the JSON report</li>")
    group = f"<p>{shown(case.group)}</p>" if case.group and case.group not in cells_of(view, case) else ""
    return f'{group}<ul class="list">{"".join(lines)}</ul>'
