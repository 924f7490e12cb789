"""Binary operators of FHIRPath between two closures (FHIRPath 2.0, section 6)."""

from __future__ import annotations

from typing import Any

from touchstone.scorers.clinical.formats.fhir.fhirpath import functions
from touchstone.scorers.clinical.formats.fhir.fhirpath.environment import Compiled, Environment
from touchstone.scorers.clinical.formats.fhir.fhirpath.values import Undecided, compare, plain, same


def operation(operator: str, left: Compiled, right: Compiled) -> Compiled:
    """Return the closure of an operator between two closures."""
    if operator in {"and", "or", "xor", "implies"}:
        return _logic(operator, left, right)
    if operator in {"=", "!=", "~", "!~"}:
        return _equality(operator, left, right)
    if operator in {"<", ">", "<=", ">="}:
        return _order(operator, left, right)
    if operator == "|":
        return lambda item, env: functions.distinct([*left(item, env), *right(item, env)])
    if operator in {"in", "contains"}:
        if operator == "contains":
            left, right = right, left

        def member(item: Any, env: Environment) -> list[Any]:
            wanted = left(item, env)
            return [any(same(wanted[0], one) for one in right(item, env))] if wanted else []

        return member
    if operator == "&":
        return lambda item, env: ["".join(str(plain(one)) for one in [*left(item, env)[:1], *right(item, env)[:1]])]
    return lambda item, env: functions.arithmetic(operator, left(item, env), right(item, env))


def boolean(collection: list[Any]) -> bool | None:
    """Return a collection as a boolean: None if it is empty, True for an item that is not a boolean."""
    if not collection:
        return None
    first = plain(collection[0])
    return first if isinstance(first, bool) else True


def _logic(operator: str, left: Compiled, right: Compiled) -> Compiled:
    """Three-valued logic. An undecided side does not matter if the other side decides."""

    def side(compiled: Compiled, item: Any, env: Environment) -> tuple[bool | None, bool]:
        try:
            return boolean(compiled(item, env)), False
        except Undecided:
            return None, True

    def run(item: Any, env: Environment) -> list[Any]:
        one, unsure = side(left, item, env)
        if operator == "and" and one is False:
            return [False]
        if (operator == "or" and one is True) or (operator == "implies" and one is False):
            return [True]
        two, unsure_too = side(right, item, env)
        if operator == "and" and two is False:
            return [False]
        if operator in {"or", "implies"} and two is True:
            return [True]
        if unsure or unsure_too:
            raise Undecided
        if one is None or two is None:
            return []
        return [{"and": one and two, "or": one or two, "xor": one is not two, "implies": two or not one}[operator]]

    return run


def _equality(operator: str, left: Compiled, right: Compiled) -> Compiled:
    equal = operator in {"=", "~"}

    def run(item: Any, env: Environment) -> list[Any]:
        first, second = left(item, env), right(item, env)
        if not first or not second:
            return [equal == (not first and not second)] if operator in {"~", "!~"} else []
        alike = len(first) == len(second) and all(same(one, other) for one, other in zip(first, second, strict=True))
        return [alike == equal]

    return run


def _order(operator: str, left: Compiled, right: Compiled) -> Compiled:
    wanted = {"<": {-1}, ">": {1}, "<=": {-1, 0}, ">=": {0, 1}}[operator]

    def run(item: Any, env: Environment) -> list[Any]:
        first, second = left(item, env), right(item, env)
        return [compare(first[0], second[0]) in wanted] if len(first) == 1 and len(second) == 1 else []

    return run
