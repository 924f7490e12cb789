"""The demo's traces: generated patients validated live by the suite `clinical`, and whether that adds up.

Sends the sample traces, gathers their results, and asks: did each sample get what it was written for, and does the Python call give the
same scorecards over the same files.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from touchstone.ops.batch.trace_events import event_id_for
from touchstone.ops.local.demo_live import send_and_gather
from touchstone.ops.local.samples import expected_traces, traces
from touchstone.ops.suites import suite_settings
from touchstone.schemas.case import validate_case
from touchstone.schemas.result import Finding, Scorecard
from touchstone.schemas.settings.house import Settings
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.base import Suite

SUITE = "clinical"
ARRIVAL_TIMEOUT_S = 120.0
#: Findings of one trace that the demo shows.
FINDINGS_SHOWN = 3
_SEVERITIES: Final = ("critical", "major", "minor")
_COLUMNS: Final = ("Trace", "Label", "Overall", "Format", "Terminology", "critical", "major", "minor")


@dataclass(slots=True)
class Traces:
    """The samples and what became of them. `problems`: what does not add up."""

    suite: Suite
    samples: dict[str, ProductionTrace] = field(default_factory=dict)
    cards: dict[str, Scorecard] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, suite: Suite) -> "Traces":
        """The sample traces, by event id."""
        read = cls(suite)
        for path in sorted(traces().glob("*.json")):
            document = json.loads(path.read_text(encoding="utf-8"))
            read.samples[event_id_for(document)] = validate_case(ProductionTrace, document)
        return read

    async def stream(self, settings: Settings) -> int:
        """Send the samples and gather their results; returns how many were sent."""
        sent, missing = await send_and_gather(settings, self.suite, [traces()], self.cards, timeout_s=ARRIVAL_TIMEOUT_S, names="traces")
        self.problems += [missing] if missing else []
        return sent

    def shown(self) -> list[str]:
        """A table of the traces, and the gravest findings of those that did not pass."""
        rows = [_COLUMNS, *(_row(trace.trace_id, self.cards[event_id]) for event_id, trace in self.samples.items() if event_id in self.cards)]
        widths = [max(len(row[place]) for row in rows) for place in range(len(_COLUMNS))]
        lines = [
            "  ".join(cell.ljust(width) if place < 2 else cell.rjust(width) for place, (cell, width) in enumerate(zip(row, widths, strict=True)))
            for row in rows
        ]
        for event_id, trace in self.samples.items():
            card = self.cards.get(event_id)
            if card is not None and card.label != "Pass":
                lines += [f"{trace.trace_id}:", *_gravest(card)]
        return lines

    def check(self) -> None:
        """Hold the live results against what each sample was written for, and against the same scorer's answer here."""
        by_trace = {trace.trace_id: self.cards[event_id] for event_id, trace in self.samples.items() if event_id in self.cards}
        self.problems += unexpected(by_trace, expected_traces())
        scorer: Any = self.suite.build(suite_settings(self.suite))
        for event_id, trace in self.samples.items():
            if event_id in self.cards and self.cards[event_id] != scorer.evaluate(trace):
                self.problems.append(f"{trace.trace_id}: live and batch differ")


def unexpected(cards: Mapping[str, Scorecard], expected: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What the samples, by trace id, did not get that they were written for."""
    problems = []
    for trace_id, wanted in expected.items():
        card = cards.get(trace_id)
        if card is None:
            problems.append(f"{trace_id}: no result")
            continue
        found = {finding.code for finding in card.findings if finding.severity in _SEVERITIES}
        if card.label != wanted["label"]:
            problems.append(f"{trace_id}: labelled {card.label}, expected {wanted['label']}")
        if missing := sorted(set(wanted["codes"]) - found):
            problems.append(f"{trace_id}: not found: {', '.join(missing)}")
        if found and not wanted["codes"]:
            problems.append(f"{trace_id}: found though good: {', '.join(sorted(found))}")
        if [document["valid"] for document in card.details["documents"]] != wanted["valid"]:
            problems.append(f"{trace_id}: another verdict on its documents was expected")
    return problems


def _row(trace_id: str, card: Scorecard) -> tuple[str, ...]:
    counts = Counter(finding.severity for finding in card.findings)
    scores = (f"{int(card.values[name] * 10) / 10:.1f}" if name in card.values else "–" for name in ("overall", "format", "terminology"))
    return (trace_id, card.label, *scores, *(str(counts[severity]) for severity in _SEVERITIES))


def _gravest(card: Scorecard) -> list[str]:
    """A finding of each kind, the gravest first, as many as are shown."""
    first: dict[str, Finding] = {}
    for one in card.findings:
        if one.severity in _SEVERITIES:
            first.setdefault(one.code, one)
    chosen = sorted(first.values(), key=lambda finding: _SEVERITIES.index(finding.severity))[:FINDINGS_SHOWN]
    rest = len(card.findings) - len(chosen)
    lines = [f"  [{finding.severity}] {finding.path}: {finding.message}" for finding in chosen]
    return [*lines, f"  … and {rest} more"] if rest > 0 else lines
