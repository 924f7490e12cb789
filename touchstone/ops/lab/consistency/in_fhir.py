"""Changes of the FHIR side of a pair. A fact is changed only if the other side's text has it, too."""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from touchstone.ops.lab.consistency.changes import EQUAL_UNITS, OTHER_UNITS, Chance, Change, fresh, in_zone, plain_number, shifted_day

#: Type → kind of entry, and the member with its code.
CODED: Final = {
    "Condition": ("condition", "code"),
    "AllergyIntolerance": ("allergy", "code"),
    "Observation": ("observation", "code"),
    "Immunization": ("immunization", "vaccineCode"),
    "Medication": ("medication", "code"),
}
#: Member that holds a time → role.
TIMES: Final = ("onsetDateTime", "effectiveDateTime", "occurrenceDateTime")
_WITH_ZONE: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d")


def changes(content: bytes, other: str, chance: Chance) -> Iterator[Change]:
    """Every change of a Bundle whose counterpart is `other`, the text of the other document."""
    bundle = json.loads(content)
    resources = [entry["resource"] for entry in bundle["entry"]]
    yield from _of_patient(bundle, resources, other, chance)
    for number, resource in enumerate(resources):
        if resource["resourceType"] in CODED:
            yield from _of_entry(bundle, number, resource, resources, other, chance)
        if resource["resourceType"] == "Encounter":
            yield from _of_times(bundle, number, resource.get("period", {}), "encounter", other, chance, ("period", "start"))
    yield from _same(bundle, resources)


def _with(bundle: dict[str, Any], number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    changed = copy.deepcopy(bundle)
    return changed, changed["entry"][number]["resource"]


def _bytes(bundle: dict[str, Any]) -> bytes:
    return json.dumps(bundle).encode()


def _of_patient(bundle: dict[str, Any], resources: list[dict[str, Any]], other: str, chance: Chance) -> Iterator[Change]:
    places = [number for number, resource in enumerate(resources) if resource["resourceType"] == "Patient"]
    if len(places) != 1:
        return
    place = places[0]
    patient = resources[place]
    birth = str(patient.get("birthDate", ""))
    if len(birth) == 10 and birth.replace("-", "") in other:
        changed, inside = _with(bundle, place)
        inside["birthDate"] = shifted_day(birth, chance.dice.choice((1, 31, 366)))
        yield Change("birth date", _bytes(changed), ("patient.birth-date", "patient.other"))
    if patient.get("gender") in {"male", "female"} and re.search(r'\|[MF]\||(administrativeGenderCode[^>]*code="[MF]")', other):
        changed, inside = _with(bundle, place)
        inside["gender"] = "female" if patient["gender"] == "male" else "male"
        yield Change("sex", _bytes(changed), ("patient.sex",))
    for index, name in enumerate(patient.get("name", [])[:1]):
        for part in ("family", "given"):
            text = name.get(part)
            text = text[0] if isinstance(text, list) else text
            if text and len(text) > 2 and text in other:
                changed, inside = _with(bundle, place)
                another = f"Q{text[1:-1]}oke"
                inside["name"][index][part] = [another, *name[part][1:]] if part == "given" else another
                yield Change("name", _bytes(changed), ("patient.name", "patient.other"))
                changed, inside = _with(bundle, place)
                inside["name"][index][part] = [text.title(), *name[part][1:]] if part == "given" else text.upper()
                yield Change("name in another case", _bytes(changed), None)
    for index, identifier in enumerate(patient.get("identifier", [])[:2]):
        value = str(identifier.get("value", ""))
        if len(value) > 3 and value in other:
            changed, inside = _with(bundle, place)
            inside["identifier"][index]["value"] = chance.other_code(value)
            yield Change("identifier", _bytes(changed), ("patient.identifier",))
            break


def _coding(resource: dict[str, Any]) -> dict[str, Any] | None:
    concept = resource.get(CODED[resource["resourceType"]][1]) or {}
    return next((one for one in concept.get("coding", []) if one.get("code")), None)


def _of_entry(bundle: dict[str, Any], number: int, resource: dict[str, Any], resources: list[dict[str, Any]], other: str, chance: Chance) -> Iterator[Change]:
    kind, member = CODED[resource["resourceType"]]
    coding = _coding(resource)
    # Labs and vital signs are compared; what else is observed need not be in both.
    is_other = kind == "observation" and (
        not isinstance(resource.get("valueQuantity", {}).get("value"), int | float) or "social-history" in json.dumps(resource.get("category"))
    )
    if coding is None or is_other or not _holds(other, coding["code"]):
        return
    codes = Counter(found["code"] for one in resources if one["resourceType"] == resource["resourceType"] and (found := _coding(one)) is not None)
    if codes[coding["code"]] == 1:
        changed, inside = _with(bundle, number)
        inside[member]["coding"] = [{**coding, "code": chance.other_code(coding["code"])}]
        yield Change("code", _bytes(changed), (f"{kind}.",))
        yield from _dropped(bundle, number, resource, kind)
        yield from _invented(bundle, number, resource, kind, member, coding)
    quantity = resource.get("valueQuantity")
    if quantity is not None and codes[coding["code"]] == 1:
        yield from _of_value(bundle, number, quantity, other, chance)
    yield from _of_times(bundle, number, resource, kind, other, chance, *[(name,) for name in TIMES])


def _dropped(bundle: dict[str, Any], number: int, resource: dict[str, Any], kind: str) -> Iterator[Change]:
    changed = copy.deepcopy(bundle)
    gone = {number}
    if kind == "medication":
        reference = f"Medication/{resource.get('id')}"
        gone |= {place for place, entry in enumerate(bundle["entry"]) if entry["resource"].get("medicationReference", {}).get("reference") == reference}
        if len(gone) == 1:
            return
    changed["entry"] = [entry for place, entry in enumerate(changed["entry"]) if place not in gone]
    yield Change("dropped entry", _bytes(changed), (f"{kind}.",))


def _invented(bundle: dict[str, Any], number: int, resource: dict[str, Any], kind: str, member: str, coding: dict[str, Any]) -> Iterator[Change]:
    if kind == "medication":
        return
    changed = copy.deepcopy(bundle)
    made = copy.deepcopy(resource)
    made["id"] = f"invented-{number}"
    made.pop("identifier", None)
    made[member] = {"coding": [{**coding, "code": next(fresh(number)), "display": "Something else entirely"}]}
    changed["entry"].append({"resource": made})
    yield Change("invented entry", _bytes(changed), (f"{kind}.missing",))


def _holds(other: str, code: str) -> bool:
    return re.search(rf'["|^~]{re.escape(code)}["|^~]', other) is not None


def _of_value(bundle: dict[str, Any], number: int, quantity: dict[str, Any], other: str, chance: Chance) -> Iterator[Change]:
    value, unit = quantity.get("value"), quantity.get("code") or quantity.get("unit")
    if value is None or re.search(rf"(?<![\w.]){re.escape(plain_number(value))}(?![\w.])", other) is None:
        return
    changed, inside = _with(bundle, number)
    inside["valueQuantity"]["value"] = float(chance.other_number(plain_number(value)))
    yield Change("value", _bytes(changed), ("observation.value",))
    if unit in EQUAL_UNITS:
        changed, inside = _with(bundle, number)
        equal, factor = EQUAL_UNITS[unit]
        inside["valueQuantity"] |= {"value": float(plain_number(value * factor)), "unit": equal, "code": equal, "system": "http://unitsofmeasure.org"}
        yield Change("value in another unit", _bytes(changed), None)
    if unit in OTHER_UNITS and value:
        changed, inside = _with(bundle, number)
        inside["valueQuantity"] |= {"unit": OTHER_UNITS[unit], "code": OTHER_UNITS[unit], "system": "http://unitsofmeasure.org"}
        yield Change("unit", _bytes(changed), ("observation.value",))


def _of_times(bundle: dict[str, Any], number: int, holder: dict[str, Any], kind: str, other: str, chance: Chance, *places: tuple[str, ...]) -> Iterator[Change]:
    for place in places:
        written = holder.get(place[-1])
        if not isinstance(written, str) or len(written) < 10:
            continue
        zoned = _WITH_ZONE.fullmatch(written) is not None
        if not zoned and written[:10].replace("-", "") not in other:
            continue
        if zoned and not _has_instant(other, datetime.fromisoformat(written)):
            continue
        changed, inside = _with(bundle, number)
        _set(inside, place, shifted_day(written[:10], chance.dice.choice((2, 30, 365))) + written[10:])
        yield Change("time", _bytes(changed), (f"{kind}.",))
        if zoned:
            changed, inside = _with(bundle, number)
            _set(inside, place, in_zone(datetime.fromisoformat(written), chance.dice.choice((-480, -300, 0, 60, 345))).isoformat())
            yield Change("time in another zone", _bytes(changed), None)
        return


def _has_instant(other: str, moment: datetime) -> bool:
    """True if a text has an instant in any zone, to the minute."""
    return any(f"{in_zone(moment, minutes):%Y%m%d%H%M}" in other for minutes in range(-840, 841, 5))


def _set(inside: dict[str, Any], place: tuple[str, ...], value: str) -> None:
    for name in place[:-1]:
        inside = inside[name]
    inside[place[-1]] = value


def _same(bundle: dict[str, Any], resources: list[dict[str, Any]]) -> Iterator[Change]:
    """Rewritings of the whole Bundle that say the same."""
    changed = copy.deepcopy(bundle)
    changed["entry"].reverse()
    yield Change("entries in another order", _bytes(changed), None)
    changed = copy.deepcopy(bundle)
    for resource in (entry["resource"] for entry in changed["entry"]):
        coding = _coding(resource) if resource["resourceType"] in CODED else None
        if coding is not None:
            coding.pop("display", None)
    yield Change("codes without names", _bytes(changed), None)
    if any("valueQuantity" in resource for resource in resources):
        changed = copy.deepcopy(bundle)
        for resource in (entry["resource"] for entry in changed["entry"]):
            if isinstance(value := resource.get("valueQuantity", {}).get("value"), int):
                resource["valueQuantity"]["value"] = float(value)
        yield Change("numbers with a point", _bytes(changed), None)
