# ruff: noqa: ARG001, ARG005 - functions share one signature
"""FHIRPath functions over collections (FHIRPath 2.0 section 5; FHIR R4, FHIRPath supplement)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from touchstone.scorers.clinical.checks.json_access import objects
from touchstone.scorers.clinical.checks.patterns import PatternError, read_pattern, replaced
from touchstone.scorers.clinical.formats.fhir.fhirpath.syntax import FhirPathError
from touchstone.scorers.clinical.formats.fhir.fhirpath.values import (
    DESCENDANTS_MAX,
    Undecided,
    all_children,
    children,
    descendants,
    plain,
    same,
)

T = TypeVar("T")

#: Longer texts are not matched: even in linear time, a large pattern takes a microsecond for a character and more.
MATCHED_CHARS_MAX = 4_000
#: Pairs of items that one set operation may compare.
PAIRS_MAX = 2_000
_CLASS = re.compile(r"\\([/\-'\"@])")


def _matching(text: str, pattern: str, *, anywhere: bool) -> bool:
    """True if a text has the form of a pattern, or with `anywhere` a part of it."""
    if len(text) > MATCHED_CHARS_MAX:
        raise Undecided
    return _decided(lambda: read_pattern(_plain_pattern(pattern), anywhere=anywhere, dot_all=True)(text))


def _plain_pattern(pattern: str) -> str:
    """A pattern without escapes of characters that need none."""
    return _CLASS.sub(lambda m: "\\-" if m[1] == "-" else m[1], pattern)


def _decided(ask: Callable[[], T | None]) -> T:
    """What a pattern answers. Raises Undecided for what cannot be tried in bounded time, FhirPathError for a pattern that cannot be read."""
    try:
        found = ask()
    except PatternError as error:
        if error.is_readable:
            raise Undecided from None
        raise FhirPathError("a pattern that cannot be read") from None
    if found is None:
        raise Undecided
    return found


def has_type(item: Any, wanted: str) -> bool:
    """Return True if an item has the form of a type; Undecided if the form is ambiguous."""
    value = plain(item)
    name = wanted[0].lower() + wanted[1:]
    if isinstance(value, dict):
        if "resourceType" in value:
            return bool(value["resourceType"] == wanted) or wanted in {"Resource", "DomainResource"}
        if wanted[0].islower() or wanted == "DateTime":
            return False
        raise Undecided
    if isinstance(value, bool):
        return name == "boolean"
    if isinstance(value, int | float):
        return name in {"integer", "decimal", "positiveInt", "unsignedInt"} and (name == "decimal" or isinstance(value, int))
    return name not in {"boolean", "integer", "decimal"}


def distinct(items: list[Any]) -> list[Any]:
    """Return items without repetitions, in their order."""
    if all(isinstance(plain(item), str) for item in items):
        return list({plain(item): item for item in reversed(items)}.values())[::-1]
    if len(items) > 2_000:
        raise Undecided
    found: list[Any] = []
    for item in items:
        if not any(same(item, other) for other in found):
            found.append(item)
    return found


def _among(item: Any, others: list[Any], count: int) -> bool:
    """True if an item is among others; Undecided if `count` such questions would take too long."""
    if count * len(others) > PAIRS_MAX:
        raise Undecided
    return any(same(item, other) for other in others)


def repeat(items: list[Any], step: Callable[[Any], list[Any]]) -> list[Any]:
    """Return everything that a step reaches from some items; bounded."""
    found: list[Any] = []
    while items := [reached for item in items for reached in step(item)]:
        found.extend(items)
        if len(found) > DESCENDANTS_MAX:
            raise Undecided
    return found


def resolve(items: list[Any], find: Callable[[Any, str], Any] | None) -> list[Any]:
    """Return the targets of references; Undecided if one is outside the document."""
    found = []
    for item in items:
        value = plain(item)
        reference = value.get("reference") if isinstance(value, dict) else value
        target = find(value, reference) if find is not None and isinstance(reference, str) else None
        if target is None:
            raise Undecided
        found.append(target)
    return found


def member_of(items: list[Any], asked: list[Any], member: Callable[[Any, str], bool | None] | None) -> list[Any]:
    """Return whether a code, Coding or CodeableConcept is in a value set; Undecided if the set is not at hand."""
    if not items:
        return []
    url = plain(asked[0]) if len(asked) == 1 else None
    verdict = member(items[0], url) if member is not None and len(items) == 1 and isinstance(url, str) else None
    if verdict is None:
        raise Undecided
    return [verdict]


def arithmetic(operator: str, left: list[Any], right: list[Any]) -> list[Any]:
    """Return the result of + - * / div mod on two single values, or nothing."""
    if len(left) != 1 or len(right) != 1:
        return []
    one, two = plain(left[0]), plain(right[0])
    if operator == "+" and isinstance(one, str) and isinstance(two, str):
        return [one + two]
    if isinstance(one, bool) or isinstance(two, bool) or not (isinstance(one, int | float) and isinstance(two, int | float)):
        raise Undecided
    if operator in {"/", "div", "mod"} and two == 0:
        return []
    results: dict[str, Callable[[], int | float]] = {
        "+": lambda: one + two,
        "-": lambda: one - two,
        "*": lambda: one * two,
        "/": lambda: one / two,
        "div": lambda: int(one / two),
        "mod": lambda: one % two,
    }
    return [results[operator]()]


def _text(items: list[Any]) -> str | None:
    value = plain(items[0]) if len(items) == 1 else None
    return value if isinstance(value, str) else None


def _on_text(act: Callable[..., Any]) -> Callable[..., list[Any]]:
    """A function of texts, with an empty result if one of them is absent."""

    def run(items: list[Any], *arguments: list[Any]) -> list[Any]:
        texts = [_text(items), *(_text(argument) for argument in arguments)]
        return [] if None in texts else [act(*texts)]

    return run


def _matches(text: str, pattern: str) -> bool:
    """The pattern fits some part of the text (FHIRPath 2.0, matches: "to match the whole, use ^ and $")."""
    return _matching(text, pattern, anywhere=True)


def _matches_whole(text: str, pattern: str) -> bool:
    return _matching(text, pattern, anywhere=False)


def _replace_matches(text: str, pattern: str, by: str) -> str:
    """Every part of a form replaced by a text. One that names groups of the pattern ($1) is not supported."""
    if "$" in by or "\\" in by:
        raise Undecided
    return _decided(lambda: replaced(_plain_pattern(pattern), by, text))


def _substring(items: list[Any], start: list[Any], length: list[Any] | None = None) -> list[Any]:
    text = _text(items)
    if text is None or not start or not 0 <= plain(start[0]) < max(len(text), 1):
        return []
    first = plain(start[0])
    return [text[first:] if not length else text[first : first + plain(length[0])]]


def _to_integer(items: list[Any]) -> list[Any]:
    value = plain(items[0]) if len(items) == 1 else None
    if isinstance(value, int):
        return [int(value)]
    return [int(value)] if isinstance(value, str) and re.fullmatch(r"[+-]?\d{1,18}", value) else []


def _to_string(items: list[Any]) -> list[Any]:
    value = plain(items[0]) if len(items) == 1 else None
    if isinstance(value, bool):
        return ["true" if value else "false"]
    return [str(value)] if isinstance(value, str | int | float) else []


def _not(items: list[Any]) -> list[Any]:
    # FHIRPath says empty, but official examples satisfy bdl-8 and similar rules only if the negation of nothing is true.
    if not items:
        return [True]
    value = plain(items[0])
    return [not value if isinstance(value, bool) else False]


def _undecided(items: list[Any], *arguments: list[Any]) -> list[Any]:
    if not items:
        return []
    raise Undecided


FUNCTIONS: dict[str, Callable[..., list[Any]]] = {
    "empty": lambda items: [not items],
    "exists": lambda items: [bool(items)],
    "not": _not,
    "count": lambda items: [len(items)],
    "first": lambda items: items[:1],
    "last": lambda items: items[-1:],
    "tail": lambda items: items[1:],
    "single": lambda items: items if len(items) == 1 else [],
    "skip": lambda items, count: items[plain(count[0]) :],
    "take": lambda items, count: items[: plain(count[0])],
    "distinct": distinct,
    "isDistinct": lambda items: [len(distinct(items)) == len(items)],
    "combine": lambda items, others: [*items, *others],
    "union": lambda items, others: distinct([*items, *others]),
    "intersect": lambda items, others: [item for item in distinct(items) if _among(item, others, len(items))],
    "exclude": lambda items, others: [item for item in items if not _among(item, others, len(items))],
    "subsetOf": lambda items, others: [all(_among(item, others, len(items)) for item in items)],
    "allTrue": lambda items: [all(plain(item) is True for item in items)],
    "anyTrue": lambda items: [any(plain(item) is True for item in items)],
    "children": lambda items: [child for item in items for child in all_children(item)],
    "descendants": descendants,
    "trace": lambda items, *arguments: items,
    "hasValue": lambda items: [len(items) == 1 and isinstance(plain(items[0]), str | int | float)],
    "extension": lambda items, url: [one for item in items for one in objects(children(item, "extension")) if url and one.get("url") == plain(url[0])],
    "startsWith": _on_text(lambda text, start: text.startswith(start)),
    "endsWith": _on_text(lambda text, end: text.endswith(end)),
    "contains": _on_text(lambda text, part: part in text),
    "indexOf": _on_text(lambda text, part: text.find(part)),
    "matches": _on_text(_matches),
    "matchesFull": _on_text(_matches_whole),
    "replaceMatches": _on_text(_replace_matches),
    "replace": _on_text(lambda text, part, by: text.replace(part, by)),
    "upper": _on_text(lambda text: text.upper()),
    "lower": _on_text(lambda text: text.lower()),
    "length": _on_text(len),
    "trim": _on_text(lambda text: text.strip()),
    "substring": _substring,
    "toInteger": _to_integer,
    "toString": _to_string,
    # htmlChecks: see the narrative rules. The others need a terminology service or another definition.
    "htmlChecks": lambda items: [True],
    "memberOf": _undecided,
    "conformsTo": _undecided,
    "elementDefinition": _undecided,
}
