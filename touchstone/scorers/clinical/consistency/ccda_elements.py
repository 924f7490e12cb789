"""Elements of a C-CDA document as they compare: their places, codes, times, amounts, identifiers, and the patient."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from touchstone.scorers.clinical.consistency import person_names
from touchstone.scorers.clinical.consistency.amounts import amount_of_text, is_number
from touchstone.scorers.clinical.consistency.codes import code_of, marital_of, sex_of, verdict_of
from touchstone.scorers.clinical.consistency.record import Amount, Code, Identifier, Item, Pair, Patient, Stamp, Told
from touchstone.scorers.clinical.consistency.stamps import compact_stamp
from touchstone.scorers.clinical.formats.ccda.element_names import name_of

HL7V3: Final = "{urn:hl7-org:v3}"
XSI_TYPE: Final = "{http://www.w3.org/2001/XMLSchema-instance}type"
NULL: Final = "nullFlavor"
_REFERENCE_LENGTH_MAX: Final = 200


def child(element: Any, *tags: str) -> Any | None:
    """The first element below, step by step; None where a step leads nowhere."""
    for tag in tags:
        if element is None:
            return None
        element = element.find(f"{HL7V3}{tag}")
    return element


def children(element: Any, tag: str) -> Iterator[Any]:
    """The elements of a name right below."""
    if element is not None:
        yield from element.findall(f"{HL7V3}{tag}")


def attribute(element: Any, name: str) -> str:
    """An attribute without blanks around it; empty where there is none."""
    return "" if element is None else (element.get(name) or "").strip()


def text_of(element: Any) -> str:
    """An element's text, without its comments."""
    return "" if element is None else " ".join(str(element.xpath("string()")).split())


class Tree:
    """One document being read. Places and narrative are looked up once for all siblings: to count from each would cost their number squared."""

    def __init__(self) -> None:
        self._paths: dict[Any, str] = {}
        self._narratives: dict[Any, dict[str, Any]] = {}

    def path(self, element: Any) -> str:
        """Where an element stands, as the findings of C-CDA say it: indices begin at 1 and stand where an element has siblings of its name."""
        known = self._paths.get(element)
        if known is not None:
            return known
        parent = element.getparent()
        if parent is None:
            self._paths[element] = name_of(element)
            return self._paths[element]
        above = self.path(parent)
        every = list(parent.iterchildren("*"))
        totals, before = Counter(one.tag for one in every), Counter[str]()
        for one in every:
            before[one.tag] += 1
            number = "" if totals[one.tag] == 1 else f"[{before[one.tag]}]"
            self._paths[one] = f"{above}/{name_of(one)}{number}"
        return self._paths[element]

    def coded(self, element: Any) -> tuple[tuple[Code, ...], list[object]]:
        """The codes and names of a CD: its own and its translations'."""
        if element is None:
            return (), []
        every = [element, *children(element, "translation")]
        codes = tuple(code for one in every if (code := code_of(attribute(one, "codeSystem"), attribute(one, "code"))) is not None)
        texts: list[object] = [attribute(one, "displayName") for one in every]
        # The narrative is searched only for what is named nowhere else.
        return codes, texts if any(texts) and codes else [*texts, self._original(element)]

    def _original(self, element: Any) -> str:
        """The original text of a code: written out, or where its reference leads in the narrative."""
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
            told = person_names.identifier(root if extension else "", "", extension or root, self.path(one))
            if told is not None:
                found.append(told)
        return tuple(found)

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
        told = amount_of_text(text_of(value), self.path(value)) if not ends and attribute(value, XSI_TYPE).endswith("ST") else None
        return () if told is None else (told,)

    def set_value(self, item: Item, value: Any) -> None:
        """Read the value of an observation into an entry."""
        item.amounts = self.amounts(value)
        if value is None or item.amounts:
            return
        item.answers, texts = self.coded(value)
        texts = [*texts, text_of(value)]
        if verdict := next((found for one in texts if (found := verdict_of(item.answers, one))), ""):
            item.verdict = Told(verdict, self.path(value))
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
    for one in children(person, "name"):
        given = [text_of(part) for part in children(one, "given") if attribute(part, "qualifier") != "CL"]
        families = list(children(one, "family"))
        current = [part for part in families if attribute(part, "qualifier") != "BR"] or families
        family = " ".join(text_of(part) for part in current)
        use = "" if not attribute(one, "use") else "l" if "L" in attribute(one, "use").split() else attribute(one, "use")
        found = person_names.name(family, given, use, tree.path(one)) or person_names.name_of_text(text_of(one), tree.path(one))
        if found is not None:
            patient.names.append(found)
    birth, sex = child(person, "birthTime"), child(person, "administrativeGenderCode")
    if birth is not None:
        patient.birth = compact_stamp("birth", attribute(birth, "value"), tree.path(birth))
    if sex is not None and (told := sex_of(attribute(sex, "code") or attribute(sex, NULL))):
        patient.sex = Told(told, tree.path(sex))
    marital = child(person, "maritalStatusCode")
    if marital is not None and (status := marital_of(attribute(marital, "code"), is_v2=False)):
        patient.marital = Told(status, tree.path(marital))
    deceased = None if person is None else person.find("{urn:hl7-org:sdtc}deceasedInd")
    if deceased is not None and attribute(deceased, "value") in {"true", "false"}:
        patient.dead = Told("dead" if attribute(deceased, "value") == "true" else "alive", tree.path(deceased))
    if patient.dead is None and (time := None if person is None else person.find("{urn:hl7-org:sdtc}deceasedTime")) is not None and attribute(time, "value"):
        patient.dead = Told("dead", tree.path(time))
    for telecom in children(role, "telecom"):
        told = attribute(telecom, "value")
        if (number := person_names.phone(told)) and attribute(telecom, "use") != "BAD" and not told.casefold().startswith(("mailto:", "fax:", "http")):
            patient.phones.append(Told(number, tree.path(telecom)))
    for address in children(role, "addr"):
        code = child(address, "postalCode")
        if postal := person_names.postal_code(text_of(code)):
            patient.postal_codes.append(Told(postal, tree.path(code)))
    return patient
