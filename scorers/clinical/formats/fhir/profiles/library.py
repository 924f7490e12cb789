"""Profiles, extensions and code systems out of packages, compiled once and shared between documents."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from scorers.clinical.formats.fhir.options import Options
from scorers.clinical.formats.fhir.profiles.packages import KEPT_MAX, Packages, home
from scorers.clinical.formats.fhir.profiles.pruning import prune
from scorers.clinical.formats.fhir.profiles.tree import Profile, compile_profile, extension_facts, is_base, settle
from scorers.clinical.formats.fhir.profiles.values import ValueSets, system_facts
from scorers.clinical.formats.fhir.tables import OWN_RULES, definitions


class Library:
    """Profiles, extensions and value sets out of some packages, compiled once; shared between documents."""

    def __init__(self, sources: tuple[Path, ...]) -> None:
        self.packages = Packages(sources)
        self.values = ValueSets(self.packages)
        self._profiles: dict[str, Profile | None] = {}
        self._extensions: dict[str, dict[str, Any] | None] = {}
        self._systems: dict[str, tuple[frozenset[str] | None, bool] | None] = {}
        self._base_keys = frozenset(rule.key for one in definitions().types.values() for rule in one.invariants) | OWN_RULES | {"ele-1", "ext-1"}

    def profile(self, url: str) -> Profile | None:
        """Return a profile by its canonical URL, or None where no package has it."""
        if url not in self._profiles:
            _bound(self._profiles)
            definition = self.packages.find("StructureDefinition", url)
            profile = None if definition is None else compile_profile(definition, self._base_keys)
            if profile is not None:
                prune(profile.root, profile.type)
                settle(profile.root)
            self._profiles[url] = profile
        return self._profiles[url]

    def extension(self, url: str) -> dict[str, Any] | None:
        """Return what an extension's definition says, or None where no package defines it."""
        if url not in self._extensions:
            _bound(self._extensions)
            definition = self.packages.find("StructureDefinition", url)
            one = definition is not None and definition.get("type") == "Extension"
            self._extensions[url] = extension_facts(definition) if definition is not None and one else None
        return self._extensions[url]

    def system(self, url: str) -> tuple[frozenset[str] | None, bool] | None:
        """Return the codes of a code system (None where its definition does not hold them all) and whether it is a supplement; None where it is unknown."""
        if url not in self._systems:
            _bound(self._systems)
            definition = self.packages.find("CodeSystem", url)
            self._systems[url] = None if definition is None else system_facts(definition)
        return self._systems[url]


def _bound(kept: dict[str, Any]) -> None:
    """Forget everything when documents have claimed too many different URLs."""
    if len(kept) >= KEPT_MAX:
        kept.clear()


@lru_cache(maxsize=16)
def library(packages: tuple[Path, ...], installed: bool) -> Library:
    """Return the library of some packages and, if wanted, of those installed in the usual place."""
    return Library((*packages, *((home(),) if installed else ())))


def can_be_checked(url: str, options: Options) -> bool:
    """Whether a profile's definition is at hand, or is one of R4's own types."""
    return is_base(url) or library(options.packages, options.installed_packages).profile(url) is not None
