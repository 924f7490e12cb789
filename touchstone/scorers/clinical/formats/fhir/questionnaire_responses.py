"""QuestionnaireResponses against their Questionnaires: items known and in their place, answers there, as many as may be (R4: questionnaireresponse.html).

The Questionnaire is sought in the response (contained), in the document, and in the packages at hand; where it is not found, that is reported as not checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from touchstone.scorers.clinical.formats.fhir.document import Document, Frame, Place
from touchstone.scorers.clinical.formats.fhir.fhirpath.values import Undecided, compare
from touchstone.scorers.clinical.formats.fhir.named_definitions import named_definition
from touchstone.scorers.clinical.formats.fhir.profiles.library import Library
from touchstone.scorers.clinical.formats.fhir.questionnaire_answers import Answer, Membership, alike, dicts, extensions, held

_CODE = "fhir.questionnaires.response"
#: Answers to one question that a condition is compared with.
_CANDIDATES_MAX = 50
_ORDERS = {">": {1}, "<": {-1}, ">=": {0, 1}, "<=": {-1, 0}}
Items = list[tuple[dict[str, Any], Place]]


def check_responses(document: Document, at_hand: Library) -> None:
    """Check every QuestionnaireResponse of a document whose Questionnaire is at hand."""
    for frame in document.frames:
        if frame.type != "QuestionnaireResponse" or not frame.text("questionnaire"):
            continue
        questionnaire = named_definition(document, frame, "Questionnaire", frame.text("questionnaire"), at_hand)
        if questionnaire is None:
            document.skip("answers against their Questionnaire", "the Questionnaire is not at hand")
            continue
        document.report.fired("questionnaires")
        Response(document, frame, questionnaire, at_hand).check()


class Response:
    """Checks one response."""

    def __init__(self, document: Document, frame: Frame, questionnaire: dict[str, Any], at_hand: Library) -> None:
        self._document = document
        self._frame = frame
        self._questionnaire = questionnaire
        self._member = _membership(questionnaire, at_hand)
        self._unfinished = frame.text("status") in {"in-progress", "entered-in-error", "stopped"}
        self._defined = {str(item.get("linkId")): item for item in _below(questionnaire)}
        self._given: dict[str, list[tuple[tuple[int, ...], dict[str, Any]]]] = {}

    def _say(self, place: Place, message: str) -> None:
        self._document.say("major", _CODE, place, message)

    def check(self) -> None:
        """Check the response."""
        resource = self._frame.resource
        self._collect(resource, ())
        self._level(dicts(self._questionnaire.get("item")), resource, self._frame.place, ())

    def _collect(self, holder: dict[str, Any], chain: tuple[int, ...]) -> None:
        """Note the items of the response by linkId, with the items that they are in."""
        for item in _inside(holder):
            self._given.setdefault(str(item.get("linkId")), []).append((chain, item))
            self._collect(item, (*chain, id(item)))

    def _level(self, wanted: list[dict[str, Any]], holder: dict[str, Any], place: Place, chain: tuple[int, ...]) -> None:
        """Check the items inside one item, answer or the response."""
        order = {str(item.get("linkId")): number for number, item in enumerate(wanted)}
        found: dict[str, Items] = {}
        last = -1
        for index, item in enumerate(dicts(holder.get("item"))):
            at: Place = (place, "item", index)
            link = item.get("linkId")
            if not isinstance(link, str):
                continue  # The structure rules reported it.
            if link not in order:
                known = link in self._defined
                self._say(at, "this item is in another place of the Questionnaire" if known else "the Questionnaire has no item with this linkId")
                continue
            if order[link] < last:
                self._say(at, "the items are not in the order of the Questionnaire")
            last = max(last, order[link])
            found.setdefault(link, []).append((item, at))
        for item in wanted:
            self._item(item, found.get(str(item.get("linkId")), []), place, chain)

    def _item(self, wanted: dict[str, Any], given: Items, place: Place, chain: tuple[int, ...]) -> None:
        enabled = self._enabled(wanted, chain)
        if enabled is False:
            for _, at in given:
                self._say(at, "this item has answers, and is not enabled by the answers that it depends on")
            return
        kind = wanted.get("type")
        if not given:
            if wanted.get("required") is True and enabled and not self._unfinished and kind != "display":
                self._say((place, "item", None), "the Questionnaire requires an item that is absent here")
            return
        if len(given) > 1 and not (kind == "group" and wanted.get("repeats") is True):
            self._say(given[1][1], "this item may be there only once")
        if kind == "group":
            self._number(wanted, len(given), given[0][1], "times is this group there")
            if wanted.get("required") is True and enabled and not self._unfinished and not any(dicts(item.get("item")) for item, _ in given):
                self._say(given[0][1], "the Questionnaire requires this group, and it holds nothing")
        for item, at in given:
            self._one(wanted, item, at, str(kind), bool(enabled), (*chain, id(item)))

    def _one(self, wanted: dict[str, Any], item: dict[str, Any], at: Place, kind: str, enabled: bool, chain: tuple[int, ...]) -> None:
        text = item.get("text")
        if isinstance(text, str) and isinstance(wanted.get("text"), str) and text != wanted["text"]:
            self._document.say("minor", "fhir.questionnaires.text", at, "the text differs from that of the Questionnaire")
        inner = dicts(wanted.get("item"))
        answers = dicts(item.get("answer"))
        if kind in {"group", "display", "question"}:
            if answers:
                self._say(at, f"an item of type {kind} has no answers")
            self._level(inner, item, at, chain)
            return
        if "item" in item and not answers:
            self._say(at, "items inside a question stand in its answer")
        self._answers(wanted, answers, at, enabled)
        for index, answer in enumerate(answers):
            self._level(inner, answer, (at, "answer", index), chain)

    def _answers(self, wanted: dict[str, Any], answers: list[dict[str, Any]], at: Place, enabled: bool) -> None:
        valued = [answer for answer in answers if held(answer) is not None or "extension" in answer]
        if not valued and wanted.get("required") is True and enabled and not self._unfinished:
            self._say(at, "the Questionnaire requires an answer here")
        if len(answers) > 1 and wanted.get("repeats") is not True:
            self._say(at, "this item may have only one answer")
        if valued:
            self._number(wanted, len(valued), at, "answers are here")
        rule = Answer(self._document, wanted, self._member)
        for index, answer in enumerate(answers):
            self._document.report.fired("questionnaires")
            rule.check(answer, (at, "answer", index))
        if len(answers) > 1 and any(rule.is_exclusive(answer) for answer in answers):
            self._say(at, "one of these answers excludes all others")

    def _number(self, wanted: dict[str, Any], count: int, at: Place, what: str) -> None:
        """Hold a number of answers, or of a group's occurrences, against the bounds of the item."""
        for name, wrong, told in (("questionnaire-minOccurs", int.__lt__, "fewer"), ("questionnaire-maxOccurs", int.__gt__, "more")):
            for _, bound in extensions(wanted, name):
                if isinstance(bound, int) and wrong(count, bound):
                    self._say(at, f"{told} {what} than the {bound} that the item permits")

    def _enabled(self, wanted: dict[str, Any], chain: tuple[int, ...]) -> bool | None:
        """Return whether an item is enabled; None where that cannot be decided."""
        conditions = dicts(wanted.get("enableWhen"))
        if not conditions:
            return True
        verdicts = [self._holds(condition, chain) for condition in conditions]
        decisive = wanted.get("enableBehavior") == "any" or len(verdicts) == 1
        if decisive in verdicts:
            return decisive
        return None if None in verdicts else not decisive

    def _holds(self, condition: dict[str, Any], chain: tuple[int, ...]) -> bool | None:
        given = self._nearest(str(condition.get("question")), chain)
        if given is None:
            return None
        answers = [value for item in given for answer in dicts(item.get("answer")) if (value := held(answer)) is not None]
        wanted, operator = held(condition, "answer"), condition.get("operator")
        if wanted is None:
            return None
        if operator == "exists":
            return bool(answers) is wanted[1]
        if operator == "=":
            return any(alike(value, wanted) for value in answers)
        if operator == "!=":
            return any(not alike(value, wanted) for value in answers)
        try:
            return any(compare(value[1], wanted[1]) in _ORDERS[str(operator)] for value in answers)
        except (Undecided, KeyError):
            return None

    def _nearest(self, link: str, chain: tuple[int, ...]) -> list[dict[str, Any]] | None:
        """Return the items that answer a question, those that share the most enclosing items with the one that asks."""
        candidates = self._given.get(link, [])
        if len(candidates) > _CANDIDATES_MAX:
            return None
        shared = [sum(1 for one, other in zip(above, chain, strict=False) if one == other) for above, _ in candidates]
        return [item for (_, item), depth in zip(candidates, shared, strict=True) if depth == max(shared)]


def _inside(holder: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from dicts(holder.get("item"))
    for answer in dicts(holder.get("answer")):
        yield from dicts(answer.get("item"))


def _below(questionnaire: dict[str, Any]) -> Iterator[dict[str, Any]]:
    waiting = dicts(questionnaire.get("item"))
    while waiting:
        item = waiting.pop()
        yield item
        waiting.extend(dicts(item.get("item")))


def _membership(questionnaire: dict[str, Any], at_hand: Library) -> Membership:
    contained = {f"#{one.get('id')}": one for one in dicts(questionnaire.get("contained")) if one.get("resourceType") == "ValueSet"}

    def member(value_set: str, system: str | None, code: str) -> bool | None:
        own = contained.get(value_set)
        return at_hand.values.holds_in(own, system, code) if own is not None else at_hand.values.holds(value_set, system, code)

    return member
