"""Differences between Touchstone's FHIR validator and the official one: document by document, and over seeded mutations of the same documents.

Both are set alike (docs/agreement.md): extensions without a definition are accepted, example URLs may appear, references are answered by the
document itself, displays are warnings, no terminology server. What the official validator calls an error only because it was not given
what it would look up is set aside and counted.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from touchstone.ops.lab.agreement.explained import explanations, set_aside
from touchstone.ops.lab.agreement.mutations import KINDS, mutants, resources_of
from touchstone.ops.lab.agreement.places import Places
from touchstone.ops.lab.agreement.sources import Source
from touchstone.ops.local.fhir_validator.client import Issue, NoVerdict, Outcome
from touchstone.schemas.result import Finding
from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.formats.fhir import Options, validate
from touchstone.scorers.clinical.formats.fhir.document import breaking
from touchstone.scorers.clinical.report import Context

#: As the official validator is set; it does not do the shared clinical checks.
OPTIONS = Options(extensions="any", references="document", example_urls=True, displays="warning", installed_packages=False, clinical=False, marks=False)
DIFFERENCES_MAX = 200


class Oracle(Protocol):
    """A source of the right verdict."""

    def validate(self, resource: bytes) -> Outcome:
        """The verdict on one resource. Raises `NoVerdict` where it fails on this one, `OracleLost` where it is gone."""
        ...


@dataclass(frozen=True, slots=True)
class Difference:
    """An error that only one side reports. `text` is the validator's own and may quote the document."""

    side: str
    severity: str
    code: str
    location: str
    text: str

    def as_json(self, *, quote: bool) -> dict[str, str]:
        """Without the text unless it is asked for."""
        shown = {"side": self.side, "severity": self.severity, "code": self.code, "location": self.location}
        return shown | ({"text": self.text} if quote else {})


@dataclass(slots=True)
class Comparison:
    """Both verdicts on one document. `aside`: errors of the official validator that were set aside, by the reason."""

    name: str
    official: bool
    ours: bool
    differences: list[Difference]
    explained: list[str]
    aside: Counter[str]

    @property
    def agree(self) -> bool:
        """Whether the verdicts are the same."""
        return self.official == self.ours


def compare(name: str, document: bytes, oracle: Oracle, *, warnings: bool = False) -> Comparison:
    """Ask both, and match what they say by place. `warnings`: list those, too; they do not count towards a verdict."""
    report = validate(document, Context(quote=True), OPTIONS)
    outcome = oracle.validate(document)
    aside: Counter[str] = Counter()
    counting: list[Issue] = []
    ours = [finding for finding in report.findings if breaking(finding.code, finding.severity)]
    for issue in outcome.issues:
        reason = set_aside(issue, {finding.code for finding in ours}) if issue.breaks else None
        if reason is None:
            counting.append(issue)
        else:
            aside[reason] += 1
    theirs = [issue for issue in counting if issue.breaks]
    official, valid = not theirs, not ours and any(report.rules_fired.values())
    told = [issue for issue in counting if issue.breaks or warnings]
    said = [finding for finding in report.findings if warnings or breaking(finding.code, finding.severity)]
    left_open = {skipped.check for skipped in report.not_checked}
    explained = explanations([issue.code for issue in theirs], [finding.code for finding in ours], left_open) if official != valid else []
    return Comparison(name, official, valid, _differences(document, told, said), explained, aside)


def _differences(document: bytes, theirs: list[Issue], ours: list[Finding]) -> list[Difference]:
    """The errors that one side reports at a place where the other reports none."""
    places = Places(document)
    where_theirs = {places.of_official(issue.location) for issue in theirs}
    where_ours = {places.plain(finding.path) for finding in ours}
    only_theirs = [
        Difference("official", issue.severity, issue.code, place, issue.text)
        for issue in theirs
        if not places.near((place := places.of_official(issue.location)), where_ours)
    ]
    only_ours = [
        Difference("ours", finding.severity, finding.code, finding.path, finding.message)
        for finding in ours
        if not places.near(places.plain(finding.path), where_theirs)
    ]
    return list(dict.fromkeys([*only_theirs, *only_ours]))[:DIFFERENCES_MAX]


@dataclass(slots=True)
class Count:
    """Same and different verdicts. A false alarm is a document that only Touchstone calls invalid; missed: one that only the official one does.

    `undecided`: documents on which the official validator itself failed; they are not cases.
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
        """With its rate; `explained`: of the disagreements, those of a known class; `set_aside`: documents by the reason."""
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


def documents(found: Sequence[Source], oracle: Oracle, *, quote: bool = False, warnings: bool = False, step: Callable[[int], None] = lambda _: None) -> Any:
    """The comparison of every document, as JSON types. Raises `ConfigError` where the oracle is lost."""
    count, listed = Count(), []
    for number, source in enumerate(found, start=1):
        try:
            one = compare(source.name, source.document, oracle, warnings=warnings)
        except NoVerdict:
            count.undecided.append(source.name)
        else:
            count.add(one)
            listed.append(_as_json(one, quote=quote))
        step(number)
    if not count.cases:
        raise ConfigError("the official validator failed on every document: nothing was compared")
    return count.as_json() | {"documents": listed}


def mutated(found: Sequence[Source], oracle: Oracle, number: int, seed: int, *, quote: bool = False, step: Callable[[int], None] = lambda _: None) -> Any:
    """The verdicts on seeded mutations, as JSON types.

    Only resources that both call valid are changed: what was invalid before says nothing about the change. `unusable`: those that were met and are not.
    """
    both_valid: dict[str, bool] = {}

    def usable(name: str, resource: bytes) -> bool:
        if name not in both_valid:
            try:
                one = compare(name, resource, oracle)
            except NoVerdict:
                both_valid[name] = False
            else:
                both_valid[name] = one.official and one.ours
        return both_valid[name]

    count, kinds = Count(), {kind: Count() for kind in KINDS}
    disagreements: list[dict[str, Any]] = []
    pool = [pair for source in found for pair in resources_of(source.name, source.document)]
    for mutant in mutants(pool, number, seed, usable):
        try:
            one = compare(mutant.source, mutant.resource, oracle)
        except NoVerdict:
            count.undecided.append(f"{mutant.source} ({mutant.kind} at {mutant.where})")
            continue
        count.add(one)
        kinds[mutant.kind].add(one)
        if not one.agree:
            disagreements.append({"kind": mutant.kind, "where": mutant.where} | _as_json(one, quote=quote))
        step(count.cases)
    return (
        {"seed": seed, "unusable": sum(not valid for valid in both_valid.values())}
        | count.as_json()
        | {"kinds": {kind: {"cases": one.cases, "agree": one.agree} for kind, one in kinds.items()}, "disagreements": disagreements}
    )


def _as_json(one: Comparison, *, quote: bool) -> dict[str, Any]:
    return {
        "name": one.name,
        "official": "valid" if one.official else "invalid",
        "ours": "valid" if one.ours else "invalid",
        "explained": one.explained,
        "differences": [each.as_json(quote=quote) for each in one.differences],
    }
