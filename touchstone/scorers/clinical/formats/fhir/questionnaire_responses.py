"""QuestionnaireResponses against their Questionnaire: which items and answers, in which order, how many (R4: questionnaireresponse.html)."""

from __future__ import annotations

from collections.abc import Iterator

from touchstone.scorers.clinical.checks.json_access import Json, choice, objects
from touchstone.scorers.clinical.formats.fhir.document import Document, Frame, Place
from touchstone.scorers.clinical.formats.fhir.fhirpath.values import Undecided, compare
from touchstone.scorers.clinical.formats.fhir.named_definitions import with_definition
from touchstone.scorers.clinical.formats.fhir.profiles.checker import Checker
from touchstone.scorers.clinical.formats.fhir.profiles.library import Library
from touchstone.scorers.clinical.formats.fhir.questionnaire_answers import AnswerChecks, Membership, extensions, same_answer
from touchstone.scorers.clinical.formats.fhir.references import Resolver

_CODE = "fhir.questionnaires.response"
#: Answers to one question that a condition is compared with.
_CANDIDATES_MAX = 50
_ORDERS = {">": {1}, "<": {-1}, ">=": {0, 1}, "<=": {-1, 0}}
Items = list[tuple[Json, Place]]


def check_responses(document: Document, resolver: Resolver, at_hand: Library) -> None:
    """Check every QuestionnaireResponse of a document whose Questionnaire is at hand."""
    for frame, questionnaire in with_definition(document, "QuestionnaireResponse", "Questionnaire", "answers against their Questionnaire", at_hand):
        document.report.fired("questionnaires")
        _Response(document, frame, questionnaire, resolver, at_hand).check()


class _Response:
    def __init__(self, document: Document, frame: Frame, questionnaire: Json, resolver: Resolver, at_hand: Library) -> None:
        self._document = document
        self._frame = frame
        self._questionnaire = questionnaire
        self._resolver = resolver
        self._at_hand = at_hand
        self._member = _membership(questionnaire, at_hand)
        self._unfinished = frame.text("status") in {"in-progress", "entered-in-error", "stopped"}
        self._defined = {str(item.get("linkId")): item for item in _below(questionnaire)}
        self._given: dict[str, list[tuple[tuple[int, ...], Json]]] = {}

    def _type_of(self, reference: str) -> str | None:
        target = self._resolver.anywhere(self._frame, reference)
        return target.type if target is not None else None

    def _conforms(self, reference: str, profile: str) -> bool | None:
        """True if a reference finds a resource in the document that conforms to a profile; None if it finds none, or the profile is not at hand."""
        target = self._resolver.anywhere(self._frame, reference)
        return None if target is None else Checker(self._document, self._resolver, self._at_hand).conforms(target, profile)

    def _add(self, place: Place, message: str, remedy: str = "Correct the response, or name the Questionnaire that it answers") -> None:
        self._document.add("major", _CODE, place, message, suggestion=remedy)

    def check(self) -> None:
        resource = self._frame.resource
        self._collect(resource, ())
        self._level(objects(self._questionnaire.get("item")), resource, self._frame.place, ())

    def _collect(self, holder: Json, chain: tuple[int, ...]) -> None:
        """Note the items of the response by linkId, each with the items around it."""
        for item in _inside(holder):
            self._given.setdefault(str(item.get("linkId")), []).append((chain, item))
            self._collect(item, (*chain, id(item)))

    def _level(self, wanted: list[Json], holder: Json, place: Place, chain: tuple[int, ...]) -> None:
        """Check the items directly inside the response, an item or an answer."""
        order = {str(item.get("linkId")): number for number, item in enumerate(wanted)}
        found: dict[str, Items] = {}
        last = -1
        for index, item in enumerate(objects(holder.get("item"))):
            at: Place = (place, "item", index)
            link = item.get("linkId")
            if not isinstance(link, str):
                continue  # The structure rules reported it.
            if link not in order:
                known = link in self._defined
                self._add(at, "this item is in another place of the Questionnaire" if known else "the Questionnaire has no item with this linkId")
                continue
            if order[link] < last:
                self._add(at, "the items are not in the order of the Questionnaire", "Put them in its order")
            last = max(last, order[link])
            found.setdefault(link, []).append((item, at))
        for item in wanted:
            self._item(item, found.get(str(item.get("linkId")), []), place, chain)

    def _item(self, wanted: Json, given: Items, place: Place, chain: tuple[int, ...]) -> None:
        enabled = self._enabled(wanted, chain)
        if enabled is False:
            for _, at in given:
                self._add(at, "this item has answers, although the answers that it depends on (enableWhen) do not enable it")
            return
        kind = wanted.get("type")
        if not given:
            if wanted.get("required") is True and enabled and not self._unfinished and kind != "display":
                self._add(
                    (place, "item", None), "the Questionnaire requires an item that is absent here", "Add the item and its answer, or set status to in-progress"
                )
            return
        if len(given) > 1 and not (kind == "group" and wanted.get("repeats") is True):
            self._add(given[1][1], "this item may appear only once", "Put its answers into one item")
        if kind == "group":
            self._occurrences(wanted, len(given), given[0][1], "of this group")
            if wanted.get("required") is True and enabled and not self._unfinished and not any(objects(item.get("item")) for item, _ in given):
                self._add(given[0][1], "the Questionnaire requires this group, and it is empty")
        for item, at in given:
            self._given_item(wanted, item, at, str(kind), bool(enabled), (*chain, id(item)))

    def _given_item(self, wanted: Json, item: Json, at: Place, kind: str, enabled: bool, chain: tuple[int, ...]) -> None:
        text = item.get("text")
        if isinstance(text, str) and isinstance(wanted.get("text"), str) and text != wanted["text"]:
            self._document.add("minor", "fhir.questionnaires.text", at, "the text differs from that of the Questionnaire")
        inner = objects(wanted.get("item"))
        answers = objects(item.get("answer"))
        if kind in {"group", "display", "question"}:
            if answers:
                self._add(at, f"an item of type {kind} has no answers")
            self._level(inner, item, at, chain)
            return
        if "item" in item and not answers:
            self._add(at, "items inside a question belong into its answer (item.answer.item)")
        self._answers(wanted, answers, at, enabled)
        for index, answer in enumerate(answers):
            self._level(inner, answer, (at, "answer", index), chain)

    def _answers(self, wanted: Json, answers: list[Json], at: Place, enabled: bool) -> None:
        valued = [answer for answer in answers if choice(answer) is not None or "extension" in answer]
        if not valued and wanted.get("required") is True and enabled and not self._unfinished:
            self._add(at, "the Questionnaire requires an answer here", "Add an answer, or set status to in-progress")
        if len(answers) > 1 and wanted.get("repeats") is not True:
            self._add(at, "this item may have only one answer", "Keep one answer")
        if valued:
            self._occurrences(wanted, len(valued), at, "answers")
        rule = AnswerChecks(self._document, wanted, self._member, self._type_of, self._conforms)
        for index, answer in enumerate(answers):
            self._document.report.fired("questionnaires")
            rule.check(answer, (at, "answer", index))
        if len(answers) > 1 and any(rule.is_exclusive(answer) for answer in answers):
            self._add(at, "one of these answers excludes all others", "Leave out that answer, or the others")

    def _occurrences(self, wanted: Json, count: int, at: Place, what: str) -> None:
        """Check the number of answers, or of occurrences of a group, against the bounds of the item."""
        for name, wrong, limit in (("questionnaire-minOccurs", int.__lt__, "at least"), ("questionnaire-maxOccurs", int.__gt__, "at most")):
            for _, bound in extensions(wanted, name):
                if isinstance(bound, int) and wrong(count, bound):
                    self._add(at, f"the item asks for {limit} {bound} {what}; found {count}", f"Give {limit} {bound}")

    def _enabled(self, wanted: Json, chain: tuple[int, ...]) -> bool | None:
        """True if the item is enabled; None if that cannot be decided."""
        conditions = objects(wanted.get("enableWhen"))
        if not conditions:
            return True
        verdicts = [self._holds(condition, chain) for condition in conditions]
        decisive = wanted.get("enableBehavior") == "any" or len(verdicts) == 1
        if decisive in verdicts:
            return decisive
        return None if None in verdicts else not decisive

    def _holds(self, condition: Json, chain: tuple[int, ...]) -> bool | None:
        given = self._nearest(str(condition.get("question")), chain)
        if given is None:
            return None
        answers = [value for item in given for answer in objects(item.get("answer")) if (value := choice(answer)) is not None]
        wanted, operator = choice(condition, "answer"), condition.get("operator")
        if wanted is None:
            return None
        if operator == "exists":
            return bool(answers) is wanted[1]
        if operator == "=":
            return any(same_answer(value, wanted) for value in answers)
        if operator == "!=":
            return any(not same_answer(value, wanted) for value in answers)
        try:
            return any(compare(value[1], wanted[1]) in _ORDERS[str(operator)] for value in answers)
        except (Undecided, KeyError):
            return None

    def _nearest(self, link: str, chain: tuple[int, ...]) -> list[Json] | None:
        """Return the items that answer a question: those that share the most enclosing items with the item that depends on it."""
        candidates = self._given.get(link, [])
        if len(candidates) > _CANDIDATES_MAX:
            return None
        shared = [sum(1 for one, other in zip(above, chain, strict=False) if one == other) for above, _ in candidates]
        return [item for (_, item), depth in zip(candidates, shared, strict=True) if depth == max(shared)]


def _inside(holder: Json) -> Iterator[Json]:
    yield from objects(holder.get("item"))
    for answer in objects(holder.get("answer")):
        yield from objects(answer.get("item"))


def _below(questionnaire: Json) -> Iterator[Json]:
    waiting = objects(questionnaire.get("item"))
    while waiting:
        item = waiting.pop()
        yield item
        waiting.extend(objects(item.get("item")))


def _membership(questionnaire: Json, at_hand: Library) -> Membership:
    contained = {f"#{one.get('id')}": one for one in objects(questionnaire.get("contained")) if one.get("resourceType") == "ValueSet"}

    def member(value_set: str, system: str | None, code: str) -> bool | None:
        own = contained.get(value_set)
        return at_hand.values.holds_in(own, system, code) if own is not None else at_hand.values.holds(value_set, system, code)

    return member
