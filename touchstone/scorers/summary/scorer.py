"""Scores one case by Loss V3: guardrails first and alone, then vectors, at most two NLI rounds, the weighted sum (§5); with a judge, that once more."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from touchstone.schemas.result import Failure, NotChecked, Scorecard
from touchstone.scorers.base import Reading
from touchstone.scorers.engines.base import TextTooLong
from touchstone.scorers.judges.ask.consult import bounded, consult, judge_details, settled
from touchstone.scorers.judges.ask.judge import Answer
from touchstone.scorers.summary.certainty import certainty_of
from touchstone.scorers.summary.components.length import same_tokenizer
from touchstone.scorers.summary.components.preparing import GOLD_NOT_FOUND, NO_GOLD, STATEMENT_TOO_LONG, Prepared, Unscored, prepare
from touchstone.scorers.summary.components.questions import Asked, Questions, ask, texts_to_embed
from touchstone.scorers.summary.components.second_round import ask_again
from touchstone.scorers.summary.components.weighing import Components, weigh
from touchstone.scorers.summary.conflicts.unknown.finding import reads
from touchstone.scorers.summary.details import bound_finding, conflict_findings, details_of, findings_of, hard_fail_details, unsure_details, unsure_finding
from touchstone.scorers.summary.judge_prompt import prompt
from touchstone.scorers.summary.judging.judgement import CERTAIN, COMPONENT, HARD_FAIL, Judgement
from touchstone.scorers.summary.judging.statement_ids import fields_of, rulings_of, source_shown
from touchstone.scorers.summary.judging.uncertain import uncertain
from touchstone.scorers.summary.judging.verdicts import StatementVerdicts
from touchstone.scorers.summary.labels import labelled
from touchstone.scorers.summary.omissions import omission_findings
from touchstone.scorers.summary.settings import NAME, VERSION
from touchstone.scorers.summary.total import missing
from touchstone.scorers.summary.vectors import Vectors

if TYPE_CHECKING:
    from touchstone.schemas.gold import GoldStandardDatum
    from touchstone.schemas.summary import SummaryCase
    from touchstone.scorers.engines.base import Engines
    from touchstone.scorers.judges.ask.judge import Judge
    from touchstone.scorers.summary.components.support import Calibration
    from touchstone.scorers.summary.settings import SummarySettings


class SummaryLossScorer:
    """Loss V3 with one set of settings. `golds`: by source id, for cases that refer to theirs; `calibration`: for any support of the models but `nli`.

    `judge`: whom to ask with `support: judge`; without one the models decide, and results say so.
    """

    def __init__(
        self,
        engines: Engines,
        settings: SummarySettings,
        golds: Mapping[str, GoldStandardDatum] | None = None,
        calibration: Calibration | None = None,
        judge: Judge | None = None,
    ) -> None:
        self._engines = engines
        self._settings = settings
        self._golds = golds or {}
        if settings.supported_by != "nli" and calibration is None:
            raise ValueError(f"the support {settings.supported_by} needs a calibration")
        self._calibration = calibration if settings.supported_by != "nli" else None
        self._judge = judge

    @property
    def name(self) -> str:
        """The suite's name."""
        return NAME

    @property
    def version(self) -> str:
        """The suite's version."""
        return VERSION

    def readings(self) -> Iterable[Reading]:
        """The engines' current readings, and the judge's."""
        return [*self._engines.readings(), *(() if self._judge is None else self._judge.readings())]

    async def close(self, *, engines: bool = True) -> None:
        """Close the judge's connections, and the `engines` after the work in flight."""
        if self._judge is not None:
            await self._judge.close()
        if engines:
            await self._engines.close()

    async def score(self, case: SummaryCase) -> Scorecard:
        """Score one case. Raises `Unavailable` where an engine is down; and where the judge is, or `Shed`, both with the card as it is without the judge.

        `values`: loss, the components' losses and their parts, each in [0, 1], lower is better for what ends in `loss`; a hard fail has the loss
        alone. A case that cannot be scored has no value, and a failure of kind `input` that says why.
        """
        datum: GoldStandardDatum | None = None
        try:
            datum = self._datum_of(case)
            prepared = await asyncio.to_thread(prepare, case, datum, self._settings)
            if prepared.breaches:
                return self._failed_hard(case, prepared)
            return await self._scored(case, prepared)
        except Unscored as error:
            return self._unscored(case, datum, error.code)
        except TextTooLong:
            return self._unscored(case, datum, STATEMENT_TOO_LONG)

    def _datum_of(self, case: SummaryCase) -> GoldStandardDatum:
        """The gold of a case: its own, else the one it refers to. Raises `Unscored`."""
        if case.datum is not None:
            return case.datum
        if case.gold_ref is None:
            raise Unscored(NO_GOLD)
        datum = self._golds.get(case.gold_ref)
        if datum is None:
            raise Unscored(GOLD_NOT_FOUND)
        return datum

    async def _scored(self, case: SummaryCase, prepared: Prepared) -> Scorecard:
        """Phases 2 to 4, and the judge. Raises `Unavailable`, `Shed`."""
        settings, embedder = self._settings, self._engines.embedder
        questions = Questions.of(prepared, settings)
        texts = texts_to_embed(prepared, questions, settings, self._calibration)
        values, tokens = await asyncio.gather(embedder.embed(texts), embedder.count_tokens([prepared.generated.text, *questions.sentences]))
        vectors = Vectors({text: row for row, text in enumerate(texts)}, values)
        asked = await asyncio.to_thread(ask, questions, vectors, settings)
        probabilities = await self._engines.nli.entail(first := asked.pairs)
        asked = await asyncio.to_thread(ask_again, asked, questions, probabilities, vectors, settings, self._calibration)
        if more := asked.pairs[len(first) :]:
            probabilities = np.concatenate([probabilities, await self._engines.nli.entail(more)])
        weighed = partial(weigh, prepared, asked, probabilities, vectors, tokens, settings, self._calibration)
        components = await asyncio.to_thread(weighed)
        if not settings.asks_judge:
            return self._card(case, prepared, asked, components, None)
        judgement = await self._judged(prepared, asked, components)
        if judgement.rulings:
            components = await asyncio.to_thread(weighed, rulings=judgement.rulings)
        return settled(judgement.outcome, self._card(case, prepared, asked, components, judgement))

    async def _judged(self, prepared: Prepared, asked: Asked, components: Components) -> Judgement:
        """Ask the judge about everything that is uncertain, in one call. Nothing uncertain: no call."""
        parts, shown = uncertain(components, asked, self._settings), self._settings.judge_source_chars_max
        if not parts:
            return Judgement(CERTAIN, parts)
        fields = {} if self._judge is None else await asyncio.to_thread(fields_of, parts, prepared, asked, shown)
        outcome = await consult(self._judge, prompt(), fields, StatementVerdicts, component=COMPONENT, on_budget=self._settings.on_budget)
        if not isinstance(outcome, Answer):
            return Judgement(outcome, parts)
        return Judgement(outcome, parts, rulings_of(outcome.verdict, parts, prepared), not source_shown(prepared, shown))

    def _card(self, case: SummaryCase, prepared: Prepared, asked: Asked, components: Components, judgement: Judgement | None) -> Scorecard:
        """The scorecard of a case that was weighed."""
        settings = self._settings
        certainty = certainty_of(components, settings)
        details = details_of(prepared, asked, components, settings) | unsure_details(certainty)
        if judgement is not None:
            details |= {"parts": judgement.origins(components), "judge": judgement.details(components)}
        by_values = labelled(components.values["loss"], components.conflicts, certainty, settings)
        in_vain = "" if judgement is None else judgement.in_vain
        label, unjudged = bounded(by_values.label, "Review", in_vain)
        return Scorecard(
            label=label,
            values=components.values,
            findings=(
                *conflict_findings(components.conflicts, prepared, quote=settings.quote),
                *omission_findings(prepared, components, quote=settings.quote),
                *unsure_finding(certainty, settings.labels),
                *bound_finding(by_values),
                *unjudged,
            ),
            failures=() if judgement is None else judgement.failures,
            components_missing=missing(components.losses),
            not_checked=self._not_checked(prepared) + (() if judgement is None else judgement.not_checked()),
            details=details,
            attributes=_attributes(case, prepared.datum),
            models=self._models() | ({} if judgement is None else judgement.models),
        )

    def _not_checked(self, prepared: Prepared) -> tuple[NotChecked, ...]:
        """Parts that were measured with another tokenizer than the gold's, and a source text that was not read to its end."""
        found = []
        if not same_tokenizer(prepared.datum.entry.tokenizer, self._engines.embedder.model):
            found.append(NotChecked(check="length.tokenizer", reason="the gold's tokenizer is not available; the embedder's counted the generated text"))
        if prepared.source_cut:
            found.append(NotChecked(check="precision.source", reason="the source text is longer than limits.source_chars_max; its end was not compared"))
        if self._settings.looks_near and self._settings.conflicts.unknown and not prepared.has_whole_source:
            reason = "the gold does not bring its whole source text, and by itself leaves out most of what that names"
            found.append(NotChecked(check="conflicts.unknown", reason=reason))
        elif self._settings.looks_near and self._settings.conflicts.unknown and not reads(prepared.generated.sentences, prepared.known_sentences):
            reason = "the summary, or the gold with its source, is not in English; of what neither of them has, only codes were looked for"
            found.append(NotChecked(check="conflicts.unknown", reason=reason))
        return tuple(found)

    def _failed_hard(self, case: SummaryCase, prepared: Prepared) -> Scorecard:
        """The greatest loss, and which rule gave it."""
        return Scorecard(
            label="Fail",
            values={"loss": 1.0},
            findings=findings_of(prepared.breaches),
            details=hard_fail_details(prepared, quote=self._settings.quote) | ({"judge": judge_details(HARD_FAIL)} if self._settings.asks_judge else {}),
            attributes=_attributes(case, prepared.datum),
            models=self._models(),
        )

    def _unscored(self, case: SummaryCase, datum: GoldStandardDatum | None, code: str) -> Scorecard:
        """A named outcome."""
        return Scorecard(
            label="unscored",
            values={},
            failures=(Failure(component=NAME, kind="input", code=code),),
            attributes=_attributes(case, datum),
            models=self._models(),
        )

    def _models(self) -> dict[str, str]:
        """The models that answer."""
        return {"nli": self._engines.nli.model, "embedder": self._engines.embedder.model}


def _attributes(case: SummaryCase, datum: GoldStandardDatum | None) -> dict[str, str | int | float | bool | None]:
    """The attributes by which results are grouped."""
    return {
        "source_id": datum.entry.source_id if datum is not None else case.gold_ref,
        "category": datum.entry.category if datum is not None else None,
        "model": case.model,
        "generated_at": None if (moment := case.generated_at or case.timestamp) is None else moment.isoformat(),
    }
