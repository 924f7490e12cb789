"""Resources against profiles: cardinality, values, bindings, types, invariants, slices, must-support."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.formats.fhir.document import Document, Frame, Place
from touchstone.scorers.clinical.formats.fhir.fhirpath.values import Extended, children
from touchstone.scorers.clinical.formats.fhir.options import PROFILES_MAX
from touchstone.scorers.clinical.formats.fhir.profiles.constraints import BASE, Constraint, Profile, is_base, shown_text
from touchstone.scorers.clinical.formats.fhir.profiles.library import Library
from touchstone.scorers.clinical.formats.fhir.profiles.matching import equal, fits, occurrences
from touchstone.scorers.clinical.formats.fhir.profiles.message_texts import expected_text, found_text, named
from touchstone.scorers.clinical.formats.fhir.profiles.slices import Slicing
from touchstone.scorers.clinical.formats.fhir.profiles.us_core import rules_of
from touchstone.scorers.clinical.formats.fhir.profiles.value_checks import LEVELS
from touchstone.scorers.clinical.formats.fhir.references import Resolver
from touchstone.scorers.clinical.formats.fhir.tables import definitions
from touchstone.scorers.clinical.must_support import merge
from touchstone.scorers.clinical.report import Report

#: Depth of profiles in profiles: base definitions, profiles of types.
NESTED_MAX = 12
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


def check_profiles(document: Document, resolver: Resolver, definitions_at_hand: Library) -> None:
    """Check every resource against the profiles it claims, those of the options, and R4's vital signs profiles."""
    checker = Checker(document, resolver, definitions_at_hand)
    asked = document.options.profiles
    for frame in document.frames:
        if asked or frame.type == "Observation" or "meta" in frame.resource:
            for url in dict.fromkeys((*_claimed(frame), *_vital(frame), *asked)):
                checker.check(frame, url, asked=url in asked)
    for value, place, frame in document.extensions:
        checker.check_extension(value, place, frame)
    checker.finish()


def _claimed(frame: Frame) -> list[str]:
    profiles = frame.part("meta").get("profile")
    return [one for one in profiles[:PROFILES_MAX] if isinstance(one, str)] if isinstance(profiles, list) else []


def _vital(frame: Frame) -> list[str]:
    if frame.type != "Observation":
        return []
    code = frame.resource.get("code")
    listed = code.get("coding") if code.__class__ is dict else None
    if listed.__class__ is list and not any(one.__class__ is dict and one.get("system") == _LOINC and str(one.get("code")) in VITAL_SIGNS for one in listed):
        return []
    codings = [one for code in children(frame.resource, "code") for one in children(code, "coding") if isinstance(one, dict)]
    codes = (one.get("code") for one in codings if one.get("system") == _LOINC)
    return [BASE + VITAL_SIGNS[code] for code in codes if isinstance(code, str) and code in VITAL_SIGNS][:1]


class Checker(Slicing):
    """Checks resources of one document against profiles."""

    def __init__(self, document: Document, resolver: Resolver, definitions_at_hand: Library) -> None:
        super().__init__(document, resolver, definitions_at_hand)
        self._fired = 0
        self._supported: dict[int, tuple[str, str, bool]] = {}
        self._claimed_profiles: dict[str, Profile] = {}
        self._populated: set[int] = set()
        self._undecided = set()
        self._nested = 0
        self._extensions: set[tuple[int, str]] = set()

    def check(self, frame: Frame, url: str, asked: bool) -> None:
        """Check one resource against one profile, if that is at hand and for this type."""
        profile = self.find(url)
        self._frame = frame
        if profile is None:
            known = self._us_core(url, None)
            claimed = url.partition("|")[0].removeprefix(BASE)
            if not asked and claimed in definitions().resources and claimed != frame.type:
                self._wrong_claim(f"it claims the profile of {claimed}, and is a {frame.type}")
            if not is_base(url):
                self._document.skip(f"profile {self._claim(url)}", "no installed package has it" + ("; its invariants were checked" if known else ""))
            return
        if profile.type != frame.type:
            if not asked:
                self._wrong_claim(f"it claims the profile {profile.title}, which is for {profile.type}, and is a {frame.type}")
            return
        self._fired += 1
        if asked or url in _claimed(frame):
            self._claimed_profiles[profile.title] = profile
        self._against(profile, frame.resource, frame.place, 0)
        self._us_core(url, profile)

    def _wrong_claim(self, message: str) -> None:
        self._document.add("major", "fhir.profiles.type", self._frame.place, message, suggestion="Take the claim out of meta.profile")

    def check_extension(self, value: dict[str, Any], place: Place, frame: Frame) -> None:
        """Check an extension against a package's definition, unless a profile of its element has done so."""
        url = value.get("url")
        profile = self.find(url) if isinstance(url, str) and ":" in url else None
        if profile is not None and profile.type == "Extension" and (id(value), profile.url) not in self._extensions:
            self._frame = frame
            self._fired += 1
            self._against(profile, value, place, 0)

    def _claim(self, url: str) -> str:
        """The URL of a claimed profile if it is safe to show: HL7's own, or one of the options."""
        is_known = url in self._document.options.profiles or _PUBLISHED.fullmatch(url) is not None
        return shown_text(url) if is_known or self._document.context.quote else "of another publisher (its URL is shown with quote)"

    def _us_core(self, url: str, profile: Profile | None) -> bool:
        """Check the invariants of US Core that the package at hand, if any, does not state. Returns True if US Core states any on this profile.

        A claim that names its version is judged by that version's own rules alone, where it is at hand.
        """
        if profile is not None and "|" in url:
            return any(True for _ in rules_of(url))
        known = False
        title = f"{profile.title} (a rule of other versions of US Core)" if profile is not None else shown_text(url.rsplit("/", 1)[-1])
        for kind, rule in rules_of(url):
            known = True
            if kind != self._frame.type or (profile is not None and rule.key in profile.keys):
                continue
            self._fired += 1
            level: Severity = "minor" if profile is not None or rule.may_not_hold(url) else LEVELS[rule.invariant.severity]
            for value, place in self._at(rule.at):
                if not rule.where or (isinstance(value, dict) and value.get("system") == rule.where):
                    type_name = place[1].lstrip("_")[len(rule.at) :] or None if rule.at else None
                    self._invariant(rule.invariant, value, place, type_name, of=title, level=level)
        return known

    def _at(self, path: str) -> list[tuple[Any, Place]]:
        """The occurrences of an element below the resource, with their places."""
        found: list[tuple[Any, Place]] = [(self._frame.resource, self._frame.place)]
        for name in path.split(".") if path else ():
            found = [inner for value, place in found if isinstance(value, dict) for inner in occurrences(value, name, place)]
        return found

    def _against(self, profile: Profile, value: Any, place: Place, depth: int, *, is_base_of: bool = False) -> None:
        """Check a value against a profile and, if that states only differences, against its base.

        `is_base_of`: another profile derives from this one. Then the url that the definition of an extension fixes is not asked for: a derived extension has
        its own.
        """
        outer = getattr(self, "_profile", None)
        self._profile = profile
        for key in profile.unread:
            self._document.skip(f"invariant {shown_text(key)}", "its expression is not supported")
        root = profile.root
        if is_base_of and profile.type == "Extension" and "url" in root.children:
            root = replace(root, children={name: child for name, child in root.children.items() if name != "url"})
        self._constraint(root, value, place, depth)
        if not profile.whole and depth < NESTED_MAX and not is_base(profile.base):
            base = self.find(profile.base)
            if base is not None:
                self._against(base, value, place, depth + 1, is_base_of=True)
            else:
                self._document.skip(f"profile {shown_text(profile.base)}", "no installed package has it")
        if outer is not None:
            self._profile = outer

    def _constraint(self, rule: Constraint, value: Any, place: Place, depth: int) -> None:
        self._fired += 1
        if rule.silent:
            return
        self._stated_value(rule, value, place)
        if rule.bound and rule.binding is not None:
            self._binding(rule.binding, value, place)
        if rule.ceiling is not None:
            self._binding(("required", rule.ceiling), value, place)
        for value_set in rule.additional:
            self._binding(("required", value_set), value, place)
        for value_set in rule.by_usage:
            self._document.skip(f"additional binding {shown_text(value_set)}", "it binds in a context of use (usage), which a document does not state")
        if rule.bounded:
            self._bounds(rule, value, place)
        if rule.controlled and isinstance(value, dict):
            self._controls(rule, value, place)
        if rule.invariants:
            self._invariants(rule, value, place)
        if rule.asks_type:
            self._type(rule, value, place, depth)
        inner = value.beside if value.__class__ is Extended else value
        if inner.__class__ is dict or rule.asks_below:
            for child in rule.children.values():
                self._child(child, inner if inner.__class__ is dict else {}, place, depth)

    def _stated_value(self, rule: Constraint, value: Any, place: Place) -> None:
        if rule.fixed is not None and not equal(value, rule.fixed):
            expected = expected_text(rule.fixed)
            self._add("fhir.profiles.fixed", place, f"fixes this to {expected}{found_text(value)}", remedy=f"Write {expected}", value=value)
        if rule.pattern is not None and not fits(value, rule.pattern):
            expected = expected_text(rule.pattern)
            self._add("fhir.profiles.pattern", place, f"asks for {expected} here{found_text(value)}", remedy=f"Give {expected}", value=value)

    def _child(self, rule: Constraint, owner: dict[str, Any], place: Place, depth: int) -> None:
        name = rule.short
        found = occurrences(owner, name, place) if rule.choice or name in owner or rule.beside in owner else []
        count = len(found)
        if count < rule.least:
            remedy = f"Add {rule.name} ({rule.allowed})" if rule.choice and rule.allowed else f"Add {rule.name}"
            self._add("fhir.profiles.missing", (place, name, None), f"asks for at least {rule.least} {rule.name}; found {count}", remedy=remedy)
        elif rule.most is not None and count > rule.most:
            remedy = f"Leave out {name}" if rule.most == 0 else f"Keep at most {rule.most} {name}"
            self._add("fhir.profiles.too-many", (place, name, None), f"allows at most {rule.most} {name}; found {count}", remedy=remedy)
        if rule.must_support:
            self._support(rule, place, bool(found), populated=any(_has_value(value) for value, _ in found))
        if rule.silent:
            self._fired += count
        else:
            for value, at in found:
                self._constraint(rule, value, at, depth)
        if rule.in_one_repeat and found:
            self._in_one_repeat(rule, [value for value, _ in found], (place, name, None))
        if rule.slices:
            self._slices(rule, found, place, depth)

    def _type(self, rule: Constraint, value: Any, place: Place, depth: int) -> None:
        """Check the type of a choice, the target of a reference, and profiles on the type."""
        key = place[1].lstrip("_")
        name = rule.short
        if rule.choice and key != name and key[len(name) :] not in rule.type_names:
            message = f"does not allow {shown_text(key[len(name) :])} here; allowed: {rule.allowed}"
            self._add("fhir.profiles.type", place, message, remedy=f"Use {rule.allowed.replace(', ', ' or ')}")
            return
        inner = value.beside if value.__class__ is Extended else value
        if not isinstance(inner, dict):
            return
        if rule.resources is not None and isinstance(inner.get("resourceType"), str) and inner["resourceType"] not in rule.resources:
            self._add("fhir.profiles.type", place, f"asks for {' or '.join(sorted(rule.resources))} here")
            return
        for code, profiles, targets in rule.types:
            if code == "Reference" and targets:
                self._target(inner, targets, place)
            elif len(rule.types) == 1 and profiles and depth < NESTED_MAX and not any(map(is_base, profiles)):
                self._profiles(profiles, inner, place, depth)

    def _profiles(self, profiles: tuple[str, ...], value: dict[str, Any], place: Place, depth: int) -> None:
        """Check a value against the profile on its type, or against several, of which one suffices."""
        found = [self.find(one) for one in profiles]
        nested = found[0] if len(found) == 1 else None
        if None in found:
            self._document.skip(f"profile {shown_text(profiles[found.index(None)])}", "no installed package has it")
        elif nested is not None:
            self._against(nested, value, place, depth + 1)
            self._extensions.add((id(value), nested.url))
        elif not any(one is not None and self._silently(one, value, place, self._frame) for one in found):
            allows = ", ".join(named(one) for one in profiles)
            message = f"asks for a value that conforms to one of {allows}, and it conforms to none"
            self._add("fhir.profiles.choice", place, message, remedy=f"See the profiles {allows}")

    def conforms(self, frame: Frame, url: str) -> bool | None:
        """True if a resource conforms to a profile; None if the profile is not at hand. Reports nothing."""
        if not is_base(url) and self.find(url) is None:
            return None
        self._frame = frame
        return self._conforms(frame, url)

    def _conforms(self, frame: Frame, url: str) -> bool:
        """True if a resource conforms to a profile, or has the base type, or if it cannot be decided."""
        if is_base(url):
            return url.partition("|")[0].removeprefix(BASE) in {frame.type, "Resource", "DomainResource"}
        profile = self.find(url)
        if profile is None:
            return True
        return profile.type == frame.type and self._silently(profile, frame.resource, frame.place, frame)

    def _silently(self, profile: Profile, value: dict[str, Any], place: Place, frame: Frame) -> bool:
        """True if a value conforms to a profile, or is nested too deep. Reports nothing."""
        if self._nested >= NESTED_MAX:
            return True
        document, outer, supported, fired, extensions = self._document, self._frame, self._supported, self._fired, self._extensions
        self._document, self._frame, self._supported = Document(Report(), document.context, document.options), frame, {}
        self._extensions = set()  # a trial reports nothing
        self._nested += 1
        try:
            self._against(profile, value, place, self._nested)
            return not any(severity == "major" for _, severity in self._document.counts)
        finally:
            self._document, self._frame, self._supported, self._fired, self._extensions = document, outer, supported, fired, extensions
            self._nested -= 1

    def _support(self, rule: Constraint, place: Place, present: bool, *, populated: bool | None) -> None:
        """Note if a must-support element was present, and has a value. Rules live as long as the library, so their identity is a key."""
        if populated and not self._nested:
            self._populated.add(id(rule))
        known = self._supported.get(id(rule))
        if known is None:
            path = ".".join([self._frame.type, *(name for name, _ in self._frame.steps_to(place)), rule.label])
            self._supported[id(rule)] = (self._profile.url, path, present)
        elif present and not known[2]:
            self._supported[id(rule)] = (*known[:2], True)

    def finish(self) -> None:
        """Count what was checked, and report must-support elements that appear nowhere in the document."""
        if self._fired:
            self._document.report.fired("profiles", self._fired)
        self._cover()
        for url, path, seen in sorted(self._supported.values()):
            self._document.report.fired("must-support")
            if not seen:
                tail = shown_text(url.rsplit("/", 1)[-1])
                self._document.add("info", "fhir.profiles.must-support", (None, path, None), f"must-support in the profile {tail}, and nowhere in the document")

    def _cover(self) -> None:
        """Note which must-support elements of the claimed profiles the document populates; a profile that states only differences adds to its base."""
        for claimed in self._claimed_profiles.values():
            profile: Profile | None = claimed
            for _ in range(NESTED_MAX):
                if profile is None:
                    break
                open_ids = tuple(f"{element}." for rule, element in profile.must_support.items() if rule in self._undecided)
                elements = {
                    element: True if rule in self._populated else None if rule in self._undecided or element.startswith(open_ids) else False
                    for rule, element in profile.must_support.items()
                }
                if elements:
                    merge(self._document.report.must_support, {profile.title: elements})
                profile = None if profile.whole or is_base(profile.base) else self.find(profile.base)


def _has_value(value: Any) -> bool:
    """True if an element has more than an id and extensions, such as a reason why data is absent."""
    if value.__class__ is Extended:
        return value.value is not None
    return not isinstance(value, dict) or not value.keys() <= {"id", "extension"}
