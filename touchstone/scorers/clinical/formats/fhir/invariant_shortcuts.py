"""Python shortcuts for the invariants that real documents evaluate most: they recognise the common cases in which an invariant holds.

A test compares each with its FHIRPath expression.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from touchstone.scorers.clinical.formats.fhir.fhirpath import Undecided
from touchstone.scorers.clinical.formats.fhir.fhirpath.values import compare_times

#: (object, resource around it) → True: the invariant holds; False: its expression decides; None: it cannot be decided.
Shortcut = Callable[[Any, dict[str, Any]], bool | None]
_REQUESTS: Final = frozenset({"batch", "transaction", "history"})
_RESPONSES: Final = frozenset({"batch-response", "transaction-response", "history"})
#: Characters of a date and time without fraction and timezone, and of a date.
_TIME_CHARS: Final = 19
_DAY_CHARS: Final = 8


def _per_1(item: Any, _: dict[str, Any]) -> bool:
    start, end = item.get("start"), item.get("end")
    if not isinstance(start, str) or not isinstance(end, str):
        return True
    if len(start) > _TIME_CHARS and start[_TIME_CHARS:] == end[_TIME_CHARS:]:
        return start[:_TIME_CHARS] <= end[:_TIME_CHARS]  # same fraction and timezone: the texts order as the times do
    try:
        return compare_times(start, end) <= 0
    except Undecided:
        return False


def _entries_have(name: str, kinds: frozenset[str]) -> Shortcut:
    def shortcut(item: Any, resource: dict[str, Any]) -> bool | None:
        kind = resource.get("type")
        entries = item.get("entry")
        if not isinstance(kind, str) or not isinstance(entries, list):
            return None
        wanted = kind in kinds
        return all((one.get(name) is not None) == wanted for one in entries if isinstance(one, dict))

    return shortcut


def _bdl_2(item: Any, _: dict[str, Any]) -> bool:
    entries = item.get("entry")
    return isinstance(entries, list) and not any("search" in one or "_search" in one for one in entries if isinstance(one, dict))


def _no_error(item: Any, _: dict[str, Any]) -> bool:
    concept = item.get("verificationStatus")
    codings = concept.get("coding") if isinstance(concept, dict) else None
    return isinstance(codings, list) and all(isinstance(one, dict) and one.get("code") != "entered-in-error" and "_code" not in one for one in codings)


#: Invariants of R4's own types by key.
SHORTCUTS: Final[dict[str, Shortcut]] = {
    "ait-2": _no_error,
    "bdl-2": _bdl_2,
    "bdl-3": _entries_have("request", _REQUESTS),
    "bdl-4": _entries_have("response", _RESPONSES),
    "bdl-8": lambda item, _: not isinstance(url := item.get("fullUrl"), str) or "/_history/" not in url,
    "con-5": _no_error,
    "per-1": _per_1,
}
#: Invariants of profiles by expression, because their keys are not unique: vs-1.
SHORTCUTS_BY_EXPRESSION: Final[dict[str, Shortcut]] = {
    "($this as dateTime).toString().length() >= 8": lambda item, _: item.__class__ is str and len(item) >= _DAY_CHARS
}
