"""Checks deterministically whether persona and outputs meet a curated case's expectations, by code or by name."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from touchstone.schemas.reports.evaluation import Expectation, Expectations
from touchstone.schemas.result import Finding, NotChecked
from touchstone.schemas.trace import CLINICAL_FORMATS, ProductionTrace
from touchstone.scorers.clinical.curated.cases import CuratedCase
from touchstone.scorers.clinical.curated.facts import Facts, facts_of_document, facts_of_persona

_PERSONA: Final = "persona"


def check_expectations(case: CuratedCase, trace: ProductionTrace) -> Expectations:
    """The expectations of a case, and which of them its trace meets.

    A term is met if the persona or any output has it; age and sex, if every source that gives them agrees. Findings name what was expected, and quote
    nothing of the trace. Ages are computed for the trace's own time.
    """
    facts, not_checked = _facts(trace)
    expected, findings = [], []
    for place, kind, terms in case.expected.terms():
        name = " or ".join(term.name for term in terms)
        found_in = tuple(source for source, known in facts.items() if any(known.has(term) for term in terms))
        expected.append(Expectation(expected=place, name=name, found_in=found_in))
        if not found_in:
            message = f"expected {kind} is in neither persona nor outputs: {name}"
            findings.append(Finding(severity="major", code=f"expectations.{kind}", path=f"expected.{place}", message=message))
    for check in (_age, _sex):
        checked = check(case, facts)
        if isinstance(checked, NotChecked):
            not_checked.append(checked)
        elif checked is not None:
            met, finding = checked
            expected.append(met)
            findings += [finding] if finding is not None else []
    met_count = sum(bool(one.found_in) for one in expected)
    return Expectations(asked=len(expected), met=met_count, expected=tuple(expected), findings=tuple(findings), not_checked=tuple(not_checked))


def _facts(trace: ProductionTrace) -> tuple[dict[str, Facts], list[NotChecked]]:
    """The facts in persona and outputs, by source, and what could not be read."""
    moment = trace.timestamp or datetime.now(UTC)
    facts = {_PERSONA: facts_of_persona(trace.persona, moment)} if trace.persona is not None else {}
    not_checked = [] if trace.persona is not None else [NotChecked(check="expectations.persona", reason="there is no persona")]
    for form in CLINICAL_FORMATS:
        output = trace.outputs.of(form)
        for content in output.documents if output is not None else ():
            known = facts_of_document(form, content, moment)
            if known is None:
                not_checked.append(NotChecked(check=f"expectations.{form}", reason="the document could not be read for them"))
            else:
                facts[form] = known
    return facts, not_checked


Checked = tuple[Expectation, Finding | None] | NotChecked | None


def _age(case: CuratedCase, facts: Mapping[str, Facts]) -> Checked:
    wanted = case.expected.age
    if wanted is None:
        return None
    low, high = wanted
    ages = {source: known.age for source, known in facts.items() if known.age is not None}
    # A patient of 61 years is 61 until the day before the next birthday.
    return _checked("age", f"age {low:g} to {high:g}", {source: low <= age < high + 1 for source, age in ages.items()})


def _sex(case: CuratedCase, facts: Mapping[str, Facts]) -> Checked:
    wanted = case.expected.sex
    if wanted is None:
        return None
    return _checked("sex", wanted, {source: known.sex == wanted for source, known in facts.items() if known.sex is not None})


def _checked(what: str, name: str, agrees: Mapping[str, bool]) -> Checked:
    """One expectation, by which sources agree with it."""
    if not agrees:
        return NotChecked(check=f"expectations.{what}", reason=f"neither persona nor outputs tell the {what}")
    wrong = [source for source, fits in agrees.items() if not fits]
    if not wrong:
        return Expectation(expected=what, name=name, found_in=tuple(agrees)), None
    message = f"the {what} is another than expected ({name}) in {', '.join(wrong)}"
    return Expectation(expected=what, name=name), Finding(severity="major", code=f"expectations.{what}", path=f"expected.{what}", message=message)
