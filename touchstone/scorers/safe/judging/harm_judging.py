"""Shows the judge a case's follow-up questions, and turns its verdicts into findings. Cases without questions, or outside the sample, are not judged."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from touchstone.schemas.case import SafeCase
from touchstone.schemas.result import Finding, NotChecked, Scorecard
from touchstone.scorers.base import Reading
from touchstone.scorers.identity import event_id
from touchstone.scorers.judges.ask.consult import Unjudged, bounded, consult, incomplete, judge_details, settled, why_bound
from touchstone.scorers.judges.ask.judge import Answer, Judge
from touchstone.scorers.judges.ask.sampling import cut, is_sampled, shares
from touchstone.scorers.safe.judging import BLAME, CHECK, HARM, prompt
from touchstone.scorers.safe.judging.verdicts import QUESTIONS_MAX, Harm, HarmVerdict, QuestionVerdict

if TYPE_CHECKING:
    from touchstone.scorers.safe.settings import SafeSettings

#: Bounds of the listed terms that the judge is shown as context.
TERMS_MAX: Final = 100
TERMS_CHARS_MAX: Final = 2_000
NOTHING: Final = "(none)"
_CODES: Final[Mapping[Harm, str]] = {"blame": BLAME, "harm": HARM}
_MESSAGES: Final[Mapping[Harm, str]] = {
    "blame": "a judge reads blame in a follow-up question",
    "harm": "a judge sees harm in a follow-up question",
}
_PLACE: Final = "output.followup_questions[{}]"


@dataclass(frozen=True, slots=True)
class Shown:
    """The questions that the judge is shown. `places`: their indices in the case. `left_out`: how many are not shown because there are too many."""

    places: tuple[int, ...]
    texts: tuple[str, ...]
    left_out: int

    @property
    def lines(self) -> str:
        """One question a line, as JSON, so that no text can imitate another question."""
        return "\n".join(_json({"number": place + 1, "text": text}) for place, text in zip(self.places, self.texts, strict=True))


class HarmJudging:
    """Asks the judge about cases."""

    def __init__(self, judge: Judge | None, settings: SafeSettings, suite: str) -> None:
        self._judge = judge
        self._settings = settings
        self._suite = suite
        self._prompt = prompt()

    def readings(self) -> Iterable[Reading]:
        """The judge's metrics."""
        return () if self._judge is None else self._judge.readings()

    async def close(self) -> None:
        """Close the judge's connections."""
        if self._judge is not None:
            await self._judge.close()

    async def judged(self, case: SafeCase, card: Scorecard) -> Scorecard:
        """The card with the judge's findings, and the same values. Raises `Unavailable` or `Shed`, each with the card, if the case can wait."""
        shown = shown_of(case, self._settings.ah_judge_chars_max)
        found = await self._asked(case, shown)
        return settled(found, with_findings(card, found, shown, quote=self._settings.quote))

    async def _asked(self, case: SafeCase, shown: Shown) -> Answer[HarmVerdict] | Unjudged:
        if not shown.places:
            return Unjudged("no_questions", "there is no follow-up question")
        if not is_sampled(self._suite, _id_of(case, self._settings.ah_judge_sample_rate), self._settings.ah_judge_sample_rate):
            return Unjudged("not_sampled", "the case is not in the sample that is judged")
        fields = {"terms": _terms(case.expectations.followup_questions.forbidden_terms), "questions": shown.lines}
        return await consult(self._judge, self._prompt, fields, HarmVerdict, component=CHECK, on_budget=self._settings.on_budget)


def shown_of(case: SafeCase, chars_max: int) -> Shown:
    """The questions that the judge is shown: no blank ones, at most `QUESTIONS_MAX`, long ones cut."""
    asked = [(place, text) for place, text in enumerate(case.output.followup_questions) if not text.isspace() and text]
    kept = asked[:QUESTIONS_MAX]
    parts = shares([len(text) for _, text in kept], chars_max)
    texts = tuple(cut(text, part) for (_, text), part in zip(kept, parts, strict=True))
    return Shown(tuple(place for place, _ in kept), texts, len(asked) - len(kept))


def with_findings(card: Scorecard, judged: Answer[HarmVerdict] | Unjudged, shown: Shown, *, quote: bool) -> Scorecard:
    """The card with the judge's findings, what it did not judge, and what it cost. Values stay; so does the label, unless the judge was asked in vain."""
    if isinstance(judged, Unjudged):
        not_checked = () if judged.reason == "no_questions" else (NotChecked(check=CHECK, reason=judged.why),)
        failures = () if judged.failure is None else (judged.failure,)
        label, bound = bounded(card.label, "Review", why_bound(judged))
        return card.model_copy(
            update={
                "label": label,
                "findings": (*card.findings, *bound),
                "details": {**card.details, "judge": {**judge_details(judged), "questions": len(shown.places)}},
                "not_checked": (*card.not_checked, *not_checked),
                "failures": (*card.failures, *failures),
            },
        )
    verdicts = judged.verdict.by_number
    findings = tuple(_finding(place, one, quote=quote) for place in shown.places if (one := verdicts.get(place + 1)) is not None and one.verdict != "harmless")
    missing = [
        NotChecked(check=f"{CHECK}.{_PLACE.format(place)}", reason="the judge gave no verdict on it") for place in shown.places if place + 1 not in verdicts
    ]
    failure = incomplete(CHECK) if missing else None
    label, bound = bounded(card.label, "Review", why_bound(judged, failure))
    if shown.left_out:
        missing.append(NotChecked(check=CHECK, reason=f"{shown.left_out} questions are beyond the {QUESTIONS_MAX} that are judged"))
    return card.model_copy(
        update={
            "label": label,
            "failures": (*card.failures, *(() if failure is None else (failure,))),
            "details": {**card.details, "judge": {**judge_details(judged, failure), "questions": len(shown.places)}},
            "findings": (*card.findings, *findings, *bound),
            "not_checked": (*card.not_checked, *missing),
            "models": {**card.models, "judge": judged.model},
        }
    )


def _finding(place: int, found: QuestionVerdict, *, quote: bool) -> Finding:
    """The finding on one question; only with `quote` in the judge's words, because they quote the case."""
    assert found.verdict != "harmless"
    words = " ".join(found.reason.split())
    return Finding(
        severity=found.severity,
        code=_CODES[found.verdict],
        path=_PLACE.format(place),
        message=f"{_MESSAGES[found.verdict]}: {words}" if quote and words else _MESSAGES[found.verdict],
    )


def _terms(terms: tuple[str, ...]) -> str:
    lines: list[str] = []
    left = TERMS_CHARS_MAX
    for term in terms[:TERMS_MAX]:
        if len(term) <= left:
            lines.append(_json(term))
            left -= len(term)
    return "\n".join(lines) or NOTHING


def _id_of(case: SafeCase, rate: float) -> str:
    """The id that decides about the sample: the event's, else one of the case's content. Made only if it is needed, because that takes time."""
    if case.id is not None or rate >= 1:
        return case.id or ""
    return event_id(SafeCase, case.model_dump(mode="json", by_alias=True, exclude_unset=True))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
