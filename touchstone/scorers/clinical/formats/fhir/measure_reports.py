"""MeasureReports against their Measure: groups, populations, stratifiers, scores and lists of subjects (R4: measurereport.html)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from touchstone.scorers.clinical.checks.json_access import Json, objects
from touchstone.scorers.clinical.formats.fhir.document import Document, Frame, Place
from touchstone.scorers.clinical.formats.fhir.named_definitions import with_definition
from touchstone.scorers.clinical.formats.fhir.profiles.library import Library
from touchstone.scorers.clinical.formats.fhir.references import Resolver, relative_type

_CODE = "fhir.measures.report"
_SCORING = "http://terminology.hl7.org/CodeSystem/measure-scoring"
_POPULATIONS = "http://terminology.hl7.org/CodeSystem/measure-population"
_SCORED = frozenset({"proportion", "ratio", "continuous-variable"})
#: Parts of a Measure that are compared; those beyond are ignored.
_PARTS_MAX = 1_000


def check_measure_reports(document: Document, resolver: Resolver, at_hand: Library) -> None:
    """Check every MeasureReport of a document whose Measure is at hand."""
    for frame, measure in with_definition(document, "MeasureReport", "Measure", "MeasureReports against their Measure", at_hand):
        document.report.fired("measures")
        _MeasureReport(document, frame, measure, resolver).check()


class _MeasureReport:
    def __init__(self, document: Document, frame: Frame, measure: Json, resolver: Resolver) -> None:
        self._document = document
        self._frame = frame
        self._measure = measure
        self._resolver = resolver
        self._type = frame.text("type")
        self._scoring = next((one.get("code") for one in _codings(measure.get("scoring")) if one.get("system") == _SCORING), None)

    def _add(self, place: Place, message: str, remedy: str = "Correct the report, or name the Measure that it reports on") -> None:
        self._document.add("major", _CODE, place, message, suggestion=remedy)

    def check(self) -> None:
        wanted = objects(self._measure.get("group"))[:_PARTS_MAX]
        given = objects(self._frame.resource.get("group"))
        if len(wanted) == len(given) == 1:
            # A single group needs no code; if both have one, the codes must agree.
            if _codings(given[0].get("code")) and _codings(wanted[0].get("code")) and not _same_concept(given[0].get("code"), wanted[0].get("code")):
                self._add((self._frame.place, "group", 0), "this group has another code than the group of the Measure", "Give it the code of that group")
            self._group(wanted[0], given[0], (self._frame.place, "group", 0))
            return
        self._matched("group", wanted, self._frame.resource, self._frame.place, self._group)

    def _matched(self, name: str, wanted: list[Json], holder: Json, place: Place, rule: Callable[[Json, Json, Place], None]) -> None:
        """Match parts of the report with those of the Measure by their codes, and check each with `rule`."""
        met: set[int] = set()
        for index, one in enumerate(objects(holder.get(name))):
            at: Place = (place, name, index)
            code = one.get("code")
            if not code:
                self._add(at, f"this {name} needs a code, by which it is found in the Measure", f"Give it the code of the {name} in the Measure")
                continue
            found = next((number for number, other in enumerate(wanted) if _same_concept(code, other.get("code"))), None)
            if found is None:
                self._add(at, f"the Measure has no {name} with this code", f"Use the code of a {name} in the Measure")
            elif found in met:
                self._add(at, f"this {name} appears twice")
            else:
                met.add(found)
                rule(wanted[found], one, at)
        if self._type != "data-collection" and any(number not in met and not _is_observation(one) for number, one in enumerate(wanted)):
            self._add((place, name, None), f"the Measure has a {name} that is missing here", f"Add a {name} for each that the Measure has")

    def _group(self, wanted: Json, given: Json, at: Place) -> None:
        self._document.report.fired("measures")
        if "population" in given or "population" in wanted:
            self._matched("population", objects(wanted.get("population"))[:_PARTS_MAX], given, at, self._population)
        self._score(given, at)
        if "stratifier" in given or "stratifier" in wanted:
            self._matched("stratifier", objects(wanted.get("stratifier"))[:_PARTS_MAX], given, at, lambda *_: None)

    def _score(self, given: Json, at: Place) -> None:
        score = given.get("measureScore")
        place: Place = (at, "measureScore", None)
        if score is not None and self._type == "data-collection":
            self._add(place, "a report of collected data has no score (mrp-1)", "Leave out measureScore")
        elif score is not None and self._scoring == "cohort":
            # No rule of R4 forbids it.
            self._document.add("minor", _CODE, place, "a cohort has no score", suggestion="Leave out measureScore")
        elif self._scoring in _SCORED and self._type != "data-collection":
            value = score.get("value") if isinstance(score, dict) else None
            if score is None:
                self._add(place, "the scoring of the Measure asks for a score", "Add measureScore")
            elif self._scoring == "proportion" and isinstance(value, int | float) and not 0 <= value <= 1:
                self._add(place, "the score of a proportion must be between 0 and 1", "Give it as a fraction: 0.25 for 25 %")

    def _population(self, wanted: Json, given: Json, at: Place) -> None:
        """Check the count of a population against the list of its subjects."""
        results, count = given.get("subjectResults"), given.get("count")
        reference = results.get("reference") if isinstance(results, dict) else None
        if self._type != "subject-list" or not isinstance(reference, str) or not isinstance(count, int):
            return
        # R4, MeasureReport.group.population.subjectResults: "a List of subject level MeasureReports, one for each subject".
        if relative_type(reference) not in {None, "List"}:
            self._add((at, "subjectResults", None), "this must refer to a List of the subjects, and refers to another type")
            return
        subjects = self._resolver.anywhere(self._frame, reference)
        if subjects is None or subjects.type != "List":
            self._document.skip("numbers of subjects", "a list of subjects is not in the document")
        elif len(objects(subjects.resource.get("entry"))) != count:
            self._add(at, "the List has another number of subjects than count says")


def _codings(concept: Any) -> list[Json]:
    """The codings of a CodeableConcept, or of a list of them (the code of a stratifier)."""
    concepts = concept if isinstance(concept, list) else [concept]
    return [coding for one in concepts if isinstance(one, dict) for coding in objects(one.get("coding"))]


def _texts(concept: Any) -> set[str]:
    """The texts of a CodeableConcept, or of a list of them."""
    concepts = concept if isinstance(concept, list) else [concept]
    return {one["text"] for one in concepts if isinstance(one, dict) and isinstance(one.get("text"), str)}


def _same_concept(one: Any, other: Any) -> bool:
    """True if two concepts share a coding or, where one of them has no codings, a text.

    R4, datatypes.html#codeableconcept: the text stands for the concept as its author entered it, and is often all that there is.
    """
    mine, theirs = _codings(one), _codings(other)
    if mine and theirs:
        return any(left.get("system") == right.get("system") and left.get("code") == right.get("code") for left in mine for right in theirs)
    return not _texts(one).isdisjoint(_texts(other))


def _is_observation(population: Json) -> bool:
    """True if a population is a measure observation, which has no count in a report."""
    return any(one.get("system") == _POPULATIONS and one.get("code") == "measure-observation" for one in _codings(population.get("code")))
