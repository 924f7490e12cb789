"""Mutations of single values: primitives of every type, their extension parts, empty and repeated members, codes, units and references."""

import copy
import random
from collections.abc import Iterator
from typing import Any

from touchstone.ops.lab.agreement.invariants import Spot, of_a_spot
from touchstone.scorers.clinical.formats.fhir.tables import Field, definitions

_EXAMPLE = "http://example.org/x"
_NOTED = {"extension": [{"url": _EXAMPLE, "valueString": "x"}]}
_DATES = ("2020", "2020-02", "2020-02-29", "2021-02-29", "20-02-01", "2020-2-1", "2020-13", "2020-00-10", "2020/02/01", "02020-01-01", "-2020-01-01")
_TIMES = ("T10:00:00Z", "T10:00:00", "T10:00:00.5+02:00", "T10:00Z", "T24:00:00Z", "T23:59:60Z", "T10:00:00+14:30", "T10:00:00z", "t10:00:00Z", "T10Z")
_MOMENTS = (*_DATES, *(f"2020-02-28{time}" for time in _TIMES))
_TEXTS = ("", " ", "x ", " x", "a  b", "a b", "a\tb", "a\nb", "x\u00a0", "\u200b", "é", "0", "x" * 70)
#: Values for primitives of each type, right and wrong.
VALUES: dict[str, tuple[object, ...]] = {
    "base64Binary": ("aGVsbG8=", "aGVsbG8", "aGVs bG8=", "aGVs\nbG8=", "===", "aGVsbG8-_w==", "", 7),
    "boolean": (True, "true", "True", 1, 0, ""),
    "canonical": (f"{_EXAMPLE}|1.0", f"{_EXAMPLE} |1", "x", "#nowhere", "urn:oid:1.2.3", "", f"{_EXAMPLE}#part"),
    "code": (*_TEXTS, "A", "a|b", 7),
    "date": (*_DATES, "2020-02-28T10:00:00Z", "", 2020),
    "dateTime": (*_MOMENTS, "", 2020),
    "decimal": (0, -1, 1.0, 1e3, 1e-7, 1e22, "1.0", True, "", 123456789012345678),
    "id": ("x", "a.b-c", "a_b", "", "a b", "x" * 64, "x" * 65, "é", "#x", 7),
    "instant": (*_MOMENTS, ""),
    "integer": (0, -1, 1.0, 1.5, 2**31, -(2**31), "1", True, 1e2),
    "markdown": ("# x", "", " ", "<b>x</b>", "<script>x</script>", "x\u0000", 7),
    "oid": ("urn:oid:1.2.3", "1.2.3", "urn:oid:1", "urn:oid:3.1", "urn:oid:1.02", "urn:oid:1.2.", ""),
    "positiveInt": (1, 0, -1, 1.5, 2**31 - 1, 2**31, "1"),
    "string": (*_TEXTS, "\u0001", "<b>x</b>", "a\r\nb", 7),
    "time": ("10:00:00", "10:00", "24:00:00", "10:00:60", "10:00:00.123", "10:00:00Z", "1:00:00", ""),
    "unsignedInt": (0, -1, 1.5, 2**31 - 1, 2**31, "1"),
    "uri": ("urn:x", "x", "http://a b", "http://example.org/é", "urn:uuid:x", "urn:oid:1.02", "", " ", "http://", f"{_EXAMPLE}|1", "HTTP://example.org"),
    "url": (_EXAMPLE, "x", "http://a b", "mailto:x@example.org", "", "urn:oid:1.2.3", "ftp://example.org/x"),
    "uuid": ("urn:uuid:c757873d-ec9a-4326-a141-556f43239520", "urn:uuid:C757873D-EC9A-4326-A141-556F43239520", "c757873d-ec9a-4326-a141-556f43239520", ""),
}
_UNITS = (
    {"value": 1, "system": "http://unitsofmeasure.org", "code": "mg"},
    {"value": 1, "system": "http://unitsofmeasure.org", "code": "mgs"},
    {"value": 1, "system": "http://unitsofmeasure.org", "code": "mg/dL{x}"},
    {"value": 1, "system": "http://unitsofmeasure.org"},
    {"value": 1, "unit": "furlong"},
    {"value": 1, "system": "unitsofmeasure.org", "code": "mg"},
    {"value": 1, "comparator": "<", "unit": "mg"},
    {"value": 1, "comparator": "=<", "unit": "mg"},
    {"value": "1", "unit": "mg"},
    {"unit": "mg"},
)


class Again(str):
    """A member's name that JSON writes like another one, but that is a different key for Python: so an object can have a member twice."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        """True for itself only."""
        return self is other

    def __hash__(self) -> int:
        """By identity."""
        return id(self)


def typed(resource: dict[str, Any]) -> Iterator[tuple[Spot, Field]]:
    """Every member of a resource with the R4 field that it is."""
    yield from _typed(resource, str(resource.get("resourceType")), str(resource.get("resourceType", "?")))


def _typed(value: Any, kind: str, path: str) -> Iterator[tuple[Spot, Field]]:
    of = definitions().types.get(kind)
    if of is None or not isinstance(value, dict):
        return
    for key, member in value.items():
        found = of.fields.get(key)
        if found is None:
            continue
        yield Spot(value, key, f"{path}.{key}"), found
        for number, one in enumerate(member if isinstance(member, list) else [member]):
            inner = str(one.get("resourceType")) if found.kind == "resource" and isinstance(one, dict) else found.type
            yield from _typed(one, inner, f"{path}.{key}[{number}]" if isinstance(member, list) else f"{path}.{key}")


def _one(dice: random.Random, found: list[tuple[Spot, Field]]) -> tuple[Spot, Field] | None:
    """One of them; each type has the same chance, because most are strings."""
    kinds = sorted({field.type for _, field in found})
    if not kinds:
        return None
    kind = dice.choice(kinds)
    return dice.choice([pair for pair in found if pair[1].type == kind])


def valued(dice: random.Random, resource: dict[str, Any]) -> str | None:
    """Another value for a primitive, right or wrong."""
    pair = _one(dice, [one for one in typed(resource) if one[1].kind == "primitive" and one[1].type in VALUES])
    if pair is None:
        return None
    spot, field = pair
    value = dice.choice(VALUES[field.type])
    return spot.put([value] if field.many else value)


def beside(dice: random.Random, resource: dict[str, Any]) -> str | None:
    """The extension part of a primitive (_field), right or wrong."""
    pair = _one(dice, [one for one in typed(resource) if one[1].kind == "primitive" and one[1].name != "id"])
    if pair is None:
        return None
    spot, field = pair
    key = f"_{spot.key}"
    if field.many and isinstance(spot.value, list):
        size = len(spot.value)
        lists: list[object] = [[_NOTED] * size, [_NOTED] * (size + 1), [None] * size, [_NOTED, None], [], _NOTED, [{}], ["x"], [{"id": "x"}] * size]
        spot.parent[key] = copy.deepcopy(dice.choice(lists))
        if dice.random() < 0.3:
            spot.parent[spot.key] = [None] * size
    else:
        single: list[object] = [_NOTED, {}, "x", None, [_NOTED], {"id": "x"}, {"value": "x"}, {"extension": []}, {"extension": [{"url": _EXAMPLE}]}]
        spot.parent[key] = copy.deepcopy(dice.choice(single))
        if dice.random() < 0.4:
            del spot.parent[spot.key]
    return f"{spot.path.rpartition('.')[0]}.{key}"


@of_a_spot()
def emptied(dice: random.Random, spot: Spot) -> str | None:
    """Null or an empty value, anywhere."""
    if isinstance(spot.value, list):
        return spot.put(dice.choice([[], [None], [*spot.value, None], [None, *spot.value], [""], [{}], [*spot.value, {}], [[]]]))
    return spot.put(dice.choice([None, "", {}, [], [None], {"id": "x"}, {"extension": []}]))


@of_a_spot()
def twice(dice: random.Random, spot: Spot) -> str | None:
    """A member twice in one object, with the same value or another."""
    spot.parent[Again(spot.key)] = copy.deepcopy(spot.value) if dice.random() < 0.5 else "x"
    return spot.path


def aimed(dice: random.Random, resource: dict[str, Any]) -> str | None:
    """A reference to a contained resource of a type that it may or may not point to, or with a type beside it."""
    found = [pair for pair in typed(resource) if pair[1].type == "Reference" and isinstance(pair[0].value, dict | list)]
    if not found or "contained" not in definitions().types[str(resource["resourceType"])].fields or not isinstance(resource.get("contained", []), list):
        return None
    spot, field = dice.choice(found)
    kind = dice.choice(["Patient", "Organization", "Practitioner", "Location", "Medication", "Device", *field.targets])
    if kind not in definitions().resources:
        return None
    needed = {"Observation": {"status": "final", "code": {"text": "x"}}, "Encounter": {"status": "planned", "class": {"code": "AMB"}}}.get(kind, {})
    resource["contained"] = [*resource.get("contained", []), {"resourceType": kind, "id": "aim"} | ({"name": "x"} if kind == "Organization" else {}) | needed]
    value: dict[str, Any] = {"reference": "#aim"}
    if dice.random() < 0.3:
        value["type"] = dice.choice([kind, "Group", "Nonsense", f"http://hl7.org/fhir/StructureDefinition/{kind}"])
    return spot.put([value] if field.many else value)


def concept(dice: random.Random, resource: dict[str, Any]) -> str | None:
    """A CodeableConcept or Coding whose codes are bound, or of a system that is known: other codes, systems, texts, and none."""
    found = [pair for pair in typed(resource) if pair[1].type in {"CodeableConcept", "Coding"} and isinstance(pair[0].value, dict | list)]
    bound = [pair for pair in found if pair[1].binding]
    if not found:
        return None
    spot, field = dice.choice(bound if bound and dice.random() < 0.6 else found)
    first = spot.value[0] if isinstance(spot.value, list) and spot.value else spot.value
    coding = first if field.type == "Coding" else next(iter(first.get("coding") or [{}]), {}) if isinstance(first, dict) else {}
    changed: list[dict[str, Any]] = [
        {"code": "unheard-of"},
        {"system": _EXAMPLE},
        {"system": None},
        {"code": None},
        {"display": "something else"},
        {"userSelected": "yes"},
        {"version": "9"},
        {"code": str(coding.get("code")).upper() + "x"},
        {"system": "http://hl7.org/fhir/ValueSet/languages"},
        {"system": "x"},
        {"system": "urn:oid:1.2.3.4"},
    ]
    if not isinstance(coding, dict):
        return None
    made = {key: value for key, value in (coding | dice.choice(changed)).items() if value is not None}
    if field.type == "Coding":
        value: dict[str, Any] = made
    else:
        value = dice.choice([{"coding": [made]}, {"coding": [made], "text": "x"}, {"coding": [made, copy.deepcopy(coding)]}, {"text": "x"}, {"coding": []}])
    return spot.put([value] if field.many else value)


def measured(dice: random.Random, resource: dict[str, Any]) -> str | None:
    """A Quantity with another unit."""
    found = [pair for pair in typed(resource) if pair[1].type == "Quantity"]
    if not found:
        return None
    spot, field = dice.choice(found)
    value = dict(dice.choice(_UNITS))
    return spot.put([value] if field.many else value)
