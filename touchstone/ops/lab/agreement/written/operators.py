"""Operators that change one thing in a FHIR resource, and the places where each applies. Written apart from those of `agreement --mutations`.

An operator knows names that FHIR uses everywhere (`status`, `reference`, `system`) and no rule of the validator that it tests. Some keep a resource
valid on purpose: they show false alarms.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any, Final

Json = Any
Path = tuple[str | int, ...]
DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
TIME: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})")
RELATIVE: Final = re.compile(r"[A-Z][A-Za-z]+/[A-Za-z0-9.\-]+")
CHOICES: Final = re.compile(r"(value|effective|onset|performed|occurrence|deceased|multipleBirth)(?=[A-Z])")
VENDOR: Final = {"url": "https://vendor.example.org/fhir/mark", "valueString": "marked"}
#: Members of a resource that say what it is, not what it tells.
_FRAME: Final = frozenset({"resourceType", "id", "meta", "text", "contained", "extension", "modifierExtension", "implicitRules", "language"})


@dataclass(slots=True)
class Place:
    """A member of an object, or an entry of a list: where it is, what holds it, its key there, and its value."""

    path: Path
    holder: Json
    key: Any
    value: Json

    @property
    def name(self) -> str:
        """The name of the member that it is, or whose list it is in."""
        return next((step for step in reversed(self.path) if isinstance(step, str)), "")

    @property
    def is_member(self) -> bool:
        """True for a member of an object."""
        return isinstance(self.holder, dict)

    @property
    def is_content(self) -> bool:
        """True if it is no frame of the resource, narrative, contained resource or extension."""
        return not any(step in _FRAME or str(step).startswith("_") for step in self.path)


@dataclass(frozen=True, slots=True)
class Operator:
    """`fits` chooses its places, `change` changes the document at one. `keeps`: meant to leave a valid resource valid."""

    name: str
    keeps: bool
    fits: Callable[[Place], bool]
    change: Callable[[Place, Random], None]


OPERATORS: Final[dict[str, Operator]] = {}
Fits = Callable[[Place], bool]
Change = Callable[[Place, Random], None]


def operator(fits: Fits, *, keeps: bool = False) -> Callable[[Change], Change]:
    """Register a change under its function's name."""

    def registered(change: Change) -> Change:
        name = change.__name__.strip("_").replace("_", "-")
        OPERATORS[name] = Operator(name, keeps, fits, change)
        return change

    return registered


def places(document: Json, path: Path = ()) -> Iterator[Place]:
    """Every place of a document, the outermost first."""
    if isinstance(document, dict):
        inside: list[tuple[Any, Json]] = list(document.items())
    else:
        inside = list(enumerate(document)) if isinstance(document, list) else []
    for key, value in inside:
        yield Place((*path, key), document, key, value)
    for key, value in inside:
        yield from places(value, (*path, key))


def shown(path: Path) -> str:
    """A path as text: `name[0].family`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def changed(document: Json, name: str, where: str, seed: int) -> str:
    """The document as JSON text after one operator at one place, always the same for the same arguments. Raises `KeyError` for a place that it lacks."""
    copy = deepcopy(document)
    for place in places(copy):
        if shown(place.path) == where and OPERATORS[name].fits(place):
            OPERATORS[name].change(place, Random(f"{seed} {name} {where}"))
            return json.dumps(copy, ensure_ascii=False)
    raise KeyError(f"{name} at {where}")


def applicable(document: Json, name: str) -> list[str]:
    """The places of a document that an operator fits."""
    return [shown(place.path) for place in places(document) if OPERATORS[name].fits(place)]


def is_text(place: Place) -> bool:
    """A string that is content."""
    return isinstance(place.value, str) and place.is_content


def is_object(place: Place) -> bool:
    """An object that is content and no resource."""
    return isinstance(place.value, dict) and place.is_content and "resourceType" not in place.value


def at_top(place: Place) -> bool:
    """A member of the resource itself that tells something."""
    return len(place.path) == 1 and place.is_content


def named(*names: str) -> Fits:
    """A member of one of these names."""
    return lambda place: place.is_member and place.key in names and is_text(place)


def another(draw: Random, among: list[str], than: str) -> str:
    """One of these texts that is not `than`."""
    at = among.index(draw.choice(among))
    return among[at] if among[at] != than else among[(at + 1) % len(among)]


# Shape ----------------------------------------------------------------------------------------------------------------------------------------


@operator(at_top)
def _member_gone(place: Place, _: Random) -> None:
    del place.holder[place.key]


@operator(lambda p: at_top(p) and p.key == "status")
def _status_gone(place: Place, _: Random) -> None:
    del place.holder[place.key]


@operator(lambda p: is_object(p) and len(p.path) > 1 and p.is_member and len(p.value) > 1)
def _inner_member_gone(place: Place, draw: Random) -> None:
    del place.value[draw.choice(sorted(place.value))]


@operator(lambda p: p.is_content and p.is_member and isinstance(p.value, list) and len(p.value) == 1)
def _list_as_its_entry(place: Place, _: Random) -> None:
    place.holder[place.key] = place.value[0]


@operator(lambda p: is_object(p) and p.is_member)
def _object_as_list(place: Place, _: Random) -> None:
    place.holder[place.key] = [place.value]


@operator(lambda p: isinstance(p.value, bool) and p.is_content)
def _boolean_as_text(place: Place, _: Random) -> None:
    place.holder[place.key] = str(place.value).lower()


@operator(lambda p: isinstance(p.value, int | float) and not isinstance(p.value, bool) and p.is_content)
def _number_as_text(place: Place, _: Random) -> None:
    place.holder[place.key] = str(place.value)


@operator(is_text)
def _text_as_number(place: Place, draw: Random) -> None:
    place.holder[place.key] = draw.randrange(100)


@operator(is_text)
def _text_emptied(place: Place, _: Random) -> None:
    place.holder[place.key] = ""


@operator(lambda p: p.is_content and p.is_member)
def _value_null(place: Place, _: Random) -> None:
    place.holder[place.key] = None


@operator(is_object)
def _object_emptied(place: Place, _: Random) -> None:
    place.value.clear()


@operator(lambda p: p.is_content and p.is_member and len(p.key) > 3)
def _name_misspelt(place: Place, draw: Random) -> None:
    at = draw.randrange(1, len(place.key) - 1)
    del place.holder[place.key]
    place.holder[place.key[:at] + place.key[at + 1] + place.key[at] + place.key[at + 2 :]] = place.value


@operator(is_object)
def _member_invented(place: Place, _: Random) -> None:
    place.value["colour"] = "red"


@operator(lambda p: is_object(p) and p.is_member and isinstance(p.holder, dict) and len(p.value) > 0)
def _members_one_level_up(place: Place, _: Random) -> None:
    place.holder.update({key: value for key, value in place.value.items() if key not in place.holder})
    del place.holder[place.key]


@operator(lambda p: len(p.path) == 1 and p.key == "resourceType")
def _another_resource_type(place: Place, draw: Random) -> None:
    place.holder["resourceType"] = another(draw, ["Basic", "Flag", "Observation", "Patient", "Task", "Procedure"], place.value)


@operator(lambda p: len(p.path) == 1 and p.key == "resourceType", keeps=True)
def _members_in_reverse(place: Place, _: Random) -> None:
    members = list(place.holder.items())[::-1]
    place.holder.clear()
    place.holder.update(members)


@operator(lambda p: p.is_content and p.is_member and isinstance(p.value, list) and len(p.value) > 0)
def _entry_twice(place: Place, _: Random) -> None:
    place.value.append(deepcopy(place.value[-1]))
