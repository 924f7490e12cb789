"""How a case of a self-test reads: each answer with its verdict, why it did not pass, and the words of request, answer and judge."""

from collections.abc import Iterator

from touchstone.schemas.reading import Bar, BarsSection, CaseReading, ChecksSection, Item, MarkState, Pair, PairsSection, Section, TextSection
from touchstone.schemas.reports.selftest import SelftestCase, SelftestReport, SelftestStep
from touchstone.schemas.result import Label
from touchstone.scorers.reporting.plain_reading import STATES
from touchstone.scorers.selftest.batch import is_unjudged

SUITE = "selftest"


def readings(report: SelftestReport) -> list[CaseReading]:
    """The cases of a report, the worst first: failed ones by their score, then those without a verdict, then those that passed."""
    repeats = max((case.repeat for case in report.cases), default=1)
    return [reading(case, report.effective_threshold, repeats) for case in sorted(report.cases, key=_badness)]


def reading(case: SelftestCase, threshold: float, repeats: int = 1) -> CaseReading:
    """One case. `threshold`: the overall score from which an answer passes; `repeats`: of its request in the run."""
    steps = ChecksSection(id="steps", title="Answers", items=tuple(_step(step, number, threshold) for number, step in enumerate(case.steps, 1)))
    own = ChecksSection(id="case", title="Case", items=tuple(_failed(case)))
    sections: list[Section] = [one for one in (own, steps) if one.items]
    if case.scores is not None:
        low = "the weakest answer's" if len(case.steps) > 1 else ""
        bars = tuple(
            Bar(name=name.removesuffix("_score").replace("_", " "), value=value, printed=f"{value:.2f}") for name, value in case.scores.model_dump().items()
        )
        sections.append(BarsSection(id="values", title="Scores", note="; ".join(filter(None, (low, f"passes from {threshold:.2f}"))), bars=bars))
    sections += [one for one in (_findings(case),) if one.items]
    for number, step in enumerate(case.steps, 1):
        of = f" {number}" if len(case.steps) > 1 else ""
        sections.append(TextSection(id=f"sent-{number}", title=f"Request{of}", text=step.sent))
        sections.append(TextSection(id=f"answer-{number}", title=f"Answer{of}", text=step.output, note="" if step.output else "there is none"))
    if not case.steps and case.prompt:
        sections.append(TextSection(id="sent-1", title="Request", text=case.prompt))
    about = {"description": case.description, "what the judge looks for": case.hints, "session": case.session_id}
    sections.append(PairsSection(id="about", title="About", folded=True, pairs=tuple(Pair(key=key, value=value) for key, value in about.items() if value)))
    name = f"{case.id} ({case.repeat} of {repeats})" if repeats > 1 else case.id
    return CaseReading(suite=SUITE, name=name, label=_label(case), sections=tuple(sections))


def _label(case: SelftestCase) -> Label:
    return "Pass" if case.pass_ else "unscored" if is_unjudged(case) else "Fail"


def _badness(case: SelftestCase) -> tuple[int, float, str, int]:
    rank = {"Fail": 0, "unscored": 1}.get(_label(case), 2)
    return rank, case.scores.overall_score if case.scores is not None else 0.0, case.id, case.repeat


def _failed(case: SelftestCase) -> Iterator[Item]:
    """What went wrong with the case as a whole, where no answer says it."""
    if case.failure is not None and not any(step.failure is not None for step in case.steps):
        state: MarkState = "bad" if case.failure.kind == "system" else "unsure"
        yield Item(id="failure", state=state, label=case.failure.kind, text=case.failure.message, code=case.failure.code)


def _step(step: SelftestStep, number: int, threshold: float) -> Item:
    """One answer: whether it passes, and if not, whether by its status, its score, or because it was not judged. The text is the judge's reason."""
    notes = []
    if step.actual_status != step.expected_status:
        notes.append(f"status {step.actual_status}, expected {step.expected_status}")
    if step.scores is not None:
        overall = step.scores.overall_score
        notes.append(f"score {overall:.2f}" + (f", below {threshold:.2f}" if overall < threshold else ""))
    state: MarkState = "good" if step.pass_ else "bad"
    code = ""
    if step.failure is not None:
        state = "bad" if step.failure.kind == "system" else "unsure"
        notes.append(f"failed: {step.failure.kind}")
        code = step.failure.code
    text = step.judge.reasoning if step.judge is not None else step.failure.message if step.failure is not None else ""
    return Item(id=f"step-{number}", state=state, label=f"answer {number}", text=text, code=code, note="; ".join(notes), to=(f"answer-{number}",))


def _findings(case: SelftestCase) -> ChecksSection:
    """What the fixed checks found; it changes no verdict."""
    found = [(number, one) for number, step in enumerate(case.steps, 1) for one in step.findings] or [(0, one) for one in case.findings]
    items = tuple(
        Item(
            id=f"finding-{place}",
            state=next((state for severity, state in STATES.items() if severity == one.severity), "note"),
            label=f"answer {number}" if number else "",
            text=one.message,
            code=one.code,
            to=(f"answer-{number}",) if number else (),
        )
        for place, (number, one) in enumerate(found)
    )
    return ChecksSection(id="findings", title="Findings", note="of fixed checks; they change no verdict", items=items)
