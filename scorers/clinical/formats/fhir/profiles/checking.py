"""Resources against profiles: cardinality, fixed and pattern values, bindings, types, invariants, slices, must-support."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from schemas.result import Severity
from scorers.clinical.formats.fhir.document import Document, Frame, Place
from scorers.clinical.formats.fhir.fhirpath import Surroundings
from scorers.clinical.formats.fhir.fhirpath.values import CHOICE_TYPES, Extended, Undecided, children, compare, plain
from scorers.clinical.formats.fhir.options import PROFILES_MAX, Options
from scorers.clinical.formats.fhir.profiles.packages import KEPT_MAX, Packages, home
from scorers.clinical.formats.fhir.profiles.pruning import prune
from scorers.clinical.formats.fhir.profiles.tree import Constraint, Profile, compile_profile, extension_facts
from scorers.clinical.formats.fhir.profiles.us_core import rules_of
from scorers.clinical.formats.fhir.profiles.values import ValueSets, system_facts
from scorers.clinical.formats.fhir.references import Resolver, relative_type, rest_parts
from scorers.clinical.formats.fhir.tables import OWN_RULES, Invariant, definitions
from scorers.clinical.report import Report

_BASE = "http://hl7.org/fhir/StructureDefinition/"
#: Profiles of profiles: base definitions, types' profiles.
NESTED_MAX = 12
_LEVELS: dict[str, Severity] = {"error": "major", "warning": "minor"}
_LOINC = "http://loinc.org"
#: A canonical URL of HL7's own.
_PUBLISHED = re.compile(r"http://hl7\.org/fhir/[A-Za-z0-9._/\-]{1,100}(\|[0-9A-Za-z.\-]{1,20})?")
#: R4, vital signs: an Observation with one of these codes SHALL conform to the profile.
VITAL_SIGNS = {
    "85353-1": "vitalspanel",
    "9279-1": "resprate",
    "8867-4": "heartrate",
    "2708-6": "oxygensat",
    "8310-5": "bodytemp",
    "8302-2": "bodyheight",
    "9843-4": "headcircum",
    "29463-7": "bodyweight",
    "39156-5": "bmi",
    "85354-9": "bp",
}


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
    return _is_base(url) or library(options.packages, options.installed_packages).profile(url) is not None


def check_profiles(document: Document, resolver: Resolver, definitions_at_hand: Library) -> None:
    """Check every resource against the profiles it claims, those the options ask for, and the vital signs profiles of R4."""
    checker = Checker(document, resolver, definitions_at_hand)
    asked = document.options.profiles
    for frame in document.frames:
        for url in dict.fromkeys((*_claimed(frame), *_vital(frame), *asked)):
            checker.check(frame, url, asked=url in asked)
    for value, place, frame in document.extensions:
        checker.check_extension(value, place, frame)
    checker.tell_must_support()


def _claimed(frame: Frame) -> list[str]:
    meta = frame.resource.get("meta")
    profiles = meta.get("profile") if isinstance(meta, dict) else None
    return [one for one in profiles[:PROFILES_MAX] if isinstance(one, str)] if isinstance(profiles, list) else []


def _vital(frame: Frame) -> list[str]:
    if frame.type != "Observation":
        return []
    codings = [one for code in children(frame.resource, "code") for one in children(code, "coding") if isinstance(one, dict)]
    codes = (one.get("code") for one in codings if one.get("system") == _LOINC)
    return [_BASE + VITAL_SIGNS[code] for code in codes if isinstance(code, str) and code in VITAL_SIGNS][:1]


class Checker:
    """Checks resources of one document against profiles."""

    def __init__(self, document: Document, resolver: Resolver, definitions_at_hand: Library) -> None:
        self._document = document
        self._resolver = resolver
        self._values = definitions_at_hand.values
        self.find = definitions_at_hand.profile
        self._supported: dict[int, tuple[str, str, bool]] = {}
        self._nested = 0
        self._extensions: set[tuple[int, str]] = set()
        self._frame: Frame
        self._profile: Profile

    def check(self, frame: Frame, url: str, asked: bool) -> None:
        """Check one resource against one profile, if it is at hand and for that type."""
        profile = self.find(url)
        self._frame = frame
        if profile is None:
            known = self._us_core(url, None)
            named = url.partition("|")[0].removeprefix(_BASE)
            if not asked and named in definitions().resources and named != frame.type:
                self._document.say("major", "fhir.profiles.type", frame.place, "the type it claims to be is another than its own")
            if not _is_base(url):
                self._document.skip(f"profile {self._claim(url)}", "no installed package has it" + ("; its invariants were checked" if known else ""))
            return
        if profile.type != frame.type:
            if not asked:
                self._document.say("major", "fhir.profiles.type", frame.place, "the profile it claims is for another type of resource")
            return
        self._document.report.fired("profiles")
        self._against(profile, frame.resource, frame.place, 0)
        self._us_core(url, profile)

    def check_extension(self, value: dict[str, Any], place: Place, frame: Frame) -> None:
        """Check an extension against its definition, where a package has it and no profile of what it stands in has asked for it."""
        url = value.get("url")
        profile = self.find(url) if isinstance(url, str) and ":" in url else None
        if profile is not None and profile.type == "Extension" and (id(value), profile.url) not in self._extensions:
            self._frame = frame
            self._document.report.fired("profiles")
            self._against(profile, value, place, 0)

    def _claim(self, url: str) -> str:
        """A claimed profile, as it may be shown: HL7's own by their URL, and those that the options name; any other may be anything."""
        named = url in self._document.options.profiles or _PUBLISHED.fullmatch(url) is not None
        return _shown(url) if named or self._document.context.quote else "of another publisher (its URL is shown with quote)"

    def _us_core(self, url: str, profile: Profile | None) -> bool:
        """Check what US Core states on a profile and the package at hand, if any, does not; return whether there is something."""
        known = False
        for rule, invariant in rules_of(url):
            known = True
            if rule.type != self._frame.type or (profile is not None and rule.key in profile.keys):
                continue
            self._document.report.fired("profiles")
            level: Severity = "minor" if profile is not None else _LEVELS[rule.severity]
            for value, place in self._at(rule.at):
                if not rule.where or (isinstance(value, dict) and value.get("system") == rule.where):
                    self._invariant(invariant, value, place, place[1].lstrip("_")[len(rule.at) :] or None if rule.at else None, level)
        return known

    def _at(self, path: str) -> list[tuple[Any, Place]]:
        """The occurrences of an element below the resource, with their places."""
        found: list[tuple[Any, Place]] = [(self._frame.resource, self._frame.place)]
        for name in path.split(".") if path else ():
            found = [inner for value, place in found if isinstance(value, dict) for inner in _occurrences(value, name, place)]
        return found

    def _against(self, profile: Profile, value: Any, place: Place, depth: int) -> None:
        """Check a value against a profile and, where that states only differences, against what it is based on."""
        outer = getattr(self, "_profile", None)
        self._profile = profile
        for key in profile.unread:
            self._document.skip(f"invariant {_shown(key)}", "its expression is not supported")
        self._constraint(profile.root, value, place, depth)
        if not profile.whole and depth < NESTED_MAX and not _is_base(profile.base):
            base = self.find(profile.base)
            if base is not None:
                self._against(base, value, place, depth + 1)
            else:
                self._document.skip(f"profile {_shown(profile.base)}", "no installed package has it")
        if outer is not None:
            self._profile = outer

    def _constraint(self, rule: Constraint, value: Any, place: Place, depth: int) -> None:
        """Check one occurrence of an element."""
        document = self._document
        document.report.fired("profiles")
        if rule.fixed is not None and not _equal(value, rule.fixed):
            document.say("major", "fhir.profiles.fixed", place, "not the value that the profile fixes")
        if rule.pattern is not None and not _fits(value, rule.pattern):
            document.say("major", "fhir.profiles.pattern", place, "does not hold the pattern that the profile demands")
        if rule.binding is not None:
            self._binding(rule.binding, value, place)
        if rule.ceiling is not None:
            self._binding(("required", rule.ceiling), value, place)
        if rule.low is not None or rule.high is not None or rule.length is not None:
            self._bounds(rule, value, place)
        for invariant in rule.invariants:
            self._invariant(invariant, value, place, _kind(rule, place))
        if rule.types:
            self._type(rule, value, place, depth)
        inner = value.beside if value.__class__ is Extended else value
        if not isinstance(inner, dict):
            inner = {}
            if not rule.children or not any(child.least for child in rule.children.values()):
                return
        for child in rule.children.values():
            self._child(child, inner, place, depth)

    def _bounds(self, rule: Constraint, value: Any, place: Place) -> None:
        held = plain(value)
        if rule.length is not None and isinstance(held, str) and len(held) > rule.length:
            self._document.say("major", "fhir.profiles.length", place, f"longer than the {rule.length} characters that the profile allows")
        for bound, wrong, told in ((rule.low, -1, "below the least"), (rule.high, 1, "above the greatest")):
            try:
                if bound is not None and held is not None and compare(held, bound) == wrong:
                    self._document.say("major", "fhir.profiles.range", place, f"{told} value that the profile allows")
            except Undecided:
                self._document.skip("bounds of a profile", "a value and its bound cannot be ordered")

    def _invariant(self, invariant: Invariant, value: Any, place: Place, kind: str | None = None, level: Severity | None = None) -> None:
        frame = self._frame
        around = Surroundings(frame.resource, frame.root.resource, value, self._resolve, kind)
        verdict = invariant.holds(value, around)
        if verdict is False:
            self._document.say(level or _LEVELS.get(invariant.severity, "minor"), f"fhir.invariants.{_shown(invariant.key)}", place, invariant.human)
        elif verdict is None:
            self._document.skip(f"invariant {_shown(invariant.key)}", "the document alone cannot tell")

    def _resolve(self, _: Any, reference: str) -> Any:
        target = self._resolver.anywhere(self._frame, reference)
        if target is not None:
            return target.resource
        parts = rest_parts(reference) or rest_parts("http://server/" + reference)
        return None if parts is None else {"resourceType": parts[1]}

    def _child(self, rule: Constraint, owner: dict[str, Any], place: Place, depth: int) -> None:
        name = rule.name.removesuffix("[x]")
        occurrences = list(_occurrences(owner, name, place))
        self._count(rule, len(occurrences), place, name)
        if rule.must_support:
            self._support(rule, place, bool(occurrences))
        for value, at in occurrences:
            self._constraint(rule, value, at, depth)
        if rule.slices:
            self._slices(rule, occurrences, place, depth)

    def _count(self, rule: Constraint, count: int, place: Place, name: str) -> None:
        at: Place = (place, name, None)
        if count < rule.least:
            self._document.say("major", "fhir.profiles.missing", at, f"the profile asks for at least {rule.least}; found {count}")
        elif rule.most is not None and count > rule.most:
            self._document.say("major", "fhir.profiles.too-many", at, f"the profile allows at most {rule.most}; found {count}")

    def _type(self, rule: Constraint, value: Any, place: Place, depth: int) -> None:
        """Check which type a choice has, what a reference points to, and profiles on the type."""
        key = place[1].lstrip("_")
        name = rule.name.removesuffix("[x]")
        if rule.name.endswith("[x]") and key != name:
            actual = key[len(name) :]
            if not any(_capital(code) == actual for code, _, _ in rule.types):
                allowed = ", ".join(code for code, _, _ in rule.types)
                self._document.say("major", "fhir.profiles.type", place, f"the profile does not allow this type here; allowed: {allowed}")
                return
        inner = value.beside if value.__class__ is Extended else value
        for code, profiles, targets in rule.types:
            if code == "Reference" and targets and isinstance(inner, dict):
                self._target(inner, targets, place)
            elif len(profiles) == 1 and len(rule.types) == 1 and isinstance(inner, dict) and depth < NESTED_MAX and not _is_base(profiles[0]):
                nested = self.find(profiles[0])
                if nested is not None:
                    self._against(nested, inner, place, depth + 1)
                    self._extensions.add((id(inner), nested.url))
                else:
                    self._document.skip(f"profile {_shown(profiles[0])}", "no installed package has it")

    def _target(self, value: dict[str, Any], targets: tuple[str, ...], place: Place) -> None:
        reference = value.get("reference")
        if not isinstance(reference, str):
            return
        found = self._resolver.anywhere(self._frame, reference)
        parts = rest_parts(reference) or rest_parts("http://server/" + reference)
        actual = found.type if found is not None else parts[1] if parts is not None else None
        allowed = set()
        for target in targets:
            tail = target.removeprefix(_BASE)
            profile = None if tail in definitions().types else self.find(target)
            if tail not in definitions().types and profile is None:
                return
            allowed.add(profile.type if profile is not None else tail)
        if actual is not None and "Resource" not in allowed and actual not in allowed:
            told = ", ".join(sorted(allowed))
            self._document.say("major", "fhir.profiles.target", place, f"the profile does not allow a reference to {actual}; allowed: {told}")
        elif found is not None and reference.startswith("#") and not any(self._conforms(found, target) for target in targets):
            self._document.say("major", "fhir.profiles.target", place, "the contained resource conforms to none of the profiles that the profile allows here")

    def _conforms(self, frame: Frame, url: str) -> bool:
        """Return whether a resource conforms to a profile; true also for a base type of its own, and where it cannot be told."""
        if _is_base(url):
            return url.partition("|")[0].removeprefix(_BASE) in {frame.type, "Resource", "DomainResource"}
        profile = self.find(url)
        if profile is None or self._nested >= NESTED_MAX:
            return True
        if profile.type != frame.type:
            return False
        document, outer, supported = self._document, self._frame, self._supported
        self._document, self._frame, self._supported = Document(Report(), document.context, document.options), frame, {}
        self._nested += 1
        try:
            self._against(profile, frame.resource, frame.place, self._nested)
            return not any(severity == "major" for _, severity in self._document.said)
        finally:
            self._document, self._frame, self._supported = document, outer, supported
            self._nested -= 1

    def _binding(self, binding: tuple[str, str], value: Any, place: Place) -> None:
        strength, value_set = binding
        if strength not in {"required", "extensible"}:
            return
        codes = list(_codes(value))
        verdicts = [self._values.holds(value_set, system, code) for system, code in codes]
        if True in verdicts:
            return
        if None in verdicts:
            self._document.skip(f"binding {_shown(value_set)}", "the value set cannot be expanded from what is installed")
        elif strength == "required" and (codes or isinstance(value, dict)) and not _absent(value):
            self._document.say("major", "fhir.profiles.binding", place, "no code of the value set that the profile requires")
        elif strength == "extensible" and codes:
            self._document.say("info", "fhir.profiles.binding-extensible", place, "not a code of the extensible value set of the profile")

    def _slices(self, rule: Constraint, occurrences: list[tuple[Any, Place]], place: Place, depth: int) -> None:
        """Tell which occurrences belong to which slice, count them, and check them against it."""
        marks = rule.marks or ((("value", "url"),) if rule.name in {"extension", "modifierExtension"} else ())
        counts = dict.fromkeys(rule.slices, 0)
        loose = 0
        for value, at in occurrences:
            hit = None
            for name, cut in rule.slices.items():
                match = self._matches(cut, value, at, marks)
                if match is None:
                    self._document.skip(f"slices of {rule.name}", "the discriminator is not supported")
                    return
                if match:
                    hit = name
                    break
            if hit is None:
                loose += 1
                if rule.closed:
                    self._document.say("major", "fhir.profiles.slice", at, "matches no slice, and the profile allows no others")
                continue
            counts[hit] += 1
            self._constraint(rule.slices[hit], value, at, depth)
        for name, cut in rule.slices.items():
            if cut.must_support:
                self._support(cut, place, counts[name] > 0)
            at = (place, rule.name.removesuffix("[x]"), None)
            if counts[name] < cut.least:
                self._document.say("major", "fhir.profiles.slice-missing", at, f"the profile asks for at least {cut.least} of the slice {_shown(name)}")
            elif cut.most is not None and counts[name] > cut.most:
                self._document.say("major", "fhir.profiles.slice-too-many", at, f"the profile allows at most {cut.most} of the slice {_shown(name)}")

    def _matches(self, cut: Constraint, value: Any, at: Place, marks: tuple[tuple[str, str], ...]) -> bool | None:
        """Return whether an occurrence belongs to a slice; None where the discriminator is beyond this implementation."""
        if not marks:
            return None
        for kind, path in marks:
            match = self._mark(cut, value, at, kind, path)
            if match is not True:
                return match
        return True

    def _mark(self, cut: Constraint, value: Any, at: Place, kind: str, path: str) -> bool | None:
        if cut.name in {"extension", "modifierExtension"} and path == "url":
            urls = [profile.partition("|")[0] for _, profiles, _ in cut.types for profile in profiles]
            wanted = cut.children["url"].fixed if "url" in cut.children and not urls else urls[0] if urls else None
            return None if wanted is None else isinstance(value, dict) and value.get("url") == wanted
        if kind == "type" and path == "$this":
            actual = at[1].lstrip("_")[len(cut.name.removesuffix("[x]")) :]
            names = {_capital(code) for code, _, _ in cut.types}
            if actual:
                return actual in names
            return isinstance(value, dict) and value.get("resourceType") in [code for code, _, _ in cut.types]
        if path.endswith("resolve()"):
            return self._referred(cut, value, kind, path.removesuffix("resolve()").removesuffix(".") or "$this")
        if kind == "type":
            return self._type_at(cut, value, path)
        rule, values = _follow(cut, value, path)
        if rule is None:
            return None
        if kind == "profile":
            return self._profiled([profile for _, profiles, _ in rule.types for profile in profiles], values)
        if kind == "exists":
            return bool(values) if rule.least else not values if rule.most == 0 else None
        if kind not in {"value", "pattern"}:
            return None
        return self._value_matches(rule, values)

    def _referred(self, cut: Constraint, value: Any, kind: str, path: str) -> bool | None:
        """A slice by what a reference points to: its type, or a profile of it."""
        rule, values = _follow(cut, value, path)
        targets = [target for _, _, found in rule.types for target in found] if rule is not None else []
        if not targets or kind not in {"type", "profile"}:
            return None
        references = [one.get("reference") for one in values if isinstance(one, dict)]
        found = [self._resolver.anywhere(self._frame, one) for one in references if isinstance(one, str)]
        if kind == "profile":
            return None if None in found else any(one is not None and self._conforms(one, target) for one in found for target in targets)
        wanted: set[str] = set()
        for target in targets:
            profile = None if _is_base(target) else self.find(target)
            if profile is None and not _is_base(target):
                return None
            wanted.add(profile.type if profile is not None else target.removeprefix(_BASE))
        named = (relative_type(one) for one in references if isinstance(one, str))
        return bool(wanted & {*(one.type for one in found if one is not None), *(one for one in named if one is not None)})

    def _profiled(self, profiles: list[str], values: list[Any]) -> bool | None:
        """A slice by the profile that a resource conforms to."""
        frames = {id(frame.resource): frame for frame in self._resolver.frames}
        found = [frames.get(id(one)) for one in values]
        if not profiles or None in found or any(self.find(one) is None and not _is_base(one) for one in profiles):
            return None
        return any(one is not None and self._conforms(one, profile) for one in found for profile in profiles)

    def _type_at(self, cut: Constraint, value: Any, path: str) -> bool | None:
        rule, values = _follow(cut, value, path)
        if rule is None or not rule.types:
            return None
        wanted = {code for code, _, _ in rule.types}
        if not any(code in definitions().resources for code in wanted):
            return None
        return any(isinstance(one, dict) and one.get("resourceType") in list(wanted) for one in values)

    def _value_matches(self, rule: Constraint, values: list[Any]) -> bool | None:
        if rule.fixed is not None:
            return any(_equal(one, rule.fixed) for one in values)
        if rule.pattern is not None:
            return any(_fits(one, rule.pattern) for one in values)
        if rule.binding is not None and rule.binding[0] == "required":
            verdicts = [self._values.holds(rule.binding[1], system, code) for one in values for system, code in _codes(one)]
            return True if True in verdicts else None if None in verdicts else False
        nested = [child for child in rule.children.values() if child.fixed is not None or child.pattern is not None]
        if nested:
            return any(all(self._value_matches(child, children(one, child.name.removesuffix("[x]"))) for child in nested) for one in values)
        return None

    def _support(self, rule: Constraint, place: Place, present: bool) -> None:
        """Note whether a must-support element was there. Rules live as long as the library, so their identity names them."""
        known = self._supported.get(id(rule))
        if known is None:
            self._supported[id(rule)] = (self._profile.url, f"{shown(place, self._frame)}{rule.label}", present)
        elif present and not known[2]:
            self._supported[id(rule)] = (*known[:2], True)

    def tell_must_support(self) -> None:
        """Tell the must-support elements that appear nowhere in the document."""
        for url, path, seen in sorted(self._supported.values()):
            self._document.report.fired("must-support")
            if not seen:
                tail = _shown(url.rsplit("/", 1)[-1])
                self._document.say("info", "fhir.profiles.must-support", (None, path, None), f"must-support in the profile {tail}, and nowhere in the document")


def shown(place: Place, frame: Frame) -> str:
    """Return a place inside a resource as a path without indices, from its type on."""
    names: list[str] = []
    at: Place | None = place
    while at is not None and at is not frame.place:
        names.append(at[1])
        at = at[0]
    return ".".join([frame.type, *reversed(names), ""])


def _shown(text: str) -> str:
    """A name out of a package or a claim, safe to show."""
    return "".join(char if char.isalnum() or char in "-_./:|#" else "?" for char in text[:120])


def _is_base(url: str) -> bool:
    bare = url.partition("|")[0]
    return bare.startswith(_BASE) and bare.removeprefix(_BASE) in definitions().types | dict.fromkeys(definitions().primitives)


def _kind(rule: Constraint, place: Place) -> str | None:
    """The type of an occurrence of a choice element, by its key; None where the element is no choice."""
    return place[1].lstrip("_")[len(rule.name) - 3 :] or None if rule.name.endswith("[x]") else None


def _capital(code: str) -> str:
    return code[:1].upper() + code[1:]


def _occurrences(owner: dict[str, Any], name: str, place: Place) -> Iterator[tuple[Any, Place]]:
    """Yield the occurrences of an element with their places; a choice is found by its name without the type."""
    key = name
    if name not in owner and "_" + name not in owner:
        size = len(name)
        bare = (one.lstrip("_") for one in owner)
        key = next((one for one in bare if len(one) > size and one.startswith(name) and one[size:] in CHOICE_TYPES), name)
    values = children(owner, key)
    many = isinstance(owner.get(key), list) or isinstance(owner.get("_" + key), list)
    for index, value in enumerate(values):
        yield value, (place, key, index if many else None)


def _follow(rule: Constraint, value: Any, path: str) -> tuple[Constraint | None, list[Any]]:
    """Return what a slice says at a discriminator's path, and the values there."""
    values = [value]
    if path != "$this":
        for part in path.split("."):
            if "(" in part:
                return None, []
            child = rule.children.get(part) or rule.children.get(part + "[x]")
            if child is None:
                return (rule, values) if rule.pattern is not None or rule.fixed is not None else (None, [])
            rule = child
            values = [inner for one in values for inner in children(one, part)]
            if rule.slices and not (rule.children or rule.fixed is not None or rule.pattern is not None):
                rule = next(iter(rule.slices.values()))
    return rule, values


def _equal(value: Any, wanted: Any) -> bool:
    value = plain(value)
    return bool(value == wanted) and isinstance(value, bool) == isinstance(wanted, bool)


def _fits(value: Any, pattern: Any) -> bool:
    """Return whether a value holds everything that a pattern states (R4, ElementDefinition.pattern[x])."""
    value = plain(value)
    if isinstance(pattern, dict):
        return isinstance(value, dict) and all(name in value and _fits(value[name], part) for name, part in pattern.items())
    if isinstance(pattern, list):
        return isinstance(value, list) and all(any(_fits(one, part) for one in value) for part in pattern)
    return _equal(value, pattern)


def _codes(value: Any) -> Iterator[tuple[str | None, str]]:
    """Yield (system, code) of a code, Coding, CodeableConcept or Quantity; system is None for a bare code."""
    value = plain(value)
    if isinstance(value, str):
        yield None, value
    elif isinstance(value, dict):
        codings = value.get("coding")
        for coding in codings if isinstance(codings, list) else [value]:
            if isinstance(coding, dict) and isinstance(coding.get("code"), str):
                yield str(coding.get("system", "")), coding["code"]


def _absent(value: Any) -> bool:
    """A value that an extension stands in for (data-absent-reason)."""
    return isinstance(value, dict) and "extension" in value and not value.get("coding")
