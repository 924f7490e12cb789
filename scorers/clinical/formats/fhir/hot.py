"""The invariants that real documents evaluate most, written in Python; a test compares each with its FHIRPath expression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scorers.clinical.formats.fhir.fhirpath import Surroundings, Undecided
from scorers.clinical.formats.fhir.fhirpath.values import compare_times

_REQUESTS = frozenset({"batch", "transaction", "history"})
_RESPONSES = frozenset({"batch-response", "transaction-response", "history"})


def _bdl_8(item: dict[str, Any], _: Surroundings) -> bool:
    url = item.get("fullUrl")
    return not isinstance(url, str) or "/_history/" not in url


def _per_1(item: dict[str, Any], _: Surroundings) -> bool:
    start, end = item.get("start"), item.get("end")
    if not isinstance(start, str) or not isinstance(end, str):
        return True
    if start[19:] == end[19:] and len(start) > 19:
        return start[:19] <= end[:19]  # same fraction and timezone: the texts order as the times do
    return compare_times(start, end) <= 0


def _entries_have(name: str, kinds: frozenset[str]) -> Callable[[dict[str, Any], Surroundings], bool]:
    def rule(item: dict[str, Any], around: Surroundings) -> bool:
        kind = around.resource.get("type")
        entries = item.get("entry")
        if not isinstance(kind, str) or not isinstance(entries, list):
            raise Undecided
        wanted = kind in kinds
        return all((one.get(name) is not None) == wanted for one in entries if isinstance(one, dict))

    return rule


HOT: dict[str, Callable[[dict[str, Any], Surroundings], bool]] = {
    "bdl-3": _entries_have("request", _REQUESTS),
    "bdl-4": _entries_have("response", _RESPONSES),
    "bdl-8": _bdl_8,
    "per-1": _per_1,
    "sqty-1": lambda item, _: "comparator" not in item and "_comparator" not in item,
}
