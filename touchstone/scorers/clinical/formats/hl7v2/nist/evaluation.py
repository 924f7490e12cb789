"""Evaluates expressions on the tree of a message, with three answers: it holds, it does not, it could not be decided (None)."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, Final

from touchstone.scorers.clinical.formats.hl7v2.nist.expressions import Expression
from touchstone.scorers.clinical.formats.hl7v2.nist.model import GroupPlace
from touchstone.scorers.clinical.formats.hl7v2.nist.paths import Path, Range
from touchstone.scorers.clinical.formats.hl7v2.nist.tree import NULL, Node

#: Pairs of values that one comparison of two paths takes; more are not decided.
PAIRS_MAX: Final = 100_000
_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "EQ": operator.eq, "NE": operator.ne, "GT": operator.gt, "LT": operator.lt, "GE": operator.ge, "LE": operator.le,
}  # fmt: skip
_ABSENT: Final[dict[str, bool | None]] = {"PASS": True, "FAIL": False}
_TIME: Final = re.compile(r"(\d{4}(?:\d\d){0,5})(?:\.(\d{1,6}))?([+-]\d{4})?", re.ASCII)
_NUMBERS: Final = frozenset({"NM", "SI"})
_TIMES: Final = frozenset({"DT", "DTM", "TS"})
_ALL, _ONE = -1, -2


def both(answers: Iterable[bool | None]) -> bool | None:
    """True if all hold, False if one does not, None if that is not known."""
    unknown = False
    for answer in answers:
        if answer is False:
            return False
        unknown = unknown or answer is None
    return None if unknown else True


def either(answers: Iterable[bool | None]) -> bool | None:
    """True if one holds, False if none does, None if that is not known."""
    unknown = False
    for answer in answers:
        if answer:
            return True
        unknown = unknown or answer is None
    return None if unknown else False


def opposite(answer: bool | None) -> bool | None:
    """The answer to the negated question."""
    return None if answer is None else not answer


def enough(answers: list[bool | None], times: Range | None, *, at_least_once: bool) -> bool | None:
    """True if as many hold as are asked for: a range, at least one, or all."""
    if times is None:
        return either(answers) if at_least_once else both(answers)
    sure, open_ones = answers.count(True), answers.count(None)
    fits = {times.holds(number) for number in (sure, sure + open_ones)}
    return fits.pop() if len(fits) == 1 else None


def _moment(text: str) -> tuple[str, timedelta | None] | None:
    """The digits of a date or time, and its offset from UTC."""
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    digits = found[1] + (found[2] or "").ljust(6, "0") if found[2] else found[1]
    zone = found[3]
    offset = timedelta(hours=int(zone[:3]), minutes=int(zone[0] + zone[3:])) if zone else None
    return digits, offset


def _compared_times(left: str, right: str, how: str, *, is_truncated: bool) -> bool | None:
    """Compare two times; None if their precision or offsets leave it open."""
    first, second = _moment(left), _moment(right)
    if first is None or second is None:
        return None
    (one, one_zone), (two, two_zone) = first, second
    if (one_zone is None) != (two_zone is None):
        return None
    if one_zone is not None and two_zone is not None and one_zone != two_zone:
        if min(len(one), len(two)) < 12:
            return None
        try:
            one, two = (
                (datetime.strptime(digits[:14].ljust(14, "0"), "%Y%m%d%H%M%S").replace(tzinfo=UTC) - zone).strftime("%Y%m%d%H%M%S") + digits[14:]
                for digits, zone in ((one, one_zone), (two, two_zone))
            )
        except (ValueError, OverflowError):
            return None
    if len(one) != len(two):
        if not is_truncated:
            return (how == "NE") if how in {"EQ", "NE"} else None
        shortest = min(len(one), len(two))
        one, two = one[:shortest], two[:shortest]
    return _COMPARE[how](one, two)


def compared(left: str, right: str, how: str, kind: str, *, is_truncated: bool = False) -> bool | None:
    """Compare two texts as values of a data type: numbers and times by what they mean, other texts as they are."""
    if left == right:
        return how in {"EQ", "GE", "LE"}
    if kind in _NUMBERS:
        try:
            return _COMPARE[how](float(left), float(right))
        except ValueError:
            return None
    if kind in _TIMES:
        return _compared_times(left, right, how, is_truncated=is_truncated)
    return _COMPARE[how](left, right)


def place_at(node: Node, path: Path) -> str:
    """The path, as findings show it, of what a profile's path means from a node, whether it is there or not."""
    for steps in range(len(path), -1, -1):
        found = node.find(path[:steps])
        if found:
            deepest = found[0]
            break
    else:
        return node.path
    text, definition = deepest.path, deepest.definition
    is_segment = deepest.level < 0
    for position, _ in path[steps:]:
        if isinstance(definition, GroupPlace):
            child = next((one for one in definition.children if one.position == position), None)
            text = getattr(child, "segment", "") or getattr(child, "name", "") or text
            definition = child  # type: ignore[assignment]
            is_segment = True
        else:
            text, is_segment = f"{text}-{position}" if is_segment else f"{text}.{position}", False
    return text


class Evaluator:
    """Evaluates expressions. `member`: whether the codes of a node are in a value set, for the expression of that name."""

    def __init__(self, member: Callable[[Node, Expression], bool | None]) -> None:
        self._member = member

    def holds(self, expression: Expression, node: Node) -> bool | None:
        """True if an expression holds for a node, False if not, None if that cannot be decided."""
        kind, parts = expression.kind, expression.parts
        if kind in {"AND", "FORALL"}:
            return both(self.holds(part, node) for part in parts)
        if kind in {"OR", "EXIST"}:
            return either(self.holds(part, node) for part in parts)
        if kind == "NOT":
            return opposite(self.holds(parts[0], node))
        if kind == "IMPLY":
            first = self.holds(parts[0], node)
            return True if first is False else either((opposite(first), self.holds(parts[1], node)))
        if kind == "XOR":
            one, two = self.holds(parts[0], node), self.holds(parts[1], node)
            return None if one is None or two is None else one != two
        if kind == "Presence":
            return bool(node.find(expression.path))
        if kind in {"PathValue", "ComplexPathValue"}:
            return self._two_paths(expression, node)
        if kind in {"SetID", "IZSetID"}:
            return _numbered(expression, node)
        if kind == "unknown":
            return None
        found = node.find(expression.path)
        if kind == "isNULL":
            return bool(found) and all(one.text == NULL for one in found)
        if not found:
            return _ABSENT.get(expression.absent)
        return enough([self.holds_for(expression, one) for one in found], expression.times, at_least_once=expression.at_least_once)

    def holds_for(self, expression: Expression, node: Node) -> bool | None:
        """The test of a value for one of the elements at its path."""
        kind = expression.kind
        if kind == "SubContext":
            return self.holds(expression.parts[0], node)
        if kind == "ValueSet":
            return self._member(node, expression)
        if not node.is_simple:
            return None
        value = node.value
        if kind == "PlainText":
            return value.casefold() == expression.text.casefold() if expression.ignore_case else value == expression.text
        if kind in {"Format", "StringFormat"} and expression.matches is not None:
            return expression.matches(value)
        if kind == "StringList":
            return value.casefold() in {one.casefold() for one in expression.values} if expression.ignore_case else value in expression.values
        if kind == "NumberList":
            try:
                return str(float(value)) in expression.values
            except ValueError:
                return False
        how = "NM" if expression.is_number else getattr(node.definition, "name", "")
        return compared(value, expression.text, expression.operator, how, is_truncated=expression.is_truncated)

    def _two_paths(self, expression: Expression, node: Node) -> bool | None:
        """A comparison of the values at two paths."""
        left, right = node.find(expression.path), node.find(expression.second)
        if not left and not right:
            return _ABSENT.get(expression.absent)
        if not left or not right:
            return not (expression.kind == "PathValue" or expression.is_strict)
        if len(left) * len(right) > PAIRS_MAX:
            return None
        if expression.kind == "ComplexPathValue":
            return self._alike(expression, left, right)
        if not all(one.is_simple for one in (*left, *right)):
            return None
        first, second = expression.modes
        rows = [_counted([self._pair(expression, one, two) for two in right], second) for one in left]
        return _counted(rows, first)

    def _pair(self, expression: Expression, left: Node, right: Node) -> bool | None:
        kind = "" if expression.is_identical and expression.operator in {"EQ", "NE"} else getattr(left.definition, "name", "")
        return compared(left.value, right.value, expression.operator, kind, is_truncated=expression.is_truncated)

    def _alike(self, expression: Expression, left: list[Node], right: list[Node]) -> bool | None:
        """True if each repetition has the same parts as the one of the same number."""
        one, two = ({node.instance: node for node in nodes} for nodes in (left, right))
        if expression.is_strict and set(one) != set(two):
            return False
        return both(self._parts_alike(expression, one[number], two[number]) for number in sorted(set(one) & set(two)))

    def _parts_alike(self, expression: Expression, left: Node, right: Node) -> bool | None:
        if left.is_simple and right.is_simple:
            return self._pair(expression, left, right)
        if left.is_simple != right.is_simple:
            return None
        one, two = left.parts(), right.parts()
        if expression.is_strict and set(one) != set(two):
            return False
        return both(self._alike(expression, one[position], two[position]) for position in sorted(set(one) & set(two)))

    def blamed(self, expression: Expression, node: Node) -> str:
        """The path of the element that makes an expression fail, as far as that can be said."""
        kind, parts = expression.kind, expression.parts
        if kind == "IMPLY":
            return self.blamed(parts[1], node)
        if parts and kind != "SubContext":
            return self.blamed(next((part for part in parts if self.holds(part, node) is False), parts[0]), node)
        found = node.find(expression.path)
        at = next((one for one in found if kind not in {"Presence", "SetID", "IZSetID", "PathValue"} and self.holds_for(expression, one) is False), None)
        if at is None:
            return place_at(node, expression.path)
        return self.blamed(parts[0], at) if parts else at.path


def _counted(answers: list[bool | None], mode: int) -> bool | None:
    """True if as many hold as a mode asks for."""
    if mode == _ALL:
        return both(answers)
    return either(answers) if mode == _ONE else enough(answers, Range(mode, mode), at_least_once=False)


def _number(node: Node) -> int | None:
    text = node.value
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _numbered(expression: Expression, node: Node) -> bool | None:
    """SetID: the number is the repetition of its context. IZSetID: the numbers count up, in all parents or in each."""
    if expression.kind == "SetID":
        found = node.find(expression.path)
        return _number(found[0]) == node.instance if len(found) == 1 else None
    groups = [[_number(one) for one in parent.find(expression.second)] for parent in node.find(expression.path)]
    in_each = all(group == list(range(1, len(group) + 1)) for group in groups)
    whole = [0, *(number if number is not None else -1 for group in groups for number in group)]
    return in_each or all(after == before + 1 for before, after in pairwise(whole))
