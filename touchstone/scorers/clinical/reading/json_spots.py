"""Places of FHIR paths in JSON text.

Only the wanted members are walked, and all others are skipped by the C scanner of `json`, so that a document of 5 MB takes a fraction of a second.
A resource of a Bundle is named by its type and its number among those of its type (`Observation[2]`), and the only Patient without a number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from touchstone.scorers.clinical.formats.fhir.tables import element_names
from touchstone.scorers.clinical.reading.spots import UNKNOWN, Spot, Step, steps_of, unknown_name

_BLANKS: Final = re.compile(r"[ \t\r\n]*")
#: Whole strings, so that a comment's signs inside them do not count.
_COMMENT: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|//[^\n]*|/\*.*?\*/', re.DOTALL)
#: The scanner without bounds on numbers: they are skipped, not used.
_DECODER: Final[Any] = json.JSONDecoder(strict=False, parse_int=str, parse_float=str)
_LINE: Final = re.compile(r"Line\[(\d+)\](?:\.|$)")


@dataclass(slots=True)
class _Wanted:
    """What is wanted at one place: paths that end here, and what is wanted below. `resources`: of a Bundle, by type and number."""

    ends: list[str] = field(default_factory=list)
    members: dict[str, _Wanted] = field(default_factory=dict)
    items: dict[int, _Wanted] = field(default_factory=dict)
    resources: dict[tuple[str, int], _Wanted] = field(default_factory=dict)

    def everything(self) -> Iterable[str]:
        """Every path that ends here or below."""
        yield from self.ends
        for inner in (*self.members.values(), *self.items.values(), *self.resources.values()):
            yield from inner.everything()

    def add(self, steps: list[Step], path: str, *, of_bundle: bool) -> None:
        """Want a path. `of_bundle`: a name with a capital is a resource of a Bundle, not a member."""
        here = self
        for name, indices in steps:
            if of_bundle and name[:1].isupper():
                here = here.resources.setdefault((name, indices[0] if indices else 0), _Wanted())
                continue
            if name == "ofType":  # value.ofType(Quantity): any type of the choice
                continue
            here = here.members.setdefault(name, _Wanted())
            for index in indices:
                here = here.items.setdefault(index, _Wanted())
        here.ends.append(path)


def json_spots(text: str, paths: Iterable[str]) -> dict[str, Spot | None]:
    """The place of each path in a document of FHIR JSON or NDJSON. None where the path is about no one place, or the text cannot be read up to it."""
    found: dict[str, Spot | None] = dict.fromkeys(paths)
    by_line: dict[int, list[tuple[str, list[Step]]]] = {}
    for path in found:
        line = _LINE.match(path)
        steps, _ = steps_of(path[line.end() :] if line is not None else path)
        by_line.setdefault(int(line[1]) if line is not None else 0, []).append((path, steps))
    for number, wanted in by_line.items():
        begin = _line_start(text, number)
        if begin is not None:
            _in_document(text, begin, wanted, found)
    return found


def _line_start(text: str, number: int) -> int | None:
    """Where a line of NDJSON begins; 0 and 1 are the beginning of the text."""
    at = 0
    for _ in range(number - 1):
        at = text.find("\n", at) + 1
        if at == 0:
            return None
    return at


def _in_document(text: str, begin: int, wanted: list[tuple[str, list[Step]]], found: dict[str, Spot | None]) -> None:
    name = _resource_type(text, begin)
    root = _Wanted()
    for path, steps in wanted:
        first = steps[0] if steps else Step("", ())
        if first.name == name or not first.name[:1].isupper() or (first.name == "Resource" and name != "Bundle"):
            root.add(steps[1:] if first.name[:1].isupper() else steps, path, of_bundle=True)
        elif name == "Bundle" and (first.indices or first.name == "Patient"):
            root.add(steps, path, of_bundle=True)
        # Else the path names a type without a number: it is about all resources of that type, and so about no one place.
    for bare in (text, None):
        walk = _Walk(_without_comments(text) if bare is None else bare, found)
        try:
            at = walk.blanks(begin)
            walk.value(root, at, Spot(at, at + 1))
        except (StopIteration, ValueError, RecursionError, IndexError):
            continue
        return


def _without_comments(text: str) -> str:
    """The text with blanks in place of comments."""
    return _COMMENT.sub(lambda match: match[0] if match[0][0] == '"' else re.sub(r"[^\n]", " ", match[0]), text)


def _resource_type(text: str, begin: int) -> str:
    """The type of the resource that begins there, found by skipping its other members; empty if it has none."""
    found: dict[str, Spot | None] = {}
    wanted = _Wanted()
    wanted.members["resourceType"] = _Wanted(["type"])
    for source in (text, None):
        walk = _Walk(_without_comments(text) if source is None else source, found)
        try:
            at = walk.blanks(begin)
            walk.value(wanted, at, Spot(at, at + 1))
        except (StopIteration, ValueError, RecursionError, IndexError):
            pass
        spot = found.get("type")
        if spot is not None and spot.is_exact:
            return text[spot.start : spot.end].rpartition('"')[0].rpartition('"')[2]
    return ""


class _Walk:
    """One walk over a text. Raises what the scanner raises where the text is not JSON; what was found before stays."""

    def __init__(self, text: str, found: dict[str, Spot | None]) -> None:
        self._text = text
        self._found = found
        self._matched: set[int] = set()
        self._scan = _DECODER.scan_once

    def blanks(self, at: int) -> int:
        """The place of the next character that is no blank."""
        found = _BLANKS.match(self._text, at)
        return found.end() if found is not None else at

    def value(self, wanted: _Wanted, at: int, spot: Spot) -> int:
        """Find what is wanted in the value that begins at a place; returns where it ends. `spot`: the place that stands for the value."""
        sign = self._text[at]
        if sign == "{":
            inside = wanted.items.get(0)
            if inside is not None:  # a list is expected, and this is one object
                wanted.members.update(inside.members)
                wanted.ends += inside.ends
            return self._object(wanted, at, spot)
        if sign == "[":
            return self._array(wanted, at, spot)
        _, end = self._scan(self._text, at)
        self._assign(wanted, spot._replace(end=end))
        return int(end)

    def _assign(self, wanted: _Wanted, spot: Spot) -> None:
        """The place of the paths that end here; those below are not in the document, and get it as their nearest one."""
        for path in wanted.everything():
            self._found[path] = spot._replace(is_exact=False)
        for path in wanted.ends:
            self._found[path] = spot

    def _object(self, wanted: _Wanted, at: int, spot: Spot) -> int:
        text = self._text
        self._assign(wanted, spot)
        seen: set[str] = set()
        unknown = 0
        at = self.blanks(at + 1)
        while text[at] != "}":
            key_at = at
            key, at = self._scan(text, at)
            key_end = at
            at = self.blanks(at)
            if text[at] != ":":
                raise ValueError("no colon")
            at = self.blanks(at + 1)
            inner, name = self._member(wanted, key)
            if name == UNKNOWN:
                unknown += 1
                name = unknown_name(unknown)
                inner = wanted.members.get(name)
            if key == "entry" and wanted.resources and text[at] == "[":
                seen.add(name)
                at = self._entries(wanted, at, inner)
            elif inner is not None:
                seen.add(name)
                # A resource is called by its type and number, not by the member that it stands in.
                at = self.value(inner, at, Spot(key_at, key_end, name=spot.name if name == "resource" and spot.name else name))
            else:
                _, at = self._scan(text, at)
            if key == "resourceType":  # it stands for the whole resource
                spot = Spot(key_at, at, name=spot.name)
            at = self.blanks(at)
            if text[at] == ",":
                at = self.blanks(at + 1)
            elif text[at] != "}":
                raise ValueError("no comma")
        for path in wanted.ends:
            self._found[path] = spot
        absent = [inner for name, inner in wanted.members.items() if name not in seen]
        absent += [inner for inner in wanted.resources.values() if id(inner) not in self._matched]
        for inner in absent:
            for path in inner.everything():
                self._found[path] = spot._replace(is_exact=False)
        return at + 1

    @staticmethod
    def _member(wanted: _Wanted, key: str) -> tuple[_Wanted | None, str]:
        """What is wanted of a member, and under which name: its own, or that of the choice that it is a type of (`value[x]`, `value`)."""
        if not wanted.members:
            return None, key
        inner = wanted.members.get(key)
        if inner is not None:
            return inner, key
        # Any name that is none of the standard's may be patient text.
        if UNKNOWN in wanted.members and key.removeprefix("_") not in element_names():
            return wanted.members[UNKNOWN], UNKNOWN
        for name in wanted.members:
            stem = name.removesuffix("[x]")
            if stem != name and key.startswith(stem) and key[len(stem) : len(stem) + 1].isupper():
                return wanted.members[name], name
        return None, key

    def _array(self, wanted: _Wanted, at: int, spot: Spot) -> int:
        text = self._text
        self._assign(wanted, spot)
        at = self.blanks(at + 1)
        index = 0
        while text[at] != "]":
            inner = wanted.items.get(index)
            if inner is None and index == 0 and wanted.members:  # a path without a number leads into the first
                inner = _Wanted([], wanted.members)
            at = self.blanks(self.value(inner, at, Spot(at, at + 1, name=f"{spot.name}[{index}]")) if inner is not None else self._scan(text, at)[1])
            index += 1
            if text[at] == ",":
                at = self.blanks(at + 1)
            elif text[at] != "]":
                raise ValueError("no comma")
        return at + 1

    def _entries(self, wanted: _Wanted, at: int, inner: _Wanted | None) -> int:
        """The entries of a Bundle: what is wanted of their resources by type and number, and of themselves."""
        text = self._text
        numbers: dict[str, int] = {}
        begin = at
        at = self.blanks(at + 1)
        index = 0
        while text[at] != "]":
            entry_at = at
            entry, at = self._scan(text, at)
            resource = entry.get("resource") if isinstance(entry, dict) else None
            name = resource.get("resourceType") if isinstance(resource, dict) else None
            if isinstance(name, str):
                number = numbers.get(name, 0)
                numbers[name] = number + 1
                below = wanted.resources.get((name, number))
                if below is not None:
                    self._matched.add(id(below))
                    self.value(_Wanted([], {"resource": below}), entry_at, Spot(entry_at, entry_at + 1, name=f"{name}[{number}]"))
            index += 1
            at = self.blanks(at)
            if text[at] == ",":
                at = self.blanks(at + 1)
            elif text[at] != "]":
                raise ValueError("no comma")
        if inner is not None:
            self.value(inner, begin, Spot(begin, begin + 1, name="entry"))
        return at + 1
