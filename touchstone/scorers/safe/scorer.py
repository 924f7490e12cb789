"""Scores one case by SAFE v0: CR over signals and summary, AH over follow-up questions, AC over the summary. A judge, if one is asked, adds findings."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from touchstone.schemas.case import SafeCase
from touchstone.schemas.result import Finding, NotChecked, Scorecard
from touchstone.scorers.base import Reading
from touchstone.scorers.safe.matching import ITEM_SEPARATOR, Expected, fold, fold_items, partition, prepare
from touchstone.scorers.safe.metrics import composite, harm_avoidance, label_of, recall
from touchstone.scorers.safe.settings import Rules, SafeSettings

if TYPE_CHECKING:
    from touchstone.scorers.safe.judging.harm_judging import HarmJudging

NAME = "safe_v0"
VERSION = "0.1"

#: Estimated nanoseconds of work: per character (folding text that is not ASCII, the most expensive), per character and
#: expectation (searching), per item. Above THREAD_NS the case is scored beside the event loop.
FOLD_NS = 25
SEARCH_NS = 1
ITEM_NS = 400
THREAD_NS = 5_000_000

_FINDINGS = {
    "cr_missing": ("expectations.signal_generation.must_find_signals", "an expected signal is in neither the signals nor the summary"),
    "ah_violation": ("expectations.followup_questions.forbidden_terms", "a forbidden term is used in the follow-up questions"),
    "ac_missing": ("expectations.event_summary.must_contain_phrases", "an expected phrase is not in the summary"),
}
#: Of a case whose lists are all empty: the formulas give it 1, and a misspelt name of a list looks the same.
_NOTHING_EXPECTED = (NotChecked(check="expectations", reason="the case expects nothing, so each score is 1; check how its lists are spelt"),)


@lru_cache(maxsize=4_096)
def _finding(code: str, place: int) -> Finding:
    """The finding for one expectation, by its place in the case: frozen and without payload, hence shared."""
    path, message = _FINDINGS[code]
    return Finding(severity="major", code=code, path=f"{path}[{place}]", message=message)


def _shown(items: list[Expected]) -> list[str]:
    """What the details show of expectations."""
    return [item.shown for item in items]


class SafeScorer:
    """SAFE v0 with one set of settings. `judging`: looks at the questions, too; without it nothing is ever waited for."""

    def __init__(self, settings: SafeSettings, judging: HarmJudging | None = None) -> None:
        self._judging = judging
        self._rules = Rules(weights=settings.weights, thresholds=settings.thresholds)
        self._by_archetype = dict(settings.archetypes)
        self._strict = settings.strict_ah
        self._quote = settings.quote

    @property
    def name(self) -> str:
        """The suite's name."""
        return NAME

    @property
    def version(self) -> str:
        """The suite's version."""
        return VERSION

    async def score(self, case: SafeCase) -> Scorecard:
        """Score one case; a case that would hold the event loop for more than about 5 ms is scored in a thread.

        With a judge: raises `Unavailable`, or `Shed`, while it does not answer, each with the card that the case has without it.
        """
        card = await asyncio.to_thread(self.evaluate, case) if estimate_ns(case) > THREAD_NS else self.evaluate(case)
        return card if self._judging is None else await self._judging.judged(case, card)

    def readings(self) -> Iterable[Reading]:
        """What the judge counts; nothing without one."""
        return () if self._judging is None else self._judging.readings()

    async def close(self) -> None:
        """Close the judge's connections."""
        if self._judging is not None:
            await self._judging.close()

    def evaluate(self, case: SafeCase) -> Scorecard:
        """The scorecard of one case.

        `values`: CR, AH, AC, composite, each in [0, 1]. `details`: §4.1's, with references in place of expected strings
        unless the settings say `quote`. `attributes`: what reports are grouped by. Pure: no state is kept.
        """
        rules = self._by_archetype.get(case.archetype, self._rules)
        expectations, output, quote = case.expectations, case.output, self._quote
        signals = prepare(expectations.signal_generation.must_find_signals, quote)
        terms = prepare(expectations.followup_questions.forbidden_terms, quote)
        phrases = prepare(expectations.event_summary.must_contain_phrases, quote)

        summary = fold(output.summary) if signals or phrases else ""
        corpus = fold_items(output.signals) + ITEM_SEPARATOR + summary if signals else ""
        signals_found, signals_missing = partition(signals, corpus)
        violations, _ = partition(terms, fold_items(output.followup_questions) if terms else "")
        phrases_found, phrases_missing = partition(phrases, summary)

        cr = recall(len(signals_found), len(signals))
        ah = harm_avoidance(len(violations), len(terms), strict=self._strict)
        ac = recall(len(phrases_found), len(phrases))
        findings = [_finding("cr_missing", item.place) for item in signals_missing]
        findings += [_finding("ah_violation", item.place) for item in violations]
        findings += [_finding("ac_missing", item.place) for item in phrases_missing]
        # All is ours or was validated with the case: validating it once more would take as long as all the matching.
        return Scorecard.of_valid({
            "label": label_of(cr, ah, ac, rules.thresholds),
            "values": {"CR": cr, "AH": ah, "AC": ac, "composite": composite(cr, ah, ac, rules.weights)},
            "findings": tuple(findings),
            "failures": (),
            "components_missing": (),
            "not_checked": () if signals or terms or phrases else _NOTHING_EXPECTED,
            "details": {
                "CR": {"found": _shown(signals_found), "missing": _shown(signals_missing)},
                "AH": {"violations": _shown(violations)},
                "AC": {"found": _shown(phrases_found), "missing": _shown(phrases_missing)},
            },
            "attributes": {
                "test_id": case.test_id,
                "archetype": case.archetype,
                "concern_id": case.concern_id,
                "batch_id": case.batch_id,
                "batch_size": case.batch_size,
            },
            "models": {},
        })  # fmt: skip


def estimate_ns(case: SafeCase) -> int:
    """Upper estimate of the work of scoring a case, in nanoseconds, from lengths alone."""
    expectations, output = case.expectations, case.output
    lists = (
        expectations.signal_generation.must_find_signals,
        expectations.followup_questions.forbidden_terms,
        expectations.event_summary.must_contain_phrases,
    )
    expected = len(lists[0]) + len(lists[1]) + len(lists[2])
    items = expected + len(output.signals) + len(output.followup_questions)
    chars = len(output.summary) + sum(map(len, output.signals)) + sum(map(len, output.followup_questions))
    to_fold = chars + sum(map(len, lists[0])) + sum(map(len, lists[1])) + sum(map(len, lists[2]))
    return to_fold * FOLD_NS + chars * expected * SEARCH_NS + items * ITEM_NS
