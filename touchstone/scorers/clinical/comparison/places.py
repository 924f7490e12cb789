"""Places in FHIR documents, as the two validators write them, made comparable.

The official one writes `Bundle.entry[5].resource/*Observation/o1*/.value.ofType(Quantity).code`, Touchstone's `Observation[2].valueQuantity.code`: a
resource of a Bundle by its type and its number among those of its type, and without a number where it is the only Patient.
"""

import json
import re
from collections.abc import Collection

_ENTRY = re.compile(r"^Bundle\.entry\[(\d+)\]\.resource(?=\.|$)")
_NOTE = re.compile(r"/\*.*?\*/")
_TYPED = re.compile(r"\.ofType\((\w)(\w*)\)")


class Places:
    """Places in one document."""

    def __init__(self, document: bytes) -> None:
        self._entries: dict[int, str] = {}
        try:
            value = json.loads(document)
            entries = value["entry"] if value["resourceType"] == "Bundle" else []
            types = [str(entry["resource"]["resourceType"]) if isinstance(entry, dict) and "resource" in entry else "" for entry in entries]
        except (ValueError, KeyError, TypeError, RecursionError):
            return
        seen: dict[str, int] = {}
        for number, name in enumerate(types):
            index = seen.get(name, 0)
            seen[name] = index + 1
            self._entries[number] = "Patient" if name == "Patient" and types.count("Patient") == 1 else f"{name}[{index}]"

    def of_official(self, location: str) -> str:
        """An official place in Touchstone's notation."""
        place = _TYPED.sub(lambda found: found[1].upper() + found[2], _NOTE.sub("", location)).removeprefix("(document)")
        found = _ENTRY.match(place)
        if found is not None and int(found[1]) in self._entries:
            place = self._entries[int(found[1])] + place[found.end() :]
        return self.plain(place)

    @staticmethod
    def plain(place: str) -> str:
        """A place without parts that only one side writes."""
        return place.strip().strip(".")

    @staticmethod
    def near(place: str, others: Collection[str]) -> bool:
        """True if one of the others is the same place, its parent or its child: the two validators report a missing element at different ends."""
        return place in others or _parent(place) in others or any(_parent(other) == place for other in others)


def _parent(place: str) -> str:
    """Of `Patient.name[0].given` that is `Patient.name[0]`, of `Patient.name[0]` it is `Patient.name`."""
    return place.rpartition("[")[0] if place.endswith("]") else place.rpartition(".")[0]
