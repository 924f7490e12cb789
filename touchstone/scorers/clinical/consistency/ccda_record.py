"""C-CDA → record: the header's patient and the entries of the sections that C-CDA on FHIR maps, from a parsed lxml tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, islice
from typing import Any, Final

from touchstone.scorers.clinical.checks.timestamps import Malformed, read_compact
from touchstone.scorers.clinical.consistency.ccda_elements import HL7V3, Tree, attribute, patient_of, text_of
from touchstone.scorers.clinical.consistency.code_maps import class_of, severities_of
from touchstone.scorers.clinical.consistency.observation_groups import group_of
from touchstone.scorers.clinical.consistency.record import ITEMS_MAX, Code, Group, Item, Kind, Record, Stamp
from touchstone.scorers.clinical.consistency.stamps import compact_stamp
from touchstone.scorers.clinical.consistency.wording import denial_of, texts_of
from touchstone.scorers.clinical.formats.ccda.document import Document
from touchstone.scorers.clinical.formats.ccda.elements import child, children
from touchstone.scorers.clinical.formats.ccda.options import Options
from touchstone.scorers.clinical.formats.ccda.xml_reader import read
from touchstone.scorers.clinical.report import Context, Report

#: LOINC code of a section → kind and group of its entries, and whether the section is the patient's whole list.
_SECTIONS: Final[dict[str, tuple[Kind, Group, bool]]] = {
    "11450-4": ("condition", "condition", True),
    "11348-0": ("condition", "condition", False),
    "11535-2": ("condition", "condition", False),
    "46241-6": ("condition", "condition", False),
    "48765-2": ("allergy", "allergy", True),
    "10160-0": ("medication", "medication", True),
    "10183-2": ("medication", "medication", False),
    "42346-7": ("medication", "medication", False),
    "29549-3": ("medication", "medication", False),
    "11369-6": ("immunization", "immunization", True),
    "30954-2": ("observation", "lab", True),
    "8716-3": ("observation", "vital", True),
    "47519-4": ("procedure", "procedure", False),
    "46240-8": ("encounter", "encounter", False),
}
#: Kind of a substance's entry → the role of its time, and its group.
_SUBSTANCES: Final[dict[Kind, tuple[str, Group]]] = {"medication": ("start", "medication"), "immunization": ("effective", "immunization")}
#: Template of a problem observation, a medication or immunization activity → the kind of its entry, in any section.
_TEMPLATES: Final[dict[str, Kind]] = {
    "2.16.840.1.113883.10.20.22.4.4": "condition",
    "2.16.840.1.113883.10.20.22.4.19": "condition",
    "2.16.840.1.113883.10.20.22.4.16": "medication",
    "2.16.840.1.113883.10.20.22.4.52": "immunization",
}
#: The code of a status observation inside an entry.
_STATUS: Final = "33999-4"
_ACTIVE: Final = "55561003"
#: Resolved, inactive, in remission: such a problem may be left out of a list.
_RESOLVED: Final = frozenset({"413322009", "73425007", "277022003"})
_SEVERITY_CODES: Final = frozenset({"SEV", "82606-5"})
#: Drug or medicament, vaccine: if negated, there is none at all.
_ANY_SUBSTANCE: Final = frozenset({"410942007", "71181003"})
#: Types of an allergy → its category.
_CATEGORIES: Final = {
    "416098002": "medication", "419511003": "medication", "59037007": "medication", "414285001": "food", "418471000": "food", "235719002": "food",
    "426232007": "environment",
}  # fmt: skip
#: Problem, disease, clinical finding: if negated, there is none at all.
_ANY_PROBLEM: Final = frozenset({"55607006", "64572001", "404684003", "409586006", "282291009", "248536006"})
#: Elements that wrap the statements of an entry.
_WRAPPERS: Final = frozenset(f"{HL7V3}{tag}" for tag in ("act", "organizer", "entryRelationship", "component"))
#: The status of an entry that was never true, and those of one that has ended.
_NULLIFIED: Final = "nullified"
_ENDED: Final = frozenset({"aborted", "cancelled", "suspended", "held"})
#: Procedures that are written as acts or observations.
_PROCEDURES: Final = frozenset({"2.16.840.1.113883.10.20.22.4.12", "2.16.840.1.113883.10.20.22.4.13"})
_DEPTH_MAX: Final = 6
#: Templates that are read of one entry in an unknown section.
_TEMPLATES_MAX: Final = 100


def read_ccda(root: Any, place: str, tree: Tree | None = None) -> Record | None:
    """The record of a C-CDA document by its root element; None for any other document. `tree`: reads its elements, for one who wants to find them again."""
    if root is None or root.tag != f"{HL7V3}ClinicalDocument":
        return None
    return _Reader(root, place, Tree() if tree is None else tree).read()


def parse(data: bytes) -> Any | None:
    """The root of a document, read within the bounds of the C-CDA validator; None if it cannot be read."""
    document = Document(Report(), Context(), Options())
    return document.root if read(data, document) else None


class _Reader:
    """Reads one document into its record."""

    def __init__(self, root: Any, place: str, tree: Tree) -> None:
        self._root = root
        self._record = Record("ccda", place, "C-CDA")
        self._tree = tree
        self._written = read_compact(attribute(child(root, "effectiveTime"), "value"))

    def read(self) -> Record:
        """The record."""
        record, scopes = self._record, dict[Group, Any]()
        if (role := child(self._root, "recordTarget", "patientRole")) is not None:
            record.add_patient(patient_of(role, self._tree))
        if (visit := child(self._root, "componentOf", "encompassingEncounter")) is not None:
            self._encounter(visit)
        for section in self._root.iter(f"{HL7V3}section"):
            known = _SECTIONS.get(attribute(child(section, "code"), "code"))
            if known is None:
                self._unknown_section(section)
                continue
            kind, group, is_whole = known
            before = len(record.items.get(kind, ()))
            for number, entry in enumerate(children(section, "entry")):
                if number > ITEMS_MAX:
                    record.cut.add(kind)
                    break
                self._entry(entry, kind, group, is_claimed=is_whole)
            if is_whole:
                has_some = len(record.items.get(kind, ())) > before or scopes.get(group) == "whole"
                # An empty section says neither that there is something nor that there is nothing.
                scopes[group] = "whole" if has_some else scopes.get(group, "able")
        record.set_scopes(scopes)
        return record

    def _unknown_section(self, section: Any) -> None:
        """Add entries of other sections by their template, such as a discharge diagnosis. They may match, but need not be on the other side."""
        for entry in islice(children(section, "entry"), ITEMS_MAX):
            for template in islice(entry.iter(f"{HL7V3}templateId"), _TEMPLATES_MAX):
                one = template.getparent()
                kind = _TEMPLATES.get(attribute(template, "root"))
                if kind == "condition":
                    self._condition(one, is_claimed=False)
                elif kind is not None:
                    self._substance(one, kind, is_claimed=False)

    def _entry(self, entry: Any, kind: Kind, group: Group, *, is_claimed: bool) -> None:
        """Add the statements of one entry of a section."""
        statements: Iterator[Any]
        add: Callable[[Any], None]
        if kind in {"medication", "immunization"}:
            statements, add = _acts(entry, "substanceAdministration"), partial(self._substance, kind=kind, is_claimed=is_claimed)
        elif kind == "encounter":
            statements, add = children(entry, "encounter"), self._encounter
        elif kind == "procedure":
            statements, add = iter(entry), self._procedure
        elif kind == "condition":
            statements, add = _acts(entry, "observation"), partial(self._condition, is_claimed=is_claimed)
        elif kind == "allergy":
            statements, add = _acts(entry, "observation"), self._allergy
        else:
            statements, add = _acts(entry, "observation"), partial(self._observation, group=group)
        for one in islice(statements, ITEMS_MAX):
            add(one)

    def _condition(self, one: Any, *, is_claimed: bool) -> None:
        codes, texts = self._tree.coded(child(one, "value"))
        status = _status_of(one)
        if status == _NULLIFIED:
            return
        denial = denial_of(codes, texts)
        if denial is not None or _is_negated(one):
            is_all = denial == "all" or (_is_negated(one) and (not codes or any(code.code in _ANY_PROBLEM for code in codes)))
            if is_all and is_claimed:
                self._record.deny("condition", self._tree.path(one), "all")
            elif denial is None and is_claimed and not is_all:
                self._record.refuse(Item("condition", "condition", self._tree.path(one), codes, texts_of(texts)))
            return
        times = tuple(self._tree.stamps(child(one, "effectiveTime"), "onset"))
        item = Item("condition", "condition", self._tree.path(one), codes, texts_of(texts), self._tree.identifiers(one), times)
        item.is_claimed = is_claimed and not _is_resolved(one, status, times)
        self._record.add(item)

    def _allergy(self, one: Any) -> None:
        codes: tuple[Code, ...] = ()
        texts: list[object] = []
        for participant in children(one, "participant"):
            entity = child(participant, "participantRole", "playingEntity")
            entity_codes, entity_texts = self._tree.coded(child(entity, "code"))
            codes, texts = codes + entity_codes, [*texts, *entity_texts, text_of(child(entity, "name"))]
        value_codes, value_texts = self._tree.coded(child(one, "value"))
        category = next((found for code in value_codes if (found := _CATEGORIES.get(code.code))), "")
        status = _status_of(one)
        if status == _NULLIFIED:
            return
        path = self._tree.path(one)
        denial = denial_of((*codes, *value_codes), (*texts, *value_texts))
        if denial is not None or _is_negated(one):
            # Negated without a code: no known allergy at all; with a code: not that one.
            if denial == "one":
                return
            if denial is not None or not codes or _is_any(texts):
                self._record.deny("allergy", path, denial or category or "all")
            else:
                self._record.refuse(Item("allergy", "allergy", path, codes, texts_of(texts)))
            return
        inside = (inner for inner in one.iter(f"{HL7V3}observation") if attribute(child(inner, "code"), "code") in _SEVERITY_CODES)
        severities = [severities_of(attribute(child(inner, "value"), "code")) for inner in inside]
        # A severity that FHIR does not have, such as moderate to severe, becomes one or the other there.
        severity = tuple(chain.from_iterable(severities)) if all(severities) else ()
        times = tuple(self._tree.stamps(child(one, "effectiveTime"), "onset"))
        item = Item("allergy", "allergy", path, codes, texts_of(texts), self._tree.identifiers(one), times, category=category, severity=severity)
        item.is_claimed = not _is_resolved(one, status, times)
        self._record.add(item)

    def _substance(self, one: Any, kind: Kind, *, is_claimed: bool) -> None:
        material = child(one, "consumable", "manufacturedProduct", "manufacturedMaterial")
        codes, texts = self._tree.coded(child(material, "code"))
        texts.append(text_of(child(material, "name")))
        path, status = self._tree.path(one), attribute(child(one, "statusCode"), "code")
        if status == _NULLIFIED:
            return
        role, group = _SUBSTANCES[kind]
        # A medication's other effectiveTimes say how often it is taken.
        times = list(self._tree.stamps(child(one, "effectiveTime"), role))
        denial = denial_of(codes, texts)
        if denial is not None or _is_negated(one):
            is_all = denial not in {None, "one"} or not codes or any(code.code in _ANY_SUBSTANCE for code in codes)
            if is_all and is_claimed:
                self._record.deny(kind, path, "all")
            elif not is_all and is_claimed:
                self._record.refuse(Item(kind, group, path, codes, texts_of(texts), times=tuple(times)))
            return
        author = child(one, "author", "time") if kind == "medication" else None
        if author is not None and (stamp := compact_stamp("authored", attribute(author, "value"), self._tree.path(author))) is not None:
            times.append(stamp)
        dose = self._tree.amounts(child(one, "doseQuantity"))
        item = Item(kind, group, path, codes, texts_of(texts), self._tree.identifiers(one), tuple(times), dose)
        item.frequency = self._tree.frequency(one) if kind == "medication" else None
        item.is_claimed = is_claimed and status not in _ENDED and not (kind == "medication" and self._has_ended(times))
        self._record.add(item)

    def _has_ended(self, times: list[Stamp]) -> bool:
        """True if a medication ended before the document was written."""
        written = self._written
        return not isinstance(written, Malformed) and any(stamp.role == "end" and written.certainly_after(stamp.moment) for stamp in times)

    def _procedure(self, one: Any) -> None:
        roots = {attribute(template, "root") for template in children(one, "templateId")}
        if one.tag != f"{HL7V3}procedure" and _PROCEDURES.isdisjoint(roots):
            return
        status = attribute(child(one, "statusCode"), "code")
        if status == _NULLIFIED:
            return
        codes, texts = self._tree.coded(child(one, "code"))
        times = tuple(stamp for stamp in self._tree.stamps(child(one, "effectiveTime"), "effective") if stamp.role != "end")
        item = Item("procedure", "procedure", self._tree.path(one), codes, texts_of(texts), self._tree.identifiers(one), times)
        # An act or observation is advice or a finding, and need not be a procedure elsewhere.
        item.is_claimed = one.tag == f"{HL7V3}procedure" and attribute(one, "moodCode") in {"", "EVN"} and status not in _ENDED
        if _is_negated(one):
            self._record.refuse(item)
        else:
            self._record.add(item)

    def _observation(self, one: Any, group: Group) -> None:
        if _is_negated(one) or attribute(child(one, "statusCode"), "code") in {_NULLIFIED, "cancelled"}:
            return
        codes, texts = self._tree.coded(child(one, "code"))
        item = Item("observation", group_of(codes, group), self._tree.path(one), codes, texts_of(texts), self._tree.identifiers(one))
        item.times = tuple(self._tree.stamps(child(one, "effectiveTime"), "effective"))
        self._tree.set_value(item, child(one, "value"))
        item.is_claimed = bool(item.amounts)
        self._record.add(item)

    def _encounter(self, one: Any) -> None:
        times = tuple(self._tree.stamps(child(one, "effectiveTime"), "start"))
        code = class_of(attribute(child(one, "code"), "code"))
        if times or code:
            item = Item("encounter", "encounter", self._tree.path(one), identifiers=self._tree.identifiers(one), times=times, status=code, is_claimed=False)
            self._record.add(item)


def _acts(element: Any, tag: str, depth: int = 0) -> Iterator[Any]:
    """The elements of a name inside an entry, also inside acts and organizers, but not inside each other."""
    for inner in element:
        if inner.tag == f"{HL7V3}{tag}":
            yield inner
        elif depth < _DEPTH_MAX and inner.tag in _WRAPPERS:
            yield from _acts(inner, tag, depth + 1)


def _is_negated(element: Any) -> bool:
    return attribute(element, "negationInd") == "true"


def _status_of(one: Any) -> str:
    """The status of an observation's concern; `nullified` if either of them is."""
    own = attribute(child(one, "statusCode"), "code")
    above = one.getparent()
    concern = above.getparent() if above is not None and above.tag == f"{HL7V3}entryRelationship" else None
    of_concern = attribute(child(concern, "statusCode"), "code") if concern is not None and concern.tag == f"{HL7V3}act" else ""
    return _NULLIFIED if _NULLIFIED in (own, of_concern) else of_concern


def _is_resolved(one: Any, status: str, times: tuple[Stamp, ...]) -> bool:
    """True if a problem or allergy is resolved: its concern is completed, it has an end, or a status observation says so."""
    inside = (inner for inner in one.iter(f"{HL7V3}observation") if attribute(child(inner, "code"), "code") == _STATUS)
    statuses = {attribute(child(inner, "value"), "code") for inner in inside}
    # Documents of release 1.1 complete every concern, so that a status observation `active` counts more.
    if _ACTIVE in statuses:
        return False
    return status in {"completed", *_ENDED} or any(stamp.role == "end" for stamp in times) or not _RESOLVED.isdisjoint(statuses)


def _is_any(texts: list[object]) -> bool:
    """True if the texts name substances in general."""
    return any(isinstance(text, str) and text.casefold().startswith(("allergy", "substance", "drug or medicament")) for text in texts)
