"""Answers of a QuestionnaireResponse: type, permitted values, bounds, units (R4: questionnaire.html; SDC extensions)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, Final

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.checks.json_access import Json, choice, objects
from touchstone.scorers.clinical.checks.patterns import PatternError, read_pattern
from touchstone.scorers.clinical.formats.fhir.attachments import most_bytes, stated_size
from touchstone.scorers.clinical.formats.fhir.document import Document, Place
from touchstone.scorers.clinical.formats.fhir.profiles.constraints import shown_text
from touchstone.scorers.clinical.formats.fhir.profiles.matching import differ_in_kind, ordered
from touchstone.scorers.clinical.formats.fhir.profiles.message_texts import named
from touchstone.scorers.clinical.formats.fhir.references import relative_type, rest_parts

#: Codes that one message lists.
_CODES_MAX = 8
_HL7 = "http://hl7.org/fhir/StructureDefinition/"
_SDC = "http://hl7.org/fhir/uv/sdc/StructureDefinition/sdc-questionnaire-"
#: Type of an item → types of its answers, as in the name of value[x].
_TYPES = {
    **{name: {name[0].upper() + name[1:]} for name in ("boolean", "decimal", "integer", "date", "dateTime", "time", "string")},
    **{name: {name.capitalize()} for name in ("attachment", "reference", "quantity")},
    "text": {"String"},
    "url": {"Uri"},
}
#: A pattern may come with the document itself. The whole document gets so much processor time for its patterns, and further ones are not tried.
PATTERNS_TIME_MAX_S: Final = 2.0
_PATTERN_CHARS_MAX: Final = 2_000
_TEXT_CHARS_MAX: Final = 20_000
#: (canonical URL of a value set, system or None, code) → True if the value set has the code; None if unknown.
Membership = Callable[[str, str | None, str], bool | None]


def extensions(item: Json, url: str) -> Iterator[tuple[str, Any]]:
    """Yield (type, value) of an item's extensions with a URL, given by its last part: HL7's, or that of Structured Data Capture."""
    for one in objects(item.get("extension")):
        value = choice(one) if one.get("url") in (_HL7 + url, _SDC + url) else None
        if value is not None:
            yield value


def same_answer(one: tuple[str, Any], other: tuple[str, Any]) -> bool:
    """Return True if two (type, value) are the same answer: codings by system and code, references by their target."""
    if one[0] != other[0]:
        return False
    left, right = one[1], other[1]
    if isinstance(left, dict) and isinstance(right, dict):
        names = ("system", "code") if one[0] == "Coding" else ("reference",) if one[0] == "Reference" else ("value", "unit", "system", "code")
        return all(left.get(name) == right.get(name) for name in names)
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


class AnswerChecks:
    """Checks answers to one item of a Questionnaire.

    `target`: the type of what a reference finds in the document; None if it finds nothing there. `conforms`: (reference, profile) → whether that resource
    conforms to a profile; None if that is not known.
    """

    def __init__(
        self, document: Document, item: Json, member: Membership, target: Callable[[str], str | None], conforms: Callable[[str, str], bool | None]
    ) -> None:
        self._document = document
        self._target, self._conforms = target, conforms
        self._item = item
        self._member = member
        self._options = [(value, option) for option in objects(item.get("answerOption")) if (value := choice(option)) is not None]

    def _add(self, place: Place, message: str, remedy: str = "Correct the answer, or the item of the Questionnaire") -> None:
        self._document.add("major", "fhir.questionnaires.answer", place, message, suggestion=remedy)

    def check(self, answer: Json, place: Place) -> None:
        """Check one answer."""
        value = choice(answer)
        if value is None:
            return
        kind, content = value
        allowed = self._types()
        if kind not in allowed:
            self._add(place, f"an answer to this item must be {' or '.join(sorted(allowed))}, not {kind if kind.isalnum() else '?'}")
            return
        self._permitted(value, place)
        self._bounds(content, place)
        if isinstance(content, str):
            self._text(content, place)
        elif isinstance(content, dict) and kind == "Attachment":
            self._attachment(content, place)
        elif isinstance(content, dict) and kind == "Reference":
            self._reference(content, place)
        elif isinstance(content, dict) and kind == "Quantity":
            self._unit(content, place)
            self._decimals(content.get("value"), place)
        else:
            self._decimals(content, place)

    def _types(self) -> set[str]:
        kind, coded = str(self._item.get("type")), {"Coding"} if self._item.get("answerValueSet") else set()
        if kind in _TYPES:
            return _TYPES[kind] | (coded if kind in {"string", "text"} else set())
        offered = {value[0] for value, _ in self._options} or {"Coding"}
        return offered | coded | ({"String"} if kind == "open-choice" else set())

    def _permitted(self, value: tuple[str, Any], place: Place) -> None:
        """Check an answer against the options and the value set of the item. Free text is not checked if the item allows it."""
        is_open = self._item.get("type") == "open-choice"
        if is_open and value[0] == "String":
            return
        if self._options and not any(same_answer(value, option) for option, _ in self._options):
            if is_open:
                self._document.add("minor", "fhir.questionnaires.open", place, "this answer is none of the options of the item")
            else:
                self._add(place, "this answer is none of those that the item permits")
        value_set, content = self._item.get("answerValueSet"), value[1]
        if isinstance(value_set, str) and isinstance(content, dict) and isinstance(content.get("code"), str):
            verdict = self._member(value_set, str(content.get("system", "")), content["code"])
            if verdict is None:
                self._document.skip("value sets of answers", "a value set cannot be expanded from what is at hand")
            elif not verdict:
                self._add(place, "this answer is no code of the value set of the item")
        elif isinstance(value_set, str) and isinstance(content, str):
            self._document.skip("texts as answers from a value set", "a display does not tell its code")

    def _bounds(self, value: Any, place: Place) -> None:
        for name, wrong, fault in (("min", -1, "below the least"), ("max", 1, "above the greatest")):
            for kind in ("Value", "Quantity"):
                for _, bound in extensions(self._item, name + kind):
                    if self._order(value, bound, place) == wrong:
                        self._add(place, f"{fault} value that the item permits")

    def _order(self, value: Any, bound: Any, place: Place) -> int | None:
        quantities = isinstance(value, dict) and isinstance(bound, dict)
        if quantities and not (value.get("code") and bound.get("code")):
            self._add(place, "this quantity cannot be compared with the bound of the item: one of them has no coded unit")
            return None
        if quantities and differ_in_kind(value, bound):
            self._add(place, "the unit of this quantity cannot be converted to that of the item's bound")
            return None
        order = ordered(value, bound)
        if order is None:
            convertible = not quantities or value["code"] == bound["code"]
            self._document.skip("bounds of answers", f"an answer and its bound {'cannot be ordered' if convertible else 'are in different units'}")
        return order

    def _text(self, text: str, place: Place) -> None:
        most = self._item.get("maxLength")
        if isinstance(most, int) and len(text) > most:
            self._add(place, f"longer than the {most} characters that the item permits")
        for _, least in extensions(self._item, "minLength"):
            if isinstance(least, int) and len(text) < least:
                self._add(place, f"shorter than the {least} characters that the item asks for")
        for _, pattern in extensions(self._item, "regex"):
            begun = time.thread_time()
            is_late = self._document.patterns_s > PATTERNS_TIME_MAX_S
            verdict = _matches(pattern, text) if isinstance(pattern, str) and not is_late else None
            self._document.patterns_s += time.thread_time() - begun
            if verdict is None:
                what = f"the patterns of this document take more than {PATTERNS_TIME_MAX_S:.0f} s" if is_late else "the pattern is beyond what is tried"
                self._document.skip("patterns of answers", what)
            elif not verdict:
                self._add(place, "this answer does not have the form that the item asks for")

    def _decimals(self, number: Any, place: Place) -> None:
        """Digits after the point, written out in full (extensions package, maxDecimalPlaces)."""
        if not isinstance(number, float) or number.is_integer():
            return
        for _, most in extensions(self._item, "maxDecimalPlaces"):
            if isinstance(most, int) and len(f"{Decimal(repr(number)):f}".partition(".")[2]) > most:
                self._add(place, f"more than the {most} decimal places that the item permits")

    def _unit(self, quantity: Json, place: Place) -> None:
        """Check a unit against those that the item offers, if it allows no others: by its code, or without a code by its text."""
        if any(value != "optionsOnly" for _, value in extensions(self._item, "unitOpen")):
            return
        offered = [value for _, value in extensions(self._item, "questionnaire-unitOption") if isinstance(value, dict)]
        sets = [value for _, value in extensions(self._item, "questionnaire-unitValueSet") if isinstance(value, str)]
        code, system = quantity.get("code"), quantity.get("system")
        if not isinstance(code, str):
            words = {one.get("display") for one in offered} | {one.get("code") for one in offered}
            is_fault = bool(offered) and not sets and "value" in quantity and quantity.get("unit") not in words
        elif any(one.get("code") == code and one.get("system") in {None, system} for one in offered):
            return
        else:
            verdicts = [self._member(one, system if isinstance(system, str) else "", code) for one in sets]
            is_fault = bool(offered or sets) and True not in verdicts and None not in verdicts
            if None in verdicts and True not in verdicts:
                self._document.skip("value sets of units", "a value set cannot be expanded from what is at hand")
        if is_fault:
            codes = ", ".join(shown_text(str(one.get("code"))) for one in offered[:_CODES_MAX])
            listed = f": {codes}" if offered and not sets else ""
            self._add(
                place,
                f"the unit is none of those that the item offers{listed}",
                f"Use {codes.replace(', ', ' or ')}" if listed else "Use a unit of its value set",
            )

    def _attachment(self, attachment: Json, place: Place) -> None:
        kinds = [value for _, value in extensions(self._item, "mimeType")]
        if kinds and attachment.get("contentType") not in kinds:
            named = " or ".join(shown_text(str(one)) for one in kinds[:_CODES_MAX])
            self._add(place, f"the content type of this attachment must be {named}", f"Attach {named}, and state its contentType")
        for _, most in extensions(self._item, "maxSize"):
            size, limit = stated_size(attachment), most_bytes(most)
            if limit is None:
                self._document.skip("sizes of answers", "the extension maxSize states less than one byte")
            elif size is not None and size > limit:
                self._add(place, f"an attachment larger than the {limit:,.0f} bytes that the item permits")

    def _reference(self, reference: Json, place: Place) -> None:
        """The target is of a type that the item names (extension questionnaire-referenceResource), as far as the URL or Reference.type tells it."""
        allowed = {value for _, value in extensions(self._item, "questionnaire-referenceResource")}
        url = reference.get("reference")
        parts = rest_parts(url) if isinstance(url, str) else None
        kind = parts[1] if parts is not None else relative_type(url) if isinstance(url, str) else None
        target = self._target(url) if isinstance(url, str) else None
        kind = target or kind or reference.get("type")
        self._profiles(url, place)
        if allowed and isinstance(kind, str) and kind not in allowed:
            named = " or ".join(sorted(map(str, allowed)))
            # Only the type of a resource outside the document is known, so this is not counted against the document.
            level: Severity = "major" if target is not None or self._document.options.rest_references else "minor"
            told = f"an answer to this item refers to {named}, and this refers to another type"
            self._document.add(level, "fhir.questionnaires.answer", place, told, suggestion=f"Refer to {named}")
        elif allowed and not isinstance(kind, str):
            self._document.skip("types of answers that are references", "their URL does not tell what they refer to")

    def _profiles(self, url: Any, place: Place) -> None:
        """The target conforms to one at least of the profiles that the item names (extension questionnaire-referenceProfile)."""
        profiles = [value for _, value in extensions(self._item, "questionnaire-referenceProfile") if isinstance(value, str)]
        verdicts = [self._conforms(url, one) if isinstance(url, str) else None for one in profiles]
        if not profiles or True in verdicts:
            return
        if None in verdicts:
            self._document.skip("profiles of answers that are references", "the resource is not in the document, or a profile is not at hand")
            return
        listed = ", ".join(named(one) for one in profiles[:_CODES_MAX])
        self._add(place, f"an answer to this item refers to a resource that conforms to {listed}, and this one does not", f"See the profile {listed}")

    def is_exclusive(self, answer: Json) -> bool:
        """Return True if an answer is an option that excludes all others."""
        value = choice(answer)
        return value is not None and any(
            same_answer(value, option) and ("Boolean", True) in extensions(holder, "questionnaire-optionExclusive") for option, holder in self._options
        )


def _matches(pattern: str, text: str) -> bool | None:
    """Whether a whole text has the form of a pattern; None if that is not tried."""
    if len(pattern) > _PATTERN_CHARS_MAX or len(text) > _TEXT_CHARS_MAX:
        return None
    try:
        return read_pattern(pattern)(text)
    except PatternError:
        return None
