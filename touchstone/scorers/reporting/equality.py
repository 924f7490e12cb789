"""Compares two ways of scoring the same cases (promise 6: the same answer everywhere)."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final

from touchstone.schemas.result import ScoreResult

#: Fields that depend only on where and when a case was scored.
OF_THE_RUN: Final = frozenset({"source", "scored_at", "duration_ms"})
#: Only producers declare a batch's size.
OF_THE_PRODUCER: Final = frozenset({"batch_size"})
#: Differences of one case that are listed.
PER_CASE_MAX: Final = 3
_NOTHING: Final = object()


def differences(live: Iterable[ScoreResult], files: Iterable[ScoreResult], tolerance: float = 0.0) -> list[str]:
    """The differences, a line each, by event id; empty if both results agree on the same events.

    `tolerance`: how far two numbers may differ. The order of the results does not matter; a case that only one side has is a difference.
    A line quotes no text of a case: it has the event id, the path of a field, and numbers or labels.
    """
    lines: list[str] = []
    one, other = _by_event(live, "live", lines), _by_event(files, "files", lines)
    for event_id in [*one, *(name for name in other if name not in one)]:
        if event_id not in other:
            lines.append(f"{event_id}: only live")
        elif event_id not in one:
            lines.append(f"{event_id}: only from files")
        else:
            found = [_words(path, left, right) for path, left, right in _differing("", _kept(one[event_id]), _kept(other[event_id]), tolerance)]
            rest = len(found) - PER_CASE_MAX
            if found:
                lines.append(f"{event_id}: {', '.join(found[:PER_CASE_MAX])}{f' and {rest} more' if rest > 0 else ''}")
    return lines


def _by_event(results: Iterable[ScoreResult], side: str, lines: list[str]) -> dict[str, ScoreResult]:
    """Event id → result. A repeated event must have an equal result."""
    found: dict[str, ScoreResult] = {}
    for result in results:
        first = found.setdefault(result.event_id, result)
        if first is not result and first.result_id != result.result_id:
            lines.append(f"{result.event_id}: scored in two ways ({side})")
    return found


def _kept(result: ScoreResult) -> Mapping[str, Any]:
    """A result as JSON types, without the fields that depend on the run."""
    document = result.model_dump(mode="json", exclude=set(OF_THE_RUN))
    for part in ("attributes", "correlation"):
        document[part] = {name: value for name, value in document[part].items() if name not in OF_THE_PRODUCER}
    return document


def _differing(path: str, one: Any, other: Any, tolerance: float) -> Iterable[tuple[str, Any, Any]]:
    """Path and both values of every difference between two documents."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for name in [*one, *(name for name in other if name not in one)]:
            yield from _differing(f"{path}.{name}" if path else str(name), one.get(name, _NOTHING), other.get(name, _NOTHING), tolerance)
    elif _is_list(one) and _is_list(other):
        for number, (left, right) in enumerate(zip_longest(one, other, fillvalue=_NOTHING)):
            yield from _differing(f"{path}.{number}", left, right, tolerance)
    elif _is_number(one) and _is_number(other):
        if abs(one - other) > tolerance:
            yield path, one, other
    elif one != other:
        yield path, one, other


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _words(path: str, one: Any, other: Any) -> str:
    """A difference as text: numbers and labels with their values, anything else by its path alone."""
    if path == "label" or (_is_number(one) and _is_number(other)):
        return f"{path} ({_shown(one)} live, {_shown(other)} from files)"
    return f"{path} (in one of them only)" if _NOTHING in (one, other) else path


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
