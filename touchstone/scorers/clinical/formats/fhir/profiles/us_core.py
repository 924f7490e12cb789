"""The invariants of US Core, known without its package and applied by the profile that a resource claims or must conform to.

An installed package defines what its version requires. These rules apply without one, and add what later versions require (minor, because the installed
version does not require it).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from touchstone.scorers.clinical.formats.fhir.tables import Invariant, compile_invariant

URL = "http://hl7.org/fhir/us/core/StructureDefinition/"
#: The newest version that the rules come from; a later one may have dropped some.
VERSION_KNOWN = (8, 0, 0)


@dataclass(frozen=True, slots=True)
class Rule:
    """One invariant. `profiles`: (resource type, canonical URL); the other fields: see us_core.toml."""

    key: str
    profiles: tuple[tuple[str, str], ...]
    invariant: Invariant
    at: str = ""
    where: str = ""
    since: tuple[int, ...] = ()
    until: tuple[int, ...] = VERSION_KNOWN

    def may_not_hold(self, canonical: str) -> bool:
        """Return True if a canonical URL names a version of US Core that is not known to state the rule."""
        claimed = _numbers(canonical.partition("|")[2])
        return bool(claimed) and (claimed < self.since[: len(claimed)] or claimed > self.until)


@lru_cache(maxsize=1)
def rules() -> tuple[Rule, ...]:
    """Return all rules, compiled."""
    table = tomllib.loads(Path(__file__).with_name("us_core.toml").read_text("utf-8"))
    return tuple(_rule(**facts) for facts in table["rules"])


def _rule(
    key: str, profiles: list[str], human: str, expression: str, severity: str = "error", at: str = "", where: str = "", since: str = "", until: str = ""
) -> Rule:
    stated = tuple((kind, URL + name) for kind, _, name in (one.partition("/") for one in profiles))
    invariant = compile_invariant(key, severity, human, expression)
    return Rule(key, stated, invariant, at, where, _numbers(since), _numbers(until) or VERSION_KNOWN)


def _numbers(version: str) -> tuple[int, ...]:
    numbers = re.match(r"\d{1,6}(\.\d{1,6}){0,3}", version, re.ASCII)
    return tuple(map(int, numbers[0].split("."))) if numbers is not None else ()


def profiles_stating(key: str) -> tuple[tuple[str, str], ...]:
    """Return (type, profile URL) of every profile that states an invariant in some version."""
    return tuple(profile for rule in rules() if rule.key == key for profile in rule.profiles)


@lru_cache(maxsize=1)
def _by_profile() -> dict[str, tuple[tuple[str, Rule], ...]]:
    found: dict[str, tuple[tuple[str, Rule], ...]] = {}
    for rule in rules():
        for kind, url in rule.profiles:
            found[url] = (*found.get(url, ()), (kind, rule))
    return found


def rules_of(canonical: str) -> Iterator[tuple[str, Rule]]:
    """Yield (resource type, rule) of the invariants that US Core states on a profile."""
    yield from _by_profile().get(canonical.partition("|")[0], ())
