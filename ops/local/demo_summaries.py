"""The demo's second half: generated summaries scored live by Loss V3, and whether that adds up.

Sends the sample summaries, gathers their results, and asks: did each sample get what it was written for, do the accounts
close, and does the batch command's code give the same numbers over the same files.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from touchstone.ops.batch.batches import given_files
from touchstone.ops.batch.loss_batches import SummaryEntry, SummarySelection
from touchstone.ops.batch.loss_scoring import Origin, Scored, build_report, close, score_entries
from touchstone.ops.local.demo_live import send_and_gather
from touchstone.ops.local.samples import expected_summaries, golds, summaries
from touchstone.ops.reports.loss_console import render_console
from touchstone.ops.reports.loss_table import HIGHER_IS_BETTER
from touchstone.ops.suites import suite_settings
from touchstone.schemas.reports.summary import LossReport
from touchstone.schemas.result import Scorecard
from touchstone.schemas.settings.house import Settings
from touchstone.scorers.base import Suite
from touchstone.scorers.identity import config_digest

SUITE = "summary_loss"
#: On a busy machine without a GPU a summary takes many seconds.
ARRIVAL_TIMEOUT_S = 600.0
#: Promise 6 of the README: the same answer everywhere.
TOLERANCE = 1e-3
#: A value is worse than another one where it is so by more than rounding.
WORSE_BY = 0.01
#: Settings of worker and batch alike. A batch's make-up shows in the third decimal of a bfloat16 score, and live and batch make
#: other batches; in float32 it does not.
ENVIRONMENT: dict[str, str] = {"SUMMARY_LOSS_GOLD": str(golds()), "SUMMARY_LOSS_ENGINES_DTYPE": "float32"}


@dataclass(slots=True)
class Summaries:
    """The samples and what became of them. `problems`: what does not add up."""

    suite: Suite
    entries: list[SummaryEntry] = field(default_factory=list)
    cards: dict[str, Scorecard] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, suite: Suite) -> "Summaries":
        """The sample summaries, as the batch command reads them."""
        selection = SummarySelection()
        read = cls(suite, list(selection.entries(given_files([summaries()]))))
        read.problems += [f"{error.where} {error.what}" for error in selection.errors]
        return read

    async def stream(self, settings: Settings) -> int:
        """Send the samples and gather their results; returns how many were sent."""
        sent, missing = await send_and_gather(settings, self.suite, [summaries()], self.cards, timeout_s=ARRIVAL_TIMEOUT_S, names="summaries")
        self.problems += [missing] if missing else []
        return sent

    def report(self) -> LossReport:
        """The batch report over what was scored live."""
        own = suite_settings(self.suite, env=ENVIRONMENT)
        fingerprint = dict(self.suite.fingerprint(own))
        origin = Origin(self.suite.version, config_digest(fingerprint), fingerprint, self.suite.metrics)
        scored = [Scored(entry, self.cards[entry.event_id]) for entry in self.entries if entry.event_id in self.cards]
        return build_report(scored, origin, generated_at=datetime.now(UTC))

    def shown(self) -> list[str]:
        """The table of the summaries, from the console report."""
        lines = render_console(self.report()).splitlines()
        return [line for line in lines if line]

    async def check(self) -> None:
        """Hold the live results against what each sample was written for, and against the batch command's."""
        self.problems += unexpected(self.cards, expected_summaries())
        scorer = await asyncio.to_thread(self.suite.build, suite_settings(self.suite, env=ENVIRONMENT))
        try:
            batch = await score_entries(scorer, self.entries)
        finally:
            await close(scorer)
        for each in batch:
            live = self.cards.get(each.entry.event_id)
            if live is not None and (difference := differs(live, each.card)):
                self.problems.append(f"{each.entry.event_id}: live and batch differ in {difference}")


def differs(one: Scorecard, other: Scorecard) -> str:
    """What two scorecards differ in: labels, codes, or values by more than the tolerance; nothing where they agree."""
    if one.label != other.label:
        return f"the label ({one.label}, {other.label})"
    if _codes(one) != _codes(other):
        return "codes"
    if one.values.keys() != other.values.keys():
        return "their components"
    worst = max(one.values, key=lambda name: abs(one.values[name] - other.values[name]), default=None)
    if worst is None or abs(one.values[worst] - other.values[worst]) <= TOLERANCE:
        return ""
    return f"{worst} ({one.values[worst]:.4f}, {other.values[worst]:.4f})"


def _codes(card: Scorecard) -> tuple[list[str], list[str]]:
    """Critical findings and failures, by code."""
    return sorted(finding.code for finding in card.findings if finding.severity == "critical"), sorted(failure.code for failure in card.failures)


def unexpected(cards: Mapping[str, Scorecard], expected: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What the samples did not get that they were written for."""
    problems = []
    for event_id, wanted in expected.items():
        card = cards.get(event_id)
        if card is None:
            problems.append(f"{event_id}: no result")
            continue
        rules, codes = _codes(card)
        if "rule" in wanted:
            if card.label != "Fail" or wanted["rule"] not in rules or card.values != {"loss": 1.0}:
                problems.append(f"{event_id}: the hard fail {wanted['rule']} was expected")
        elif "unscored" in wanted:
            if card.label != "unscored" or card.values or wanted["unscored"] not in codes:
                problems.append(f"{event_id}: the outcome {wanted['unscored']} was expected")
        elif rules or "loss" not in card.values:
            problems.append(f"{event_id}: a loss without a hard fail was expected")
        elif "worse_than" in wanted:
            other = cards.get(wanted["worse_than"])
            problems += [f"{event_id}: {name} is no worse than {wanted['worse_than']}'s" for name in not_worse(card, other, wanted["in"])]
    return problems


def not_worse(card: Scorecard, other: Scorecard | None, names: Sequence[str]) -> list[str]:
    """Which of the named values are not worse than the other card's."""
    found = []
    for name in names:
        one, two = card.values.get(name), other.values.get(name) if other is not None else None
        sign = -1 if name in HIGHER_IS_BETTER else 1
        if one is None or two is None or sign * (one - two) <= WORSE_BY:
            found.append(name)
    return found
