"""Seeded mutations of real FHIR resources: one thing is changed, and both validators are asked whether it still is a valid resource.

A mutation need not break anything: what remains may be valid, and both should then say so.
"""

import copy
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from touchstone.ops.lab.agreement.faults import FAULTS
from touchstone.ops.lab.agreement.invariants import Mutation, Spot, broken, of_a_spot

#: Resources above this many bytes are not mutated: one change in a large Bundle costs seconds and shows nothing more.
SOURCE_BYTES_MAX = 64 * 1024
_TRIES = 200
_DATE = re.compile(r"\d{4}-\d\d(-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?)?")
_CODE = re.compile(r"[a-z][a-z0-9-]{2,30}")
_CHOICE = re.compile(
    r"(value|effective|onset|abatement|deceased|multipleBirth|medication|occurrence|performed|timing|asNeeded|dose|rate|reported|serviced|product)([A-Z]\w+)"
)
#: Members whose value is a code of a required value set, in most resources that have them.
_CODED = frozenset(
    {"status", "use", "gender", "intent", "priority", "kind", "mode", "comparator", "linkType", "daysOfWeek", "durationUnit", "periodUnit", "rank"}
)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed resource. `source`: the name of the original; `kind`: of change; `where`: the path of the changed member."""

    source: str
    kind: str
    where: str
    resource: bytes


@of_a_spot()
def _removed(_: random.Random, spot: Spot) -> str | None:
    del spot.parent[spot.key]
    return spot.path


@of_a_spot(lambda one: not one.key.startswith("_"))
def _added(dice: random.Random, spot: Spot) -> str | None:
    name, value = dice.choice(
        [("flavour", "sour"), ("note2", []), ("display", "x"), ("language", "en"), ("active", True), ("comment", {"text": "x"}), ("value", 1)]
    )
    spot.parent[name] = value
    return spot.path.rpartition(".")[0] + "." + name


@of_a_spot(lambda one: len(one.key) > 3 and not one.key.startswith("_"))
def _renamed(dice: random.Random, spot: Spot) -> str | None:
    key = dice.choice([spot.key + "s", spot.key[:-1], spot.key.capitalize(), spot.key[0] + spot.key[2:]])
    spot.parent[key] = spot.parent.pop(spot.key)
    return spot.path


@of_a_spot(lambda one: not one.key.startswith("_"))
def _retyped(dice: random.Random, spot: Spot) -> str | None:
    value = spot.value
    others: list[object] = ["text", 7, 1.5, True, {"text": "x"}, None, ["text"], [[]]]
    if isinstance(value, bool | int | float):
        others = [str(value).lower(), [value], {"value": value}]
    elif isinstance(value, str):
        others = [7, True, {"value": value}, [value, value]]
    return spot.put(dice.choice(others))


@of_a_spot(lambda one: one.key in _CODED and isinstance(one.value, str) and _CODE.fullmatch(one.value) is not None)
def _coded(dice: random.Random, spot: Spot) -> str | None:
    value = str(spot.value)
    return spot.put(dice.choice([value.upper(), value + "x", "unheard-of", f" {value}", "", "active", "final", "male", "official", "order"]))


@of_a_spot(lambda one: isinstance(one.value, str) and _DATE.fullmatch(one.value) is not None)
def _dated(dice: random.Random, spot: Spot) -> str | None:
    value = str(spot.value)
    day = value[:10]
    days = ["2023-02-29", "2024-02-29", "2023-13-01", "2023-04-31", "0000-01-01", "yesterday", day, value[:4], value[:7], value.replace("-", ""), f"{value} "]
    times = ["T25:00:00Z", "T10:00:00", "T10:00:00Z", "T10:00Z", "T10:00:00+15:00", "T10:00:60Z", "T10:00:00.123456789Z", " 10:00:00Z"]
    changed = [*days, *(day + time for time in times)]
    return spot.put(dice.choice(changed))


@of_a_spot(lambda one: one.key == "reference" and isinstance(one.value, str))
def _referred(dice: random.Random, spot: Spot) -> str | None:
    value = str(spot.value)
    local = ["#nowhere", "#", "", "Medication/1", "Patient/1", "Nonsense/1", "Patient/with a space", "Patient?identifier=1"]
    absolute = ["http://fhir.invalid/Patient/1", "http://fhir.invalid/Location/1", "urn:uuid:not-a-uuid", "urn:oid:1.2.3"]
    altered = [value.lower(), value.replace("/", ""), f"{value}/_history/1", f"{value}/_history/", f"{value}?x=1"]
    changed = [*local, *absolute, *altered]
    return spot.put(dice.choice(changed))


@of_a_spot(lambda one: isinstance(one.value, list | dict) and not one.key.startswith("_"))
def _counted(dice: random.Random, spot: Spot) -> str | None:
    value = spot.value
    if isinstance(value, dict):
        return spot.put(dice.choice([[value], [value, copy.deepcopy(value)], {}, [{}]]))
    return spot.put(dice.choice([[], value[0] if value else {}, [*value, copy.deepcopy(value[0])] if value else [{}], [*value, {}], [None]]))


@of_a_spot(lambda one: _CHOICE.fullmatch(one.key) is not None)
def _chosen(dice: random.Random, spot: Spot) -> str | None:
    found = _CHOICE.fullmatch(spot.key)
    assert found is not None
    options: list[tuple[str, object]] = [("String", "x"), ("Boolean", True), ("Integer", 3), ("DateTime", "2020-01-01"), ("Reference", {"display": "x"})]
    options += [("CodeableConcept", {"text": "x"}), ("Quantity", {"value": 3}), ("Markdown", "x"), ("Address", {"text": "x"})]
    suffix, value = dice.choice(options)
    if dice.random() < 0.5:
        del spot.parent[spot.key]
    spot.parent[found.group(1) + suffix] = value
    return spot.path


@of_a_spot(lambda one: isinstance(one.value, str | int | float) and one.key != "div")
def _formed(dice: random.Random, spot: Spot) -> str | None:
    """Primitives of a wrong form: ids, URIs, numbers, strings."""
    value = spot.value
    if isinstance(value, bool):
        return spot.put(dice.choice(["true", 0, not value]))
    if isinstance(value, int | float):
        return spot.put(dice.choice([-value, value + 0.5, 0, 10**12, str(value)]))
    text = str(value)
    return spot.put(
        dice.choice(["", " ", text + " ", f" {text}", "a b", "x" * 70, text + "\t", text + "\u00e9", text.upper(), "urn:oid:1.02.3", "http://a b/c"])
    )


@of_a_spot(lambda one: isinstance(one.value, dict) and not one.key.startswith("_"))
def _extended(dice: random.Random, spot: Spot) -> str | None:
    url = "http://example.org/x"
    both = {"url": url, "valueString": "x", "extension": [{"url": "y", "valueString": "z"}]}
    extension = dice.choice(
        [both, {"url": url}, {"valueString": "x"}, {"url": url, "valueString": "x"}, {"url": url, "valueString": 1}, {"url": url, "valueText": "x"}]
    )
    spot.value["extension"] = [extension]
    return f"{spot.path}.extension"


KINDS: dict[str, Mutation] = {
    "removed": _removed,
    "added": _added,
    "renamed": _renamed,
    "retyped": _retyped,
    "code": _coded,
    "date": _dated,
    "reference": _referred,
    "cardinality": _counted,
    "choice": _chosen,
    "form": _formed,
    "extension": _extended,
    "invariant": broken,
    **FAULTS,
}


def resources_of(name: str, document: bytes) -> list[tuple[str, dict[str, Any]]]:
    """The resources of a document that are small enough to mutate: itself, and the entries of a Bundle, each by its own."""
    try:
        read = json.loads(document)
    except ValueError:
        return []
    if not isinstance(read, dict) or "resourceType" not in read:
        return []
    found = [(name, read)] if len(document) <= SOURCE_BYTES_MAX else []
    for number, entry in enumerate(read.get("entry") or [] if read["resourceType"] == "Bundle" else []):
        resource = entry.get("resource") if isinstance(entry, dict) else None
        if isinstance(resource, dict) and "resourceType" in resource and len(json.dumps(resource)) <= SOURCE_BYTES_MAX:
            found.append((f"{name}:entry[{number}]", resource))
    return found


def mutants(
    sources: Sequence[tuple[str, dict[str, Any]]], count: int, seed: int, usable: Callable[[str, bytes], bool] = lambda _name, _resource: True
) -> Iterator[Mutant]:
    """`count` changed resources, the kinds in turn, resource types with equal chances; the same seed and sources give the same ones.

    `usable`: True if a resource may be changed at all; gets its name and bytes. There are fewer mutants if nothing fits.
    """
    types: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for name, resource in sources:
        types.setdefault(str(resource["resourceType"]), []).append((name, resource))
    names, kinds = sorted(types), list(KINDS)
    for number in range(count if names else 0):
        kind = kinds[number % len(kinds)]
        dice = random.Random(f"{seed}:{number}")
        for _ in range(_TRIES):
            name, original = dice.choice(types[dice.choice(names)])
            if not usable(name, as_bytes(original)):
                continue
            resource = copy.deepcopy(original)
            where = KINDS[kind](dice, resource)
            if where is not None and resource != original:
                yield Mutant(name, kind, where, as_bytes(resource))
                break


def as_bytes(resource: dict[str, Any]) -> bytes:
    """A resource as JSON."""
    return json.dumps(resource, ensure_ascii=False).encode("utf-8", "surrogatepass")
