"""Runs the cross-format check on pairs and on changed copies of them, and counts the findings."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from touchstone.ops.lab.consistency import in_ccda, in_fhir, in_hl7v2
from touchstone.ops.lab.consistency.changes import Chance, Change
from touchstone.ops.lab.consistency.pairs import Pair, pairs_of, sample_pairs
from touchstone.ops.lab.consistency.written_pairs import both_halves
from touchstone.schemas.result import Finding
from touchstone.scorers.clinical.consistency.ccda_record import parse
from touchstone.scorers.clinical.report import Report

#: Missed changes and false alarms that are listed.
LISTED_MAX: Final = 200
HALVES: Final = ("samples", "developed on", "held back")


def measured(data: Path | None, seed: int = 1, say: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """The figures of the samples and of the pairs written by hand, or of both halves of a folder's pairs. Raises `ConfigError` where there are no pairs."""
    pairs = sample_pairs() if data is None else pairs_of(data)
    tallies = {half: _Tally() for half in HALVES}
    for number, pair in enumerate(pairs, 1):
        say(f"pair {number} of {len(pairs)}")
        tallies[pair.half].measure(pair, seed)
    found = {half: tally.as_json() for half, tally in tallies.items() if tally.pairs}
    return found | ({"written by hand": both_halves()} if data is None else {})


class _Tally:
    """The counts of one half."""

    def __init__(self) -> None:
        self.pairs = 0
        self._clean = 0
        self._found: Counter[tuple[str, str]] = Counter()
        self._as_they_are: list[dict[str, str]] = []
        self._made: Counter[str] = Counter()
        self._caught: Counter[str] = Counter()
        self._missed: list[dict[str, str]] = []
        self._same: Counter[str] = Counter()
        self._alarms: list[dict[str, str]] = []

    def measure(self, pair: Pair, seed: int) -> None:
        """Check a pair as it is, and each change of it."""
        self.pairs += 1
        before = pair.checked()
        self._clean += not before.findings
        for finding in before.findings:
            self._found[finding.code, finding.severity] += 1
            self._as_they_are.append({"pair": pair.name, "severity": finding.severity, "code": finding.code, "path": finding.path})
        known = Counter(_kind(finding) for finding in before.findings)
        for side, change in _changes(pair, seed):
            after = pair.checked(fhir=change.content) if side == "fhir" else pair.checked(other=change.content)
            self._count(pair, side, change, after, known)

    def _count(self, pair: Pair, side: str, change: Change, after: Report, known: Counter[tuple[str, str]]) -> None:
        new = Counter(_kind(finding) for finding in after.findings if finding.severity != "info") - known
        about = {"pair": pair.name, "side": side, "change": change.kind}
        if change.expects is None:
            self._same[change.kind] += 1
            if new:
                self._alarms.append({**about, "codes": ", ".join(sorted(code for code, _ in new))})
            return
        self._made[change.kind] += 1
        if any(code.removeprefix("consistency.").startswith(change.expects) for code, _ in new):
            self._caught[change.kind] += 1
        else:
            self._missed.append({**about, "codes": ", ".join(sorted(code for code, _ in new))})

    def as_json(self) -> dict[str, Any]:
        """The counts as JSON types."""
        made, caught = self._made.total(), self._caught.total()
        return {
            "pairs": self.pairs,
            "without_finding": self._clean,
            "findings": [{"code": code, "severity": severity, "count": count} for (code, severity), count in sorted(self._found.items())],
            "findings_listed": self._as_they_are[:LISTED_MAX],
            "changes": made,
            "caught": caught,
            "recall": caught / made if made else None,
            "by_change": {kind: {"changes": count, "caught": self._caught[kind]} for kind, count in sorted(self._made.items())},
            "missed": self._missed[:LISTED_MAX],
            "equivalents": self._same.total(),
            "by_equivalent": dict(sorted(self._same.items())),
            "false_alarms": len(self._alarms),
            "alarms": self._alarms[:LISTED_MAX],
        }


def _kind(finding: Finding) -> tuple[str, str]:
    """A finding without the numbers of entries, which differ in a changed document."""
    return finding.code, finding.path.split("[", 1)[0]


def _changes(pair: Pair, seed: int) -> Iterator[tuple[str, Change]]:
    """(side, change) of every change of a pair."""
    fhir_text, other_text = json.dumps(json.loads(pair.fhir)), _text(pair)
    chance = Chance(random.Random(f"{seed}:{pair.name}"))  # nothing secret
    for change in in_fhir.changes(pair.fhir, other_text, chance):
        yield "fhir", change
    of_other = in_hl7v2 if pair.form == "hl7v2" else in_ccda
    for change in of_other.changes(pair.other, fhir_text, chance):
        yield pair.form, change


def _text(pair: Pair) -> str:
    """The text of the other side, without negated entries."""
    root = parse(pair.other) if pair.form == "ccda" else None
    if root is None:
        return pair.other.decode("utf-8", "replace")
    for element in root.xpath("//*[@negationInd='true']"):
        element.getparent().remove(element)
    return in_ccda.as_bytes(root).decode()


def as_text(found: dict[str, Any]) -> str:
    """The tables, then missed changes and false alarms."""
    written = found.get("written by hand", {})
    found = {half: one for half, one in found.items() if half in HALVES}
    lines = [f"{'pairs':16}{'pairs':>7}{'clean':>7}{'changes':>9}{'caught':>8}{'recall':>9}{'equivalents':>13}{'false alarms':>14}"]
    for half, one in found.items():
        recall = "–" if one["recall"] is None else f"{one['recall']:.1%}"
        counts = f"{one['pairs']:>7}{one['without_finding']:>7}{one['changes']:>9}{one['caught']:>8}{recall:>9}"
        lines.append(f"{half:16}{counts}{one['equivalents']:>13}{one['false_alarms']:>14}")
    for half, one in found.items():
        lines += ["", f"{half}: contradictions, by what was changed"]
        lines += [f"  {kind:28}{count['caught']:>5} of {count['changes']}" for kind, count in one["by_change"].items()]
        lines += [f"{half}: equivalents"]
        lines += [f"  {kind:28}{count:>5}" for kind, count in one["by_equivalent"].items()]
        lines += [f"  missed: {miss['pair']}, {miss['side']}, {miss['change']}" for miss in one["missed"]]
        lines += [f"  false alarm: {alarm['pair']}, {alarm['side']}, {alarm['change']}: {alarm['codes']}" for alarm in one["alarms"]]
        lines += [f"  as it is: {found['pair']}: {found['severity']} {found['code']} {found['path']}" for found in one["findings_listed"]]
    lines += ["", f"{'written by hand':24}{'contradictions':>15}{'caught':>8}{'equal':>7}{'false alarms':>14}"] if written else []
    for half, one in written.items():
        lines.append(f"  {half:22}{one['contradictions']:>15}{one['caught']:>8}{one['equal']:>7}{one['false_alarms']:>14}")
        lines += [f"  {half}: {wrong['pair']}: missed {wrong['missed']}, unexpected {wrong['unexpected']}" for wrong in one["wrong"]]
    return "\n".join(lines) + "\n"
