"""Parsed JSON as FHIRPath sees it: children by element name, choice types, primitives with extensions, comparisons."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

#: Types at the end of a choice element's name (FHIR R4, datatypes: open type list, and the types of single choices).
CHOICE_TYPES = frozenset(
    "Base64Binary Boolean Canonical Code Date DateTime Decimal Id Instant Integer Markdown Oid PositiveInt String Time UnsignedInt Uri Url Uuid "  # noqa: SIM905
    "Address Age Annotation Attachment CodeableConcept Coding ContactPoint Count Distance Duration HumanName Identifier Money Period Quantity Range Ratio "
    "Reference SampledData Signature Timing ContactDetail Contributor DataRequirement Expression ParameterDefinition RelatedArtifact TriggerDefinition "
    "UsageContext Dosage Meta Population ProdCharacteristic ProductShelfLife MarketingStatus SubstanceAmount ElementDefinition Narrative Extension".split()
)
#: Elements whose names look like choices of a shorter one, and are elements of their own beside it: `response` and `responseCode`. R4 has no others.
NO_CHOICES = frozenset({
    "cTerminalModificationId", "conclusionCode", "dataPeriod", "formCode", "instantiatesCanonical", "instantiatesUri", "languageCode", "modifierExtension",
    "nTerminalModificationId", "organismId", "paymentDate", "preAuthRefPeriod", "reasonCode", "reasonReference", "responseCode", "sequenceAttachment",
    "sourceId", "statusDate", "subscriberId", "typeReference",
})  # fmt: skip
_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d(?:\.\d+)?))?(Z|[+-]\d\d:\d\d)?)?)?)?$")
_TIME = re.compile(r"\d\d:\d\d(:\d\d(\.\d+)?)?$")
#: Nodes that one descendants() may visit.
DESCENDANTS_MAX = 2_000_000


class Undecided(Exception):
    """The document does not decide the value: an ambiguous comparison, a resource outside, a question of terminology."""


@dataclass(frozen=True, slots=True)
class Extended:
    """A primitive with an id or extensions. `value` is None if it has only extensions."""

    value: Any
    beside: dict[str, Any]


def plain(item: Any) -> Any:
    """Return the primitive value of an item."""
    return item.value if item.__class__ is Extended else item


def children(item: Any, name: str) -> list[Any]:
    """Return the children of an item by element name; a choice element by its name without the type."""
    if item.__class__ is Extended:
        item = item.beside
    if item.__class__ is not dict:
        return []
    value = item.get(name)
    beside = item.get("_" + name)
    if beside is not None:
        return _paired(value, beside)
    if value is None:
        return _choice(item, name)
    return [one for one in value if one is not None] if value.__class__ is list else [value]


def _choice(item: dict[str, Any], name: str) -> list[Any]:
    size = len(name)
    for key in item:
        bare = key[1:] if key[0:1] == "_" else key
        if bare.startswith(name) and bare[size:] in CHOICE_TYPES and bare not in NO_CHOICES:
            return _paired(item.get(bare), item.get("_" + bare))
    return []


def _paired(value: Any, beside: Any) -> list[Any]:
    if beside is None:
        return [one for one in value if one is not None] if value.__class__ is list else [value]
    values = value if value.__class__ is list else [value]
    besides = beside if beside.__class__ is list else [beside]
    count = max(len(values), len(besides))
    pairs = zip([*values, *[None] * (count - len(values))], [*besides, *[None] * (count - len(besides))], strict=True)
    return [Extended(one, extra) if extra.__class__ is dict else one for one, extra in pairs if one is not None or extra.__class__ is dict]


def all_children(item: Any) -> list[Any]:
    """Return every child of an item."""
    if item.__class__ is Extended:
        item = item.beside
    if item.__class__ is not dict:
        return []
    found: list[Any] = []
    for key, value in item.items():
        if key == "resourceType":
            continue
        if key.startswith("_"):
            if key[1:] not in item:
                found.extend(_paired(None, value))
        else:
            found.extend(_paired(value, item.get("_" + key)))
    return found


def descendants(items: list[Any]) -> list[Any]:
    """Return everything below some items, outermost first; bounded."""
    found: list[Any] = []
    level = items
    while level:
        level = [child for item in level for child in all_children(item)]
        found.extend(level)
        if len(found) > DESCENDANTS_MAX:
            raise Undecided
    return found


def same(left: Any, right: Any) -> bool:
    """Return True if two items are equal: 1 = 1.0, but true is not 1."""
    left, right = plain(left), plain(right)
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def compare(left: Any, right: Any) -> int:
    """Return -1, 0 or 1. Raises Undecided if the two cannot be ordered."""
    left, right = plain(left), plain(right)
    if isinstance(left, dict) and isinstance(right, dict):
        return _compare_quantities(left, right)
    if _is_number(left) and _is_number(right):
        return int(left > right) - int(left < right)
    if isinstance(left, str) and isinstance(right, str):
        return compare_times(left, right)
    raise Undecided


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _compare_quantities(left: dict[str, Any], right: dict[str, Any]) -> int:
    if any(left.get(part) != right.get(part) for part in ("system", "code")) or ("code" not in left and left.get("unit") != right.get("unit")):
        raise Undecided
    if not (_is_number(left.get("value")) and _is_number(right.get("value"))):
        raise Undecided
    return compare(left["value"], right["value"])


def compare_times(left: str, right: str) -> int:
    """Order two dates, dateTimes or times. Undecided if they are equal only to the shared precision, or one has no timezone."""
    if _TIME.match(left) and _TIME.match(right):
        return int(left > right) - int(left < right)
    first, second = _DATE.match(left), _DATE.match(right)
    if first is None or second is None:
        return int(left > right) - int(left < right)
    if first[4] and second[4]:
        if bool(first[7]) != bool(second[7]):
            raise Undecided
        moments = _moment(first), _moment(second)
        return int(moments[0] > moments[1]) - int(moments[0] < moments[1])
    for place in range(1, 4):
        if first[place] is None or second[place] is None:
            if first[place] is None and second[place] is None:
                return 0
            raise Undecided
        if first[place] != second[place]:
            return 1 if first[place] > second[place] else -1
    if first[4] or second[4]:
        raise Undecided
    return 0


def _moment(match: re.Match[str]) -> float:
    """Seconds on a scale that grows with time. Other rules check that the date exists."""
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    shifted = year * 12 + month - 3
    days = 365 * (shifted // 12) + shifted // 48 - shifted // 1200 + shifted // 4800 + (153 * (shifted % 12) + 2) // 5 + day
    offset = 0
    if match[7] and match[7] != "Z":
        hours, minutes = int(match[7][1:3]), int(match[7][4:6])
        offset = (hours * 60 + minutes) * (-60 if match[7][0] == "-" else 60)
    return days * 86_400 + int(match[4]) * 3600 + int(match[5]) * 60 + float(match[6] or 0) - offset
