"""Profiles, extensions and code systems from packages, compiled once and shared between documents."""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path

from touchstone.scorers.clinical.checks.json_access import Json
from touchstone.scorers.clinical.formats.fhir.options import Options
from touchstone.scorers.clinical.formats.fhir.profiles.constraints import Profile, compile_profile, derive, extension_facts, is_base
from touchstone.scorers.clinical.formats.fhir.profiles.packages import KEPT_MAX, URL_CHARS_MAX, Packages, home
from touchstone.scorers.clinical.formats.fhir.profiles.pinning import pin
from touchstone.scorers.clinical.formats.fhir.profiles.pruning import prune
from touchstone.scorers.clinical.formats.fhir.profiles.value_sets import DEPTH_MAX, ValueSets, system_displays, system_facts
from touchstone.scorers.clinical.formats.fhir.tables import OWN_RULES, definitions
from touchstone.scorers.clinical.formats.memory import Memory


class Library:
    """Profiles, extensions, code systems and value sets from some packages.

    `profile`, `extension`: a profile, and what an extension's definition requires, by canonical URL. `system`: a code system's codes (None if its
    definition does not hold them all) and whether it is a supplement. `displays`: code → display and designations. None if no package has it.
    """

    def __init__(self, sources: tuple[Path, ...]) -> None:
        self.packages = Packages(sources)
        self.values = ValueSets(self.packages)
        self.profile = Memory(self._profile, KEPT_MAX, URL_CHARS_MAX).__getitem__
        self.extension = Memory(self._extension, KEPT_MAX, URL_CHARS_MAX).__getitem__
        self.system = Memory(self._system, KEPT_MAX, URL_CHARS_MAX).__getitem__
        self.displays = Memory(self._displays, KEPT_MAX, URL_CHARS_MAX).__getitem__
        self._base_keys = frozenset(rule.key for one in definitions().types.values() for rule in one.invariants) | OWN_RULES | {"ele-1", "ext-1"}

    def _profile(self, url: str) -> Profile | None:
        definition, source = self.packages.located("StructureDefinition", url)
        profile = None if definition is None else compile_profile(definition, self._base_keys)
        if profile is not None:
            profile.base = profile.base if is_base(profile.base) else self.packages.pinned(source, "StructureDefinition", profile.base)
            pin(profile.root, partial(self.packages.pinned, source))
            prune(profile.root, profile.type)
            derive(profile.root)
        return profile

    def _extension(self, url: str, depth: int = 0) -> Json | None:
        definition = self.packages.find("StructureDefinition", url)
        if definition is None or definition.get("type") != "Extension":
            return None
        facts, base = extension_facts(definition), str(definition.get("baseDefinition"))
        if "snapshot" in definition or is_base(base) or depth > DEPTH_MAX:
            return facts
        # A definition that states only differences adds to that which it is derived from.
        from_base = definitions().extensions.get(base) or self._extension(base, depth + 1)
        if from_base is not None:
            facts["parts"] = {name: facts["parts"].get(name, part) for name, part in (from_base["parts"] | facts["parts"]).items()}
            for name, part in from_base["parts"].items():
                facts["parts"][name] = [*facts["parts"][name][:2], facts["parts"][name][2] or part[2]]
            facts["values"] = from_base["values"] if facts["values"] is None else facts["values"]
        return facts

    def _system(self, url: str) -> tuple[frozenset[str] | None, bool] | None:
        definition = self.packages.find("CodeSystem", url)
        return None if definition is None else system_facts(definition)

    def _displays(self, url: str) -> dict[str, tuple[str, ...]] | None:
        definition = self.packages.find("CodeSystem", url)
        return None if definition is None else system_displays(definition)


@lru_cache(maxsize=16)
def library(packages: tuple[Path, ...], installed: bool) -> Library:
    """Return the library of some packages and, if wanted, of the installed ones."""
    return Library((*packages, *((home(),) if installed else ())))


def can_be_checked(url: str, options: Options) -> bool:
    """Return True if a profile's definition is at hand, or is one of R4's own types."""
    return is_base(url) or library(options.packages, options.installed_packages).profile(url) is not None
