"""FHIR → record: a Bundle or a single resource, read by US Core and by the v2-to-FHIR and C-CDA on FHIR maps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from touchstone.scorers.clinical.consistency.code_maps import class_of, severities_of
from touchstone.scorers.clinical.consistency.fhir_elements import (
    concept_of,
    doses_of,
    has_code,
    identifiers_of,
    list_of,
    object_of,
    objects_of,
    patient_of,
    set_value,
    times_of,
)
from touchstone.scorers.clinical.consistency.frequencies import of_dosages
from touchstone.scorers.clinical.consistency.observation_groups import group_of
from touchstone.scorers.clinical.consistency.record import Code, Group, Item, Kind, Record, Scope
from touchstone.scorers.clinical.consistency.wording import denial_of, texts_of

ENTRIES_MAX: Final = 20_000
_NOT_SO: Final = frozenset({"entered-in-error", "cancelled", "not-done", "not-taken"})
#: Statuses of problems and allergies, and of medications, that may be left out of a list.
_RESOLVED: Final = ("resolved", "inactive", "remission")
_NOT_TAKEN: Final = ("stopped", "on-hold", "draft", "completed", "ended", "intended")
_NO_ORDERS: Final = ("proposal", "plan", "option")
_UNSURE: Final = ("differential", "unconfirmed", "provisional")
#: A cancelled visit is in every format.
_MISTAKEN: Final = frozenset({"entered-in-error"})
_GROUPS: Final[tuple[Group, ...]] = ("condition", "medication", "allergy", "immunization", "lab", "vital")
_MEDICATIONS: Final = frozenset({"MedicationRequest", "MedicationStatement", "MedicationAdministration", "MedicationDispense"})
#: Resource type → kind.
_KINDS: Final[Mapping[str, Kind]] = {
    "Condition": "condition",
    "AllergyIntolerance": "allergy",
    "Immunization": "immunization",
    "Procedure": "procedure",
    "Observation": "observation",
    "Encounter": "encounter",
    **dict.fromkeys(_MEDICATIONS, "medication"),
}


def read_fhir(content: str | bytes | Mapping[str, Any], place: str) -> Record | None:
    """The record of a FHIR document; None if it cannot be read."""
    document = content if isinstance(content, Mapping) else _parsed(content)
    if not isinstance(document, Mapping) or not isinstance(document.get("resourceType"), str):
        return None
    record = Record("fhir", place, "FHIR R4")
    resources = _Resources(document)
    for path, resource in resources.placed:
        kind = resource.get("resourceType")
        if kind == "Patient":
            record.add_patient(patient_of(resource, path))
        elif kind in _KINDS:
            _read(resource, path, record, resources)
    is_whole = document.get("resourceType") == "Bundle" and len(resources.placed) > 1
    record.set_scopes(_scopes(record, resources) if is_whole else {})
    return record


def _scopes(record: Record, resources: _Resources) -> dict[Group, Scope]:
    """How completely a Bundle lists each group."""
    present = {item.group for item in record.every()}
    # A Bundle of only a patient and a visit says nothing about the groups.
    has_content = bool(present - {"encounter"}) or any(resource.get("resourceType") == "DiagnosticReport" for _, resource in resources.placed)
    scopes: dict[Group, Scope] = {group: "whole" if group in present else "able" for group in _GROUPS if has_content}
    # Few producers send procedures, so a Bundle without any says nothing about them.
    return scopes | ({"procedure": "whole"} if "procedure" in present else {})


def _parsed(content: str | bytes) -> Any:
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    data = data.removeprefix(b"\xef\xbb\xbf")
    if data[:1_000].lstrip().startswith(b"<"):
        from touchstone.scorers.clinical.formats.fhir.document import Document
        from touchstone.scorers.clinical.formats.fhir.options import Options
        from touchstone.scorers.clinical.formats.fhir.xml import read_xml
        from touchstone.scorers.clinical.report import Context, Report

        return read_xml(data, Document(Report(), Context(), Options()))
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return None


class _Resources:
    """The resources of a document with their paths in findings, and the targets of references."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.placed: list[tuple[str, Mapping[str, Any]]] = []
        self._known: dict[str, Mapping[str, Any]] = {}
        if document.get("resourceType") != "Bundle":
            self._place(str(document["resourceType"]), document, None)
            return
        entries = document.get("entry")
        found = [entry for entry in (entries if isinstance(entries, list) else [])[:ENTRIES_MAX] if isinstance(entry, Mapping)]
        pairs = [(entry.get("fullUrl"), resource) for entry in found if isinstance(resource := entry.get("resource"), Mapping)]
        patients = sum(resource.get("resourceType") == "Patient" for _, resource in pairs)
        numbers: dict[str, int] = {}
        for url, resource in pairs:
            kind = resource.get("resourceType")
            if not isinstance(kind, str):
                continue
            number = numbers.get(kind, 0)
            numbers[kind] = number + 1
            self._place(kind if kind == "Patient" and patients == 1 else f"{kind}[{number}]", resource, url)

    def _place(self, path: str, resource: Mapping[str, Any], url: object) -> None:
        self.placed.append((path, resource))
        if isinstance(url, str):
            self._known[url] = resource
        if isinstance(identifier := resource.get("id"), str):
            self._known[f"{resource.get('resourceType')}/{identifier}"] = resource

    def of(self, reference: Any, within: Mapping[str, Any]) -> Mapping[str, Any]:
        """The target of a reference; empty if it is not in the document."""
        target = object_of(reference).get("reference")
        if not isinstance(target, str):
            return {}
        if target.startswith("#"):
            return next((one for _, one in objects_of(within.get("contained")) if one.get("id") == target[1:]), {})
        return self._known.get(target) or self._known.get("/".join(target.split("/")[-2:]), {})


def _read(resource: Mapping[str, Any], path: str, record: Record, resources: _Resources) -> None:
    kind = _KINDS[resource["resourceType"]]
    if _is_mistake(resource):
        return
    codes, texts = _named(resource, kind, resources)
    denial = denial_of(codes, texts) if kind in {"condition", "allergy", "medication"} else None
    if denial is not None:
        if denial != "one":
            record.deny(kind, path, denial)
        return
    if _is_refused(resource):
        record.refuse(Item(kind, "other", path, codes, texts_of(texts), times=tuple(times_of(resource, path))))
        return
    if kind == "observation":
        _observations(resource, path, record, codes, texts)
        return
    if kind == "medication" and not codes and not texts_of(texts) and resource.get("medicationReference"):
        record.unnamed[kind] = record.unnamed.get(kind, 0) + 1
        return
    record.add(
        Item(
            kind,
            kind,
            path,
            codes,
            texts_of(texts),
            tuple(identifiers_of(resource.get("identifier"), path)),
            tuple(times_of(resource, path)),
            tuple(doses_of(resource, path)) if kind in {"medication", "immunization"} else (),
            category=_category_of(resource) if kind == "allergy" else "",
            severity=tuple(_severities(resource)) if kind == "allergy" else (),
            status=class_of(object_of(resource.get("class")).get("code")) if kind == "encounter" else "",
            is_claimed=_is_claimed(resource, kind),
            labels=tuple(text for text in texts if isinstance(text, str)),
            frequency=of_dosages(resource, path) if kind == "medication" else None,
        )
    )


def _is_claimed(resource: Mapping[str, Any], kind: Kind) -> bool:
    """False for an entry that the other side may leave out: resolved, unsure, planned, or of one visit alone."""
    if kind in {"condition", "allergy"}:
        is_resolved = any(has_code([resource.get("clinicalStatus")], code) for code in _RESOLVED)
        is_unsure = kind == "condition" and any(has_code([resource.get("verificationStatus")], code) for code in _UNSURE)
        return not is_resolved and not is_unsure and not (kind == "condition" and has_code(resource.get("category"), "encounter-diagnosis"))
    if kind == "medication":
        is_order = resource["resourceType"] in {"MedicationRequest", "MedicationStatement"}
        return is_order and resource.get("status") not in _NOT_TAKEN and resource.get("intent") not in _NO_ORDERS
    return kind != "procedure" or resource.get("status") not in ("preparation", "on-hold", "stopped", "unknown")


def _category_of(resource: Mapping[str, Any]) -> str:
    """The category of an allergy; empty if it has none, or several."""
    categories = [one for one in list_of(resource.get("category")) if isinstance(one, str)]
    return categories[0] if len(categories) == 1 else ""


def _is_refused(resource: Mapping[str, Any]) -> bool:
    """True if a resource says that something is not so: refuted, not given, not done, not to be taken."""
    return (
        has_code([resource.get("verificationStatus")], "refuted")
        or resource.get("status") in (("not-done",) if resource["resourceType"] in {"Immunization", "Procedure"} else ())
        or resource.get("doNotPerform") is True
        or resource.get("status") == "not-taken"
    )


def _is_mistake(resource: Mapping[str, Any]) -> bool:
    """True if a resource was entered in error or cancelled."""
    status = resource.get("status")
    is_mistaken = isinstance(status, str) and status in (_MISTAKEN if resource["resourceType"] == "Encounter" else _NOT_SO)
    return (is_mistaken and not _is_refused(resource)) or has_code([resource.get("verificationStatus")], "entered-in-error")


def _named(resource: Mapping[str, Any], kind: Kind, resources: _Resources) -> tuple[tuple[Code, ...], list[object]]:
    """The codes and names of a resource's subject matter."""
    if kind == "medication":
        concept = resource.get("medicationCodeableConcept") or resources.of(resource.get("medicationReference"), resource).get("code")
        codes, texts = concept_of(concept)
        if not codes and not texts:
            texts = [object_of(resource.get("medicationReference")).get("display")]
        return codes, texts
    if kind == "encounter":
        return (), []
    codes, texts = concept_of(resource.get("vaccineCode" if kind == "immunization" else "code"))
    if kind == "allergy":
        # The substance may be given with the reactions only.
        for _, reaction in objects_of(resource.get("reaction")):
            more_codes, more_texts = concept_of(reaction.get("substance"))
            codes, texts = codes + more_codes, [*texts, *more_texts]
    return tuple(dict.fromkeys(codes)), texts


def _severities(resource: Mapping[str, Any]) -> Iterator[str]:
    written = [resource.get("criticality"), *(reaction.get("severity") for _, reaction in objects_of(resource.get("reaction")))]
    yield from (severity for one in written for severity in severities_of(one))


def _observations(resource: Mapping[str, Any], path: str, record: Record, codes: tuple[Code, ...], texts: list[object]) -> None:
    """Add an observation and its components, each as an entry; a panel without a value of its own is not one."""
    times = tuple(times_of(resource, path))
    identifiers = tuple(identifiers_of(resource.get("identifier"), path))
    category = _category(resource.get("category"))
    parts = [(path, resource, codes, texts)]
    parts += [(f"{path}.component[{number}]", one, *concept_of(one.get("code"))) for number, one in objects_of(resource.get("component"))]
    record.mention(texts_of([*texts, resource.get("valueString"), *concept_of(resource.get("valueCodeableConcept"))[1]]))
    for where, part, part_codes, part_texts in parts:
        if part is resource and len(parts) > 1 and not any(name.startswith("value") for name in part):
            continue
        item = Item("observation", group_of(part_codes, category), where, part_codes, texts_of(part_texts), identifiers, times)
        set_value(item, part, where)
        item.is_claimed = bool(item.amounts)
        record.add(item)


def _category(categories: Any) -> Group:
    """The group in an observation's categories; without any it is a laboratory result."""
    if has_code(categories, "vital-signs"):
        return "vital"
    return "lab" if has_code(categories, "laboratory") or not list_of(categories) else "other"
