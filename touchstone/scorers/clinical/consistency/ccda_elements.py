"""Parts of a C-CDA document as they compare across formats: codes, times, amounts, identifiers, and the patient."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from touchstone.scorers.clinical.consistency import identifiers, person_names
from touchstone.scorers.clinical.consistency.amounts import amount_of_text, is_number
from touchstone.scorers.clinical.consistency.code_maps import marital_of, sex_of, verdict_of
from touchstone.scorers.clinical.consistency.code_systems import code_of
from touchstone.scorers.clinical.consistency.frequencies import of_period
from touchstone.scorers.clinical.consistency.record import Amount, Code, Frequency, Identifier, Item, Name, Pair, Patient, PlacedValue, Stamp
from touchstone.scorers.clinical.consistency.stamps import compact_stamp
from touchstone.scorers.clinical.formats.ccda.element_names import CDA, SDTC, XSI_TYPE, ElementPaths
from touchstone.scorers.clinical.formats.ccda.elements import child, children

HL7V3: Final = f"{{{CDA}}}"
_REFERENCE_LENGTH_MAX: Final = 200
#: Qualifiers of name parts (HL7 v3 EntityNamePartQualifier) that are not the person's current name: CL is a call name, BR a name at birth.
_NOT_GIVEN: Final = frozenset({"CL", "BR"})
_NOT_FAMILY: Final = frozenset({"BR"})
#: Uses of a name that mark the person's own: L is the usual one, OR the one of the registry.
_OFFICIAL: Final = frozenset({"L", "OR"})


def attribute(element: Any, name: str) -> str:
    """An attribute without blanks around it; empty if there is none."""
    return "" if element is None else (element.get(name) or "").strip()


def text_of(element: Any) -> str:
    """An element's text, without its comments."""
    return "" if element is None else " ".join(str(element.xpath("string()")).split())


class Tree(ElementPaths):
    """Reads elements of one document. The ids of a section's narrative are collected once."""

    def __init__(self) -> None:
        super().__init__()
        self._narratives: dict[Any, dict[str, Any]] = {}

    def coded(self, element: Any) -> tuple[tuple[Code, ...], list[object]]:
        """The codes and names of a CD and of its translations."""
        if element is None:
            return (), []
        every = [element, *children(element, "translation")]
        codes = tuple(code for one in every if (code := code_of(attribute(one, "codeSystem"), attribute(one, "code"))) is not None)
        texts: list[object] = [attribute(one, "displayName") for one in every]
        # The narrative is searched only for an entry without another name.
        return codes, texts if any(texts) and codes else [*texts, self._original(element)]

    def _original(self, element: Any) -> str:
        """The original text of a code: its own, or the narrative text that it refers to."""
        original = child(element, "originalText")
        if original is None:
            return ""
        if text := text_of(original):
            return text
        target = attribute(child(original, "reference"), "value")
        if not target.startswith("#") or len(target) > _REFERENCE_LENGTH_MAX:
            return ""
        section = next(element.iterancestors(f"{HL7V3}section"), None)
        if section not in self._narratives:
            narrative = None if section is None else child(section, "text")
            self._narratives[section] = {} if narrative is None else {one.get("ID"): one for one in narrative.iter() if one.get("ID") is not None}
        return text_of(self._narratives[section].get(target[1:]))

    def identifiers(self, element: Any) -> tuple[Identifier, ...]:
        """The ids of an element."""
        found = []
        for one in children(element, "id"):
            root, extension = attribute(one, "root"), attribute(one, "extension")
            # A root without an extension is the identifier itself.
            found.append(identifiers.identifier(root if extension else "", "", extension or root, self.path(one)))
        return tuple(one for one in found if one is not None)

    def stamps(self, time: Any, role: str) -> Iterator[Stamp]:
        """A point in time, or the ends of an interval."""
        if time is None:
            return
        if (stamp := compact_stamp(role, attribute(time, "value"), self.path(time))) is not None:
            yield stamp
        for tag, of_end in (("low", role), ("high", "end")):
            end = child(time, tag)
            if end is not None and (stamp := compact_stamp(of_end, attribute(end, "value"), self.path(end))) is not None:
                yield stamp

    def frequency(self, one: Any) -> Frequency | None:
        """How often a medication is taken, by its only periodic interval; None if it is taken as needed (a precondition)."""
        periodic = [time for time in children(one, "effectiveTime") if attribute(time, XSI_TYPE).rpartition(":")[2] in {"PIVL_TS", "EIVL_TS"}]
        period = child(periodic[0], "period") if len(periodic) == 1 and child(one, "precondition") is None else None
        return None if period is None else of_period(attribute(period, "value"), attribute(period, "unit"), self.path(period))

    def amounts(self, value: Any) -> tuple[Amount, ...]:
        """The amount of a PQ, INT or REAL, of an interval with one end, or of a text that is a number."""
        if value is None:
            return ()
        if is_number(number := attribute(value, "value")):
            return (Amount(number, _unit(value), "", self.path(value)),)
        low, high = child(value, "low"), child(value, "high")
        ends = [(one, sign) for one, sign in ((low, ">"), (high, "<")) if one is not None and is_number(attribute(one, "value"))]
        if len(ends) == 1:
            one, sign = ends[0]
            sign += "" if attribute(one, "inclusive") == "false" else "="
            return (Amount(attribute(one, "value"), _unit(one), sign, self.path(one)),)
        amount = amount_of_text(text_of(value), self.path(value)) if not ends and attribute(value, XSI_TYPE).endswith("ST") else None
        return () if amount is None else (amount,)

    def set_value(self, item: Item, value: Any) -> None:
        """Read the value of an observation into an entry."""
        item.amounts = self.amounts(value)
        if value is None or item.amounts:
            return
        item.answers, texts = self.coded(value)
        texts = [*texts, text_of(value)]
        if verdict := next((found for one in texts if (found := verdict_of(item.answers, one))), ""):
            item.verdict = PlacedValue(verdict, self.path(value))
        for kind, tags in (("range", ("low", "high")), ("ratio", ("numerator", "denominator"))):
            ends = [child(value, tag) for tag in tags]
            if all(is_number(attribute(end, "value")) for end in ends):
                first, second = (Amount(attribute(end, "value"), _unit(end), "", self.path(end)) for end in ends)
                item.pair = Pair("range" if kind == "range" else "ratio", first, second)


def _unit(element: Any) -> str:
    unit = attribute(element, "unit")
    return "" if unit == "1" else unit


def patient_of(role: Any, tree: Tree) -> Patient:
    """The patient of a recordTarget."""
    patient = Patient(tree.path(role))
    patient.identifiers += tree.identifiers(role)
    person = child(role, "patient")
    if person is not None:
        _read_person(person, patient, tree)
    for telecom in children(role, "telecom"):
        address = attribute(telecom, "value")
        is_phone = attribute(telecom, "use") != "BAD" and not address.casefold().startswith(("mailto:", "fax:", "http"))
        if is_phone and (number := identifiers.phone(address)):
            patient.phones.append(PlacedValue(number, tree.path(telecom)))
    for one in children(role, "addr"):
        code = child(one, "postalCode")
        if postal := identifiers.postal_code(text_of(code)):
            patient.postal_codes.append(PlacedValue(postal, tree.path(code)))
    return patient


def _read_person(person: Any, patient: Patient, tree: Tree) -> None:
    """Names, birth, sex, marital status and death of a recordTarget's patient."""
    written = list(children(person, "name"))
    for one in written:
        if (name := _name(one, tree, is_given_elsewhere=any(_has_given(other) for other in written))) is not None:
            patient.names.append(name)
    birth, sex, marital = (child(person, tag) for tag in ("birthTime", "administrativeGenderCode", "maritalStatusCode"))
    if birth is not None:
        patient.birth = compact_stamp("birth", attribute(birth, "value"), tree.path(birth))
    if gender := sex_of(attribute(sex, "code") or attribute(sex, "nullFlavor")):
        patient.sex = PlacedValue(gender, tree.path(sex))
    if status := marital_of(attribute(marital, "code"), is_v2=False):
        patient.marital = PlacedValue(status, tree.path(marital))
    deceased, time = (person.find(f"{{{SDTC}}}{tag}") for tag in ("deceasedInd", "deceasedTime"))
    if attribute(deceased, "value") in {"true", "false"}:
        patient.dead = PlacedValue("dead" if attribute(deceased, "value") == "true" else "alive", tree.path(deceased))
    elif attribute(time, "value"):
        patient.dead = PlacedValue("dead", tree.path(time))


def _name(element: Any, tree: Tree, *, is_given_elsewhere: bool) -> Name | None:
    """A name by its current parts. Call names and birth names count only where nothing else is given.

    `is_given_elsewhere`: another name of the person has a given name; one that is only called is then a nickname.
    """
    given = _current(element, "given", _NOT_GIVEN)
    family = " ".join(text_of(part) for part in _current(element, "family", _NOT_FAMILY))
    uses, path = attribute(element, "use"), tree.path(element)
    use = "l" if not _OFFICIAL.isdisjoint(uses.split()) else uses
    if is_given_elsewhere and given and not _has_given(element):
        use = "nickname"
    return person_names.name(family, [text_of(part) for part in given], use, path) or person_names.name_of_text(text_of(element), path)


def _has_given(element: Any) -> bool:
    """True if a name has a given name that is more than what the person is called or was called at birth."""
    return any(_NOT_GIVEN.isdisjoint(attribute(part, "qualifier").split()) and text_of(part) for part in children(element, "given"))


def _current(element: Any, tag: str, not_current: frozenset[str]) -> list[Any]:
    """The parts of a name without those that a qualifier sets aside; all parts where nothing else is left."""
    parts = [part for part in children(element, tag) if text_of(part)]
    return [part for part in parts if not_current.isdisjoint(attribute(part, "qualifier").split())] or parts
