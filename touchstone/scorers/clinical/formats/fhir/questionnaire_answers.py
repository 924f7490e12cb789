"""One answer of a QuestionnaireResponse against the item of its Questionnaire: type, permitted values, bounds (R4: questionnaire.html; SDC extensions)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from touchstone.scorers.clinical.checks.ucum_reader import conversion
from touchstone.scorers.clinical.formats.fhir.document import Document, Place
from touchstone.scorers.clinical.formats.fhir.fhirpath.values import Undecided, compare

_HL7 = "http://hl7.org/fhir/StructureDefinition/"
_SDC = "http://hl7.org/fhir/uv/sdc/StructureDefinition/sdc-questionnaire-"
#: Type of an item → what its answers may be, as in the name of value[x].
TYPES = {
    "boolean": {"Boolean"},
    "decimal": {"Decimal"},
    "integer": {"Integer"},
    "date": {"Date"},
    "dateTime": {"DateTime"},
    "time": {"Time"},
    "string": {"String"},
    "text": {"String"},
    "url": {"Uri"},
    "attachment": {"Attachment"},
    "reference": {"Reference"},
    "quantity": {"Quantity"},
}
#: A pattern comes with a definition, perhaps with the document itself, and Python's matcher can be made to run forever: only patterns
#: without groups and with few repetitions are tried, on short texts.
_PATTERN_CHARS_MAX = 200
_REPEATS_MAX = 3
_TEXT_CHARS_MAX = 300
_REPEAT = re.compile(r"[*+{?]")
#: (system, code) of a value, or its system missing, in a value set by canonical URL: member, not a member, not known.
Membership = Callable[[str, str | None, str], bool | None]


def held(holder: dict[str, Any], name: str = "value") -> tuple[str, Any] | None:
    """Return (type, value) of a choice element such as value[x], or None where it is absent."""
    for key, value in holder.items():
        if key.startswith(name) and len(key) > len(name) and key[len(name)].isupper():
            return key[len(name) :], value
    return None


def extensions(item: dict[str, Any], url: str) -> Iterator[tuple[str, Any]]:
    """Yield (type, value) of the extensions of an item, by the last part of their URL below HL7's or that of Structured Data Capture."""
    inner = item.get("extension")
    for one in inner if isinstance(inner, list) else ():
        value = held(one) if isinstance(one, dict) and one.get("url") in (_HL7 + url, _SDC + url) else None
        if value is not None:
            yield value


def dicts(values: Any) -> list[dict[str, Any]]:
    """Return the objects of a list; nothing where it is none."""
    return [one for one in values if isinstance(one, dict)] if isinstance(values, list) else []


def alike(one: tuple[str, Any], other: tuple[str, Any]) -> bool:
    """Return whether two values are the same answer: codings by system and code, references by what they point to."""
    if one[0] != other[0]:
        return False
    left, right = one[1], other[1]
    if isinstance(left, dict) and isinstance(right, dict):
        names = ("system", "code") if one[0] == "Coding" else ("reference",) if one[0] == "Reference" else ("value", "unit", "system", "code")
        return all(left.get(name) == right.get(name) for name in names)
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


class Answer:
    """Checks answers to one item of a Questionnaire."""

    def __init__(self, document: Document, item: dict[str, Any], member: Membership) -> None:
        self._document = document
        self._item = item
        self._member = member
        self._options = [(value, option) for option in dicts(item.get("answerOption")) if (value := held(option)) is not None]

    def _say(self, place: Place, message: str) -> None:
        self._document.say("major", "fhir.questionnaires.answer", place, message)

    def check(self, answer: dict[str, Any], place: Place) -> None:
        """Check one answer."""
        value = held(answer)
        if value is None:
            return
        kind, content = value
        allowed = self._types()
        if kind not in allowed:
            self._say(place, f"an answer to this item must be {' or '.join(sorted(allowed))}, not {kind if kind.isalnum() else '?'}")
            return
        self._permitted(value, place)
        self._bounds(value, place)
        if isinstance(content, str):
            self._text(content, place)
        elif isinstance(content, dict) and kind == "Attachment":
            self._attachment(content, place)
        elif isinstance(content, dict) and kind == "Quantity":
            self._unit(content, place)
        elif isinstance(content, float):
            self._decimals(content, place)

    def _types(self) -> set[str]:
        kind = str(self._item.get("type"))
        if kind in TYPES:
            coded = {"Coding"} if self._item.get("answerValueSet") and kind in {"string", "text"} else set()
            return TYPES[kind] | coded
        offered = {value[0] for value, _ in self._options} or {"Coding"}
        if self._item.get("answerValueSet"):
            offered.add("Coding")
        return offered | ({"String"} if kind == "open-choice" else set())

    def _permitted(self, value: tuple[str, Any], place: Place) -> None:
        """The options or the value set of the item, where it has one; free text is not checked where it is allowed."""
        kind = self._item.get("type")
        if kind == "open-choice" and value[0] == "String":
            return
        if self._options and not any(alike(value, option) for option, _ in self._options):
            if kind == "open-choice":
                self._document.say("minor", "fhir.questionnaires.open", place, "this answer is none of the options of the item")
            else:
                self._say(place, "this answer is none of those that the item permits")
        value_set = self._item.get("answerValueSet")
        content = value[1]
        if isinstance(value_set, str) and isinstance(content, dict) and isinstance(content.get("code"), str):
            self._in_set(value_set, content, place)
        elif isinstance(value_set, str) and isinstance(content, str):
            self._document.skip("texts as answers from a value set", "a display does not tell its code")

    def _in_set(self, value_set: str, coding: dict[str, Any], place: Place) -> None:
        verdict = self._member(value_set, str(coding.get("system", "")), coding["code"])
        if verdict is None:
            self._document.skip("value sets of answers", "a value set cannot be expanded from what is at hand")
        elif not verdict:
            self._say(place, "this answer is no code of the value set of the item")

    def _bounds(self, value: tuple[str, Any], place: Place) -> None:
        names = (("minValue", -1, "below the least"), ("minQuantity", -1, "below the least"), ("maxValue", 1, "above the greatest"))
        for name, wrong, told in (*names, ("maxQuantity", 1, "above the greatest")):
            for _, bound in extensions(self._item, name):
                order = self._order(value[1], bound, place)
                if order == wrong:
                    self._say(place, f"{told} value that the item permits")

    def _order(self, value: Any, bound: Any, place: Place) -> int | None:
        if isinstance(value, dict) and isinstance(bound, dict):
            if not (value.get("code") and bound.get("code")):
                self._say(place, "this quantity cannot be compared with the bound of the item: one of them has no coded unit")
                return None
            if value["code"] != bound["code"]:
                return self._converted(value, bound)
        try:
            return compare(value, bound)
        except Undecided:
            self._document.skip("bounds of answers", "an answer and its bound cannot be ordered")
            return None

    def _converted(self, value: dict[str, Any], bound: dict[str, Any]) -> int | None:
        units = str(value["code"]), str(bound["code"])
        change = conversion(*units) if max(map(len, units)) < _PATTERN_CHARS_MAX else None
        amount, least = value.get("value"), bound.get("value")
        if change is None or not isinstance(amount, int | float) or not isinstance(least, int | float):
            self._document.skip("bounds of answers", "an answer and its bound are in different units")
            return None
        moved = amount * change[0] + change[1]
        return int(moved > least) - int(moved < least)

    def _text(self, text: str, place: Place) -> None:
        most = self._item.get("maxLength")
        if isinstance(most, int) and len(text) > most:
            self._say(place, f"longer than the {most} characters that the item permits")
        for _, least in extensions(self._item, "minLength"):
            if isinstance(least, int) and len(text) < least:
                self._say(place, f"shorter than the {least} characters that the item asks for")
        for _, pattern in extensions(self._item, "regex"):
            verdict = _matches(pattern, text) if isinstance(pattern, str) else None
            if verdict is None:
                self._document.skip("patterns of answers", "the pattern is beyond what is tried")
            elif not verdict:
                self._say(place, "this answer does not have the form that the item asks for")

    def _decimals(self, number: float, place: Place) -> None:
        for _, most in extensions(self._item, "maxDecimalPlaces"):
            digits = repr(number)
            if isinstance(most, int) and "e" not in digits and len(digits.partition(".")[2]) > most and number != int(number):
                self._say(place, f"more than the {most} decimal places that the item permits")

    def _unit(self, quantity: dict[str, Any], place: Place) -> None:
        """The units that the item offers, where it is not open to others; an amount without a code is compared by the words of its unit."""
        if any(value != "optionsOnly" for _, value in extensions(self._item, "unitOpen")):
            return
        offered = [value for _, value in extensions(self._item, "questionnaire-unitOption") if isinstance(value, dict)]
        sets = [value for _, value in extensions(self._item, "questionnaire-unitValueSet") if isinstance(value, str)]
        code, system = quantity.get("code"), quantity.get("system")
        if not offered and not sets:
            return
        if not isinstance(code, str):
            words = {one.get("display") for one in offered} | {one.get("code") for one in offered}
            if offered and not sets and "unit" in quantity and quantity["unit"] not in words:
                self._say(place, "the unit is none of those that the item offers")
            return
        if any(one.get("code") == code and one.get("system") in {None, system} for one in offered):
            return
        verdicts = [self._member(one, system if isinstance(system, str) else "", code) for one in sets]
        if True in verdicts:
            return
        if None in verdicts:
            self._document.skip("value sets of units", "a value set cannot be expanded from what is at hand")
        else:
            self._say(place, "the unit is none of those that the item offers")

    def _attachment(self, attachment: dict[str, Any], place: Place) -> None:
        kinds = [value for _, value in extensions(self._item, "mimeType")]
        if kinds and attachment.get("contentType") not in kinds:
            self._say(place, "an attachment of a kind that the item does not permit")
        for _, most in extensions(self._item, "maxSize"):
            size = attachment.get("size")
            if isinstance(size, int) and isinstance(most, int | float) and size > most * 1_000_000:
                self._say(place, "an attachment larger than the item permits")

    def is_exclusive(self, answer: dict[str, Any]) -> bool:
        """Return whether an answer is an option that excludes all others."""
        value = held(answer)
        return value is not None and any(
            alike(value, option) and (_BOOLEAN_TRUE in extensions(holder, "questionnaire-optionExclusive")) for option, holder in self._options
        )


_BOOLEAN_TRUE = ("Boolean", True)


def _matches(pattern: str, text: str) -> bool | None:
    if len(pattern) > _PATTERN_CHARS_MAX or "(" in pattern or len(_REPEAT.findall(pattern)) > _REPEATS_MAX or len(text) > _TEXT_CHARS_MAX:
        return None
    try:
        return re.fullmatch(pattern, text) is not None
    except re.error:
        return None
