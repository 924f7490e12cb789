"""Mutations that break an invariant, of a data type or of a resource; and the places in a resource that can be changed."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Spot:
    """One member of one object in a resource."""

    parent: dict[str, Any]
    key: str
    path: str

    @property
    def value(self) -> Any:
        """What is there."""
        return self.parent[self.key]

    def put(self, value: object) -> str:
        """Put something else there, and return the path."""
        self.parent[self.key] = value
        return self.path


def spots(resource: dict[str, Any], path: str = "") -> Iterator[Spot]:
    """Every member of every object below a resource, but for the narrative's markup and what names the type."""
    path = path or str(resource.get("resourceType", "?"))
    for key, value in resource.items():
        if key == "resourceType":
            continue
        yield Spot(resource, key, f"{path}.{key}")
        if isinstance(value, dict):
            yield from spots(value, f"{path}.{key}")
        elif isinstance(value, list):
            for number, one in enumerate(value):
                if isinstance(one, dict):
                    yield from spots(one, f"{path}.{key}[{number}]")


Mutation = Callable[[random.Random, dict[str, Any]], str | None]


def of_a_spot(fits: Callable[[Spot], bool] = lambda _: True) -> Callable[[Callable[[random.Random, Spot], str | None]], Mutation]:
    """Make a mutation of a function that changes one spot: one that fits is drawn; None if there is none."""

    def made(change: Callable[[random.Random, Spot], str | None]) -> Mutation:
        def mutate(dice: random.Random, resource: dict[str, Any]) -> str | None:
            found = [spot for spot in spots(resource) if fits(spot)]
            return change(dice, dice.choice(found)) if found else None

        return mutate

    return made


_PERIODS = frozenset({"period", "effectivePeriod", "performedPeriod", "validPeriod", "servicedPeriod", "billablePeriod"})
_BACKBONES = frozenset({"referenceRange", "contact", "telecom", "link", "participant", "component"})
_XHTML = 'xmlns="http://www.w3.org/1999/xhtml"'


def broken(dice: random.Random, resource: dict[str, Any]) -> str | None:
    """Break one invariant of those that the resource can break, and return the path of what was changed."""
    ways: list[Callable[[], str | None]] = []
    for spot in spots(resource):
        ways += [_putting(spot, value) for value in _breaking_values(spot)]
    ways += [_changing(way, resource) for way in _OF_RESOURCES]
    dice.shuffle(ways)
    return next((where for where in (way() for way in ways) if where is not None), None)


def _breaking_values(spot: Spot) -> list[Any]:
    """Values that break an invariant of the element."""
    value, key = spot.value, spot.key
    if key in _PERIODS and isinstance(value, dict):
        return [{"start": "2020-02-01", "end": "2020-01-01"}]  # per-1
    if key.endswith("Quantity") and isinstance(value, dict):
        return [{"value": 3, "unit": "mg", "code": "mg"}]  # qty-3
    if key == "telecom" and isinstance(value, list):
        return [[{"value": "x"}], [{"id": "x"}]]  # cpt-2, ele-1
    if key in _BACKBONES and isinstance(value, list):
        return [[{"id": "x"}]]  # ele-1, and required members
    if key == "div":
        return ["<div>x</div>", f"<div {_XHTML}> </div>", "x", f"<div {_XHTML}><script>x()</script></div>"]  # txt-1, txt-2
    if key == "text" and isinstance(value, dict) and "div" in value:
        return [{"status": "generated"}]
    return []


def _putting(spot: Spot, value: object) -> Callable[[], str]:
    return lambda: spot.put(value)


def _changing(way: Callable[[dict[str, Any]], str | None], resource: dict[str, Any]) -> Callable[[], str | None]:
    return lambda: way(resource)


def _absent_and_valued(resource: dict[str, Any]) -> str | None:
    """obs-6."""
    if resource.get("resourceType") != "Observation" or not any(key.startswith("value") for key in resource):
        return None
    resource["dataAbsentReason"] = {"text": "x"}
    return "Observation.dataAbsentReason"


def _contained_twice(resource: dict[str, Any]) -> str | None:
    """dom-2."""
    if resource.get("resourceType") in _NOT_DOMAIN:
        return None
    resource["contained"] = [{"resourceType": "Patient", "id": "p", "contained": [{"resourceType": "Patient", "id": "q"}]}]
    return f"{resource.get('resourceType')}.contained"


def _contained_alone(resource: dict[str, Any]) -> str | None:
    """dom-3: nothing refers to it."""
    if resource.get("resourceType") in _NOT_DOMAIN or not isinstance(resource.get("contained", []), list):
        return None
    resource.setdefault("contained", []).append({"resourceType": "Organization", "id": "lonely", "name": "x"})
    return f"{resource.get('resourceType')}.contained"


def _nameless(resource: dict[str, Any]) -> str | None:
    """org-1."""
    if resource.get("resourceType") != "Organization":
        return None
    for key in ("name", "identifier"):
        resource.pop(key, None)
    return "Organization"


def _entered_in_error(resource: dict[str, Any]) -> str | None:
    """con-5, ait-2."""
    if resource.get("resourceType") not in {"Condition", "AllergyIntolerance"}:
        return None
    kind = "http://terminology.hl7.org/CodeSystem/" + ("condition-ver-status" if resource["resourceType"] == "Condition" else "allergyintolerance-verification")
    resource["verificationStatus"] = {"coding": [{"system": kind, "code": "entered-in-error"}]}
    return f"{resource['resourceType']}.verificationStatus"


_NOT_DOMAIN = frozenset({"Bundle", "Parameters", "Binary"})
_OF_RESOURCES = (_absent_and_valued, _contained_twice, _contained_alone, _nameless, _entered_in_error)
