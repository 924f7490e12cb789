"""Removes from profiles the elements that narrow nothing: snapshots repeat the base type, which has been checked already."""

from __future__ import annotations

from touchstone.scorers.clinical.formats.fhir.profiles.constraints import BASE, Constraint
from touchstone.scorers.clinical.formats.fhir.tables import Field, Type, definitions


def prune(root: Constraint, type_name: str) -> None:
    """Remove, below the root of a profile, every element that adds nothing to the base type."""
    _prune(root, definitions().types.get(type_name))


def _prune(rule: Constraint, base: Type | None) -> None:
    for name, child in list(rule.children.items()):
        fields = _fields(base, name)
        inner = definitions().types.get(fields[0].type) if fields and len({one.type for one in fields}) == 1 else None
        for one in (child, *child.slices.values()):
            _prune(one, inner)
        if fields and _adds_nothing(child, fields):
            del rule.children[name]


def _fields(base: Type | None, name: str) -> list[Field]:
    return [one for one in base.fields.values() if one.element == name] if base is not None else []


def _adds_nothing(rule: Constraint, fields: list[Field]) -> bool:
    if rule.children or rule.slices or rule.invariants or rule.must_support or rule.fixed is not None or rule.pattern is not None:
        return False
    if rule.low is not None or rule.high is not None or rule.length is not None or rule.ceiling is not None:
        return False
    if (
        rule.size is not None
        or rule.languages
        or rule.sources
        or rule.additional
        or rule.in_one_repeat
        or rule.by_usage
        or rule.shortest is not None
        or rule.must_have_value
        or rule.alternatives
    ):
        return False
    first = fields[0]
    if rule.least > first.least or (rule.most is not None and (first.many or rule.most == 0)):
        return False
    if rule.binding is not None and rule.binding[0] in {"required", "extensible"} and first.binding != rule.binding[1].partition("|")[0]:
        return False
    return _same_types(rule, fields)


def _same_types(rule: Constraint, fields: list[Field]) -> bool:
    if any(profiles for _, profiles, _ in rule.types):
        return False
    allowed = {one.type for one in fields}
    if (len(fields) > 1 or fields[0].kind == "resource") and rule.types and not allowed <= {code for code, _, _ in rule.types}:
        return False
    targets = {target.removeprefix(BASE) for _, _, found in rule.types for target in found}
    base = {target for one in fields for target in one.targets}
    return not targets or base <= targets or "Resource" in targets
