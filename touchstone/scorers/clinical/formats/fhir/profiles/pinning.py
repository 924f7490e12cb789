"""The versions that a package means by the canonical URLs in its profiles (R4, references.html#canonical: a URL without a version leaves them open)."""

from __future__ import annotations

from collections.abc import Callable

from touchstone.scorers.clinical.formats.fhir.profiles.constraints import Constraint, is_base


def pin(rule: Constraint, pinned: Callable[[str, str], str]) -> None:
    """Give the value sets and profiles named by a constraint, and by all below it, their versions. `pinned`: (kind, canonical) → canonical."""
    if rule.binding is not None:
        rule.binding = rule.binding[0], pinned("ValueSet", rule.binding[1])
    if rule.ceiling is not None:
        rule.ceiling = pinned("ValueSet", rule.ceiling)
    rule.additional = tuple(pinned("ValueSet", one) for one in rule.additional)
    rule.in_one_repeat = tuple(pinned("ValueSet", one) for one in rule.in_one_repeat)
    rule.by_usage = tuple(pinned("ValueSet", one) for one in rule.by_usage)
    rule.types = tuple((code, _profiles(profiles, pinned), _profiles(targets, pinned)) for code, profiles, targets in rule.types)
    for inner in (*rule.children.values(), *rule.slices.values()):
        pin(inner, pinned)


def _profiles(urls: tuple[str, ...], pinned: Callable[[str, str], str]) -> tuple[str, ...]:
    return tuple(one if is_base(one) else pinned("StructureDefinition", one) for one in urls)
