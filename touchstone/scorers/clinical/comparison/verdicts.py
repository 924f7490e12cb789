"""Both verdicts on FHIR documents: Touchstone's and the official validator's, and the errors that only one of them reports.

Both use the same settings (docs/fhir-differences.md): extensions without a definition are accepted, example URLs may appear, references are resolved
within the document, wrong displays are warnings, and there is no terminology server. An error that the official validator reports only because
a definition was not available to it is set aside and counted.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from touchstone.schemas.result import Finding
from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.comparison.explanations import explanations, set_aside
from touchstone.scorers.clinical.comparison.places import Places
from touchstone.scorers.clinical.formats.fhir import Options, validate
from touchstone.scorers.clinical.formats.fhir.document import breaking
from touchstone.scorers.clinical.report import Context
from touchstone.scorers.operation_outcome import Issue, NoVerdict, Outcome

#: The settings of the official validator, which does not do the shared clinical checks.
OPTIONS = Options(extensions="any", references="document", example_urls=True, displays="warning", installed_packages=False, clinical=False, marks=False)
DIFFERENCES_MAX = 200

#: Gives the official verdict on one resource. Raises `NoVerdict` if it fails on this resource, another `ConfigError` if it no longer answers.
Official = Callable[[bytes], Outcome]


@dataclass(frozen=True, slots=True)
class Difference:
    """An error that only one side reports. `text` is the validator's own and may quote the document."""

    side: str
    severity: str
    code: str
    location: str
    text: str

    def as_json(self, *, quote: bool) -> dict[str, str]:
        """All of it, or without the text."""
        shown = {"side": self.side, "severity": self.severity, "code": self.code, "location": self.location}
        return shown | ({"text": self.text} if quote else {})


@dataclass(slots=True)
class Comparison:
    """Both verdicts on one document. `aside`: the official validator's errors that do not count, by the reason."""

    name: str
    official: bool
    ours: bool
    differences: list[Difference]
    explained: list[str]
    aside: Counter[str]

    @property
    def agree(self) -> bool:
        """True if the verdicts are the same."""
        return self.official == self.ours

    def as_json(self, *, quote: bool) -> dict[str, Any]:
        """As JSON types. `quote`: with the text of the messages."""
        return {
            "name": self.name,
            "official": "valid" if self.official else "invalid",
            "ours": "valid" if self.ours else "invalid",
            "explained": self.explained,
            "differences": [each.as_json(quote=quote) for each in self.differences],
        }


def compare(name: str, document: bytes, official: Official, *, warnings: bool = False) -> Comparison:
    """Ask both validators and match their messages by place. `warnings`: list those, too; they do not count towards a verdict."""
    report = validate(document, Context(quote=True), OPTIONS)
    our_errors = [finding for finding in report.findings if breaking(finding.code, finding.severity)]
    our_codes = [finding.code for finding in our_errors]
    aside: Counter[str] = Counter()
    counting: list[Issue] = []
    for issue in official(document).issues:
        reason = set_aside(issue, set(our_codes)) if issue.breaks else None
        if reason is None:
            counting.append(issue)
        else:
            aside[reason] += 1
    their_errors = [issue for issue in counting if issue.breaks]
    officially_valid, we_say_valid = not their_errors, not our_errors and any(report.rules_fired.values())
    explained: list[str] = []
    if officially_valid != we_say_valid:
        not_checked = {skipped.check for skipped in report.not_checked}
        explained = explanations([issue.code for issue in their_errors], our_codes, not_checked)
    differences = _differences(document, counting, report.findings) if warnings else _differences(document, their_errors, our_errors)
    return Comparison(name, officially_valid, we_say_valid, differences, explained, aside)


def _differences(document: bytes, theirs: Iterable[Issue], ours: Iterable[Finding]) -> list[Difference]:
    """The messages of one side about a place for which the other has none."""
    places = Places(document)
    theirs_by_place = [(places.of_official(issue.location), issue) for issue in theirs]
    ours_by_place = [(places.plain(finding.path), finding) for finding in ours]
    their_places, our_places = ({place for place, _ in side} for side in (theirs_by_place, ours_by_place))
    only_theirs = [
        Difference("official", issue.severity, issue.code, place, issue.text) for place, issue in theirs_by_place if not places.near(place, our_places)
    ]
    only_ours = [
        Difference("ours", finding.severity, finding.code, finding.path, finding.message)
        for place, finding in ours_by_place
        if not places.near(place, their_places)
    ]
    return list(dict.fromkeys([*only_theirs, *only_ours]))[:DIFFERENCES_MAX]


@dataclass(slots=True)
class Count:
    """Same and different verdicts.

    False alarm: only Touchstone calls the document invalid. Missed: only the official validator does. Undecided: the official validator
    failed on the document, so it is not counted as a case.
    """

    cases: int = 0
    agree: int = 0
    valid: int = 0
    false_alarms: int = 0
    missed: int = 0
    explained: int = 0
    undecided: list[str] = field(default_factory=list)
    classes: Counter[str] = field(default_factory=Counter)
    aside: Counter[str] = field(default_factory=Counter)

    def add(self, one: Comparison) -> None:
        """Count one document."""
        self.cases += 1
        self.valid += one.official
        self.agree += one.agree
        self.false_alarms += one.official and not one.ours
        self.missed += one.ours and not one.official
        self.explained += bool(one.explained)
        self.classes.update(one.explained)
        self.aside.update(one.aside.keys())

    def as_json(self) -> dict[str, Any]:
        """With the rate of agreement. `explained`: differences of a known class; `set_aside`: documents by the reason."""
        return {
            "cases": self.cases,
            "agree": self.agree,
            "agreement": round(self.agree / self.cases, 4) if self.cases else None,
            "valid": self.valid,
            "false_alarms": self.false_alarms,
            "missed": self.missed,
            "undecided": self.undecided,
            "explained": self.explained,
            "classes": dict(self.classes.most_common()),
            "set_aside": dict(self.aside.most_common()),
        }


def compared(
    documents: Iterable[tuple[str, bytes]],
    official: Official,
    *,
    quote: bool = False,
    warnings: bool = False,
    step: Callable[[int], None] = lambda _: None,
) -> dict[str, Any]:
    """The comparison of every named document, as JSON types. Raises `ConfigError` if the official validator gives no verdict on any."""
    count, listed = Count(), []
    for number, (name, document) in enumerate(documents, start=1):
        try:
            one = compare(name, document, official, warnings=warnings)
        except NoVerdict:
            count.undecided.append(name)
        else:
            count.add(one)
            listed.append(one.as_json(quote=quote))
        step(number)
    if not count.cases:
        raise ConfigError("the official validator failed on every document: nothing was compared")
    return count.as_json() | {"documents": listed}
