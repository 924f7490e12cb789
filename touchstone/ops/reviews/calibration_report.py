"""A calibration for people: both recalls with their definitions, where the judge is weak, what was left out, and what stands in the way of promotion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from touchstone.schemas.calibration import Calibration, Counts
from touchstone.scorers.calibration.folder import recalls_of, shortfalls
from touchstone.scorers.calibration.recalls import DEFINITIONS
from touchstone.scorers.calibration.truth import LEFT_OUT
from touchstone.scorers.reporting import Figure, LayoutOptions, Rate, Table, Verdict, View, counted

#: Why a judge was promoted against these is in its history.
OPTIMISTIC: Final = "the test set was read more than once, so that its figures are too good: whoever tuned the judge has seen them"


def promotion_verdict(calibration: Calibration, *, gate: bool = False) -> Verdict:
    """The printed word and the exit code: 0 for a measurement; with a gate, 1 if the judge may not decide labels."""
    if not (below := shortfalls(calibration)):
        return Verdict("MEASURED", f"both recalls reach {calibration.floor:.2f}", 0)
    return Verdict("FAIL" if gate else "MEASURED", "; ".join(below), 1 if gate else 0)


def calibration_view(calibration: Calibration, place: str) -> View:
    """The report. It names cases by id, and never those of the test set."""
    parts = [("dev", calibration.dev), *([("test", calibration.test)] if calibration.test is not None else [])]
    tables = [_recalls(parts), Table("What the figures are", ("Figure", "Meaning"), tuple(DEFINITIONS.items()))]
    if calibration.slices:
        tables.append(_slices(calibration))
    if calibration.left_out:
        rows = [(reason, str(count), LEFT_OUT.get(reason.partition(" ")[0], "")) for reason, count in calibration.left_out.items()]
        tables.append(Table("Annotated cases that were not counted", ("Reason", "Cases", "Meaning"), rows, frozenset({1})))
    if calibration.disagreements:
        tables.append(Table("Cases of the dev set on which judge and people disagree", ("Case",), [(one,) for one in calibration.disagreements]))
    if below := shortfalls(calibration):
        tables.append(Table("Below the floor, or not known well enough", ("Reason",), [(one,) for one in below]))
    deciding = calibration.test or calibration.dev
    total = deciding.failed + deciding.passed
    agreed = deciding.failed_found + deciding.passed_found
    basis = calibration.basis
    facts = [
        f"annotations of {place}",
        f"judge {basis.judge}" + (f", prompt {basis.prompt}" if basis.prompt else "") + (f", model {basis.model}" if basis.model else ""),
        f"guideline {basis.guideline or 'not named'}, labels {basis.labels}, seed {calibration.seed}",
        *([OPTIMISTIC] if calibration.test is not None and calibration.test_reads > 1 else []),
    ]
    return View(
        title=f"Calibration of {calibration.subject}",
        suite="",
        suite_version="",
        config_digest="",
        generated_at=calibration.at.isoformat(timespec="seconds"),
        cases=(),
        total=total,
        counts=f"{counted(total, 'case')} of the {'test' if calibration.test is not None else 'dev'} set, the judge agrees with people on {agreed}",
        facts=facts,
        figures=_figures(calibration, deciding),
        tables=tables,
    )


def _figures(calibration: Calibration, counts: Counts) -> list[Figure]:
    recalls = recalls_of(counts)
    return [
        *(
            Figure(
                name,
                f"{rate.share:.3f}" if rate.total else "–",
                "good" if rate.total and rate.share >= calibration.floor else "bad",
                note=f"{rate.count} of {rate.total}",
                interval=rate.interval,
                places=3,
            )
            for name, rate in (("fail_recall", recalls.fail_recall), ("pass_recall", recalls.pass_recall))
        ),
        Figure("Cohen's kappa between people", "–" if calibration.kappa is None else f"{calibration.kappa:.2f}"),
        Figure("Cases in train / dev / test", f"{calibration.train} / {_size(calibration.dev)} / {_size(calibration.test)}"),
        Figure("Test set read", "never" if not calibration.test_reads else "once" if calibration.test_reads == 1 else f"{calibration.test_reads} times"),
    ]


def _size(counts: Counts | None) -> str:
    return "not read" if counts is None else str(counts.failed + counts.passed)


def _recalls(parts: Sequence[tuple[str, Counts]]) -> Table:
    rows = []
    for part, counts in parts:
        recalls = recalls_of(counts)
        rows += [(part, "fail_recall", *_share(recalls.fail_recall)), (part, "pass_recall", *_share(recalls.pass_recall))]
    return Table("Agreement with people", ("Set", "Figure", "Cases", "Recall (95% interval)"), rows, frozenset({2, 3}))


def _slices(calibration: Calibration) -> Table:
    rows = []
    for one in calibration.slices:
        recalls = recalls_of(one.counts)
        fails, passes = _share(recalls.fail_recall), _share(recalls.pass_recall)
        rows.append((f"{one.name} {one.value}", fails[0], fails[1], passes[0], passes[1]))
    header = ("Cases with", "Failed", "fail_recall (95% interval)", "Passed", "pass_recall (95% interval)")
    return Table("Parts of the cases", header, rows, frozenset({1, 2, 3, 4}))


def _share(rate: Rate) -> tuple[str, str]:
    interval = rate.interval
    return str(rate.total), "–" if interval is None else f"{rate.share:.3f} ({interval.low:.3f} to {interval.high:.3f})"


def calibration_pieces(calibration: Calibration, view: View, form: str, options: LayoutOptions) -> Iterator[str]:
    """The report in a format: console, markdown, html, or the record itself as json, with both definitions."""
    if form == "json":
        import json

        document = calibration.model_dump(mode="json") | {"definitions": DEFINITIONS, "shortfalls": list(shortfalls(calibration))}
        return iter([json.dumps(document, ensure_ascii=False, indent=2), "\n"])
    from touchstone.ops.reviews.error_report import error_pieces

    return error_pieces(view, form, options)
