"""Slices of a profile: which slice an occurrence belongs to, by discriminators (R4: profiling.html, discriminator)."""

from __future__ import annotations

from abc import abstractmethod
from functools import lru_cache
from typing import Any, Final

from touchstone.scorers.clinical.formats.fhir.document import Place
from touchstone.scorers.clinical.formats.fhir.fhirpath.values import CHOICE_TYPES, children
from touchstone.scorers.clinical.formats.fhir.profiles.constraints import BASE, Constraint, Profile, capital, is_base, shown_text
from touchstone.scorers.clinical.formats.fhir.profiles.matching import choice_key, codes_of, equal, fits
from touchstone.scorers.clinical.formats.fhir.profiles.message_texts import CODES_MAX, slice_text
from touchstone.scorers.clinical.formats.fhir.profiles.value_checks import ValueChecks
from touchstone.scorers.clinical.formats.fhir.references import relative_type
from touchstone.scorers.clinical.formats.fhir.tables import definitions

#: The verdict of a discriminator about which a slice states nothing.
OPEN: Final = "open"
#: Definitions that an extension may be derived from.
_BASES_MAX: Final = 8
#: The slice of what is in no other (R4, profiling.html#default).
_DEFAULT: Final = "@default"


class Slicing(ValueChecks):
    """Sorts the occurrences of an element into slices, and checks them."""

    #: Slices into which no occurrence can be sorted, by identity.
    _undecided: set[int]

    @abstractmethod
    def _constraint(self, rule: Constraint, value: Any, place: Place, depth: int) -> None:
        """Check one occurrence of an element."""

    @abstractmethod
    def _support(self, rule: Constraint, place: Place, present: bool, *, populated: bool | None) -> None:
        """Note if a must-support element was present, and if it has a value (None if that cannot be decided)."""

    def _slices(self, rule: Constraint, found: list[tuple[Any, Place]], place: Place, depth: int) -> None:
        """Sort the occurrences of an element into its slices, check them, and count them."""
        counts = dict.fromkeys(rule.slices, 0)
        sorted_into: list[tuple[str, Place]] = []
        for value, at in found:
            name = self._slice_of(rule, value, at)
            if name is None:
                self._document.skip(f"slices of {rule.name}", "the discriminator is not supported")
                self._undecided.update(map(id, rule.slices.values()))
                return
            if not name and _DEFAULT in rule.slices:
                name = _DEFAULT
            sorted_into.append((name, at))
            if name:
                counts[name] += 1
                self._constraint(rule.slices[name], value, at, depth)
            elif rule.closed:
                slices = ", ".join(shown_text(one) for one in list(rule.slices)[:CODES_MAX])
                self._add("fhir.profiles.slice", at, f"allows only {rule.short} of these slices, and this is of none: {slices}")
        if rule.is_ordered or rule.others_last:
            self._order(rule, sorted_into)
        for name, cut in rule.slices.items():
            if cut.must_support:
                self._support(cut, place, counts[name] > 0, populated=counts[name] > 0)
            at = (place, rule.short, None)
            if counts[name] < cut.least:
                of_slice = f"{rule.short} {slice_text(name, cut)}"
                message = f"asks for at least {cut.least} {of_slice}; found {counts[name]}"
                self._add("fhir.profiles.slice-missing", at, message, remedy=f"Add {of_slice}")
            elif cut.most is not None and counts[name] > cut.most:
                of_slice = f"{rule.short} {slice_text(name, cut)}"
                message = f"allows at most {cut.most} {of_slice}; found {counts[name]}"
                self._add("fhir.profiles.slice-too-many", at, message, remedy=f"Keep at most {cut.most} {of_slice}")

    def _order(self, rule: Constraint, sorted_into: list[tuple[str, Place]]) -> None:
        """Report the first occurrence out of order (R4, ElementDefinition.slicing.ordered), and the first of a slice after one of none (.rules openAtEnd)."""
        names = list(rule.slices)
        last, is_past_slices = -1, False
        for name, at in sorted_into:
            number = names.index(name) if name else -1
            if name and is_past_slices and rule.others_last:
                message = f"allows {rule.short} of none of its slices only at the end, and this is of the slice {shown_text(name)}"
                self._add("fhir.profiles.slice-order", at, message, remedy="Move it before those that are of no slice")
                return
            if name and number < last and rule.is_ordered:
                message = f"asks for its slices of {rule.short} in order, and this one ({shown_text(name)}) comes after {shown_text(names[last])}"
                self._add("fhir.profiles.slice-order", at, message, remedy=f"Put them in this order: {', '.join(map(shown_text, names[:CODES_MAX]))}")
                return
            last = max(last, number)
            is_past_slices = is_past_slices or not name

    def _slice_of(self, rule: Constraint, value: Any, at: Place) -> str | None:
        """The name of the slice that an occurrence belongs to; empty for none, None if a discriminator is not supported."""
        discriminators = rule.discriminators or ((("value", "url"),) if rule.name in {"extension", "modifierExtension"} else ())
        for name, cut in rule.slices.items():
            if name == _DEFAULT:
                continue
            verdicts = [self._discriminate(cut, value, at, kind, path) for kind, path in discriminators]
            # A slice may leave some discriminators open, but not all.
            if False not in verdicts and (None in verdicts or True not in verdicts):
                return None
            if False not in verdicts:
                return name
        return ""

    def _discriminate(self, cut: Constraint, value: Any, at: Place, kind: str, path: str) -> bool | str | None:
        """True if one discriminator puts an occurrence into a slice; OPEN if the slice states nothing there, None if it cannot be decided."""
        if cut.name in {"extension", "modifierExtension"} and path == "url":
            urls = [self._extension_url(profile) for _, profiles, _ in cut.types for profile in profiles]
            wanted = cut.children["url"].fixed if "url" in cut.children and not urls else urls[0] if urls else None
            wanted = self._inherited_url(cut) if wanted is None else wanted
            return None if wanted is None else isinstance(value, dict) and value.get("url") == wanted
        if kind == "type" and path == "$this":
            actual = at[1].lstrip("_")[len(cut.short) :]
            if actual:
                return actual in cut.type_names
            return isinstance(value, dict) and value.get("resourceType") in [code for code, _, _ in cut.types]
        if path.endswith("resolve()"):
            return self._referred(cut, value, kind, path.removesuffix("resolve()").removesuffix(".") or "$this")
        if "resolve()." in path:
            return self._beyond(cut, value, at, kind, path)
        if kind == "type":
            return self._type_at(cut, value, path)
        rule, values = _follow(cut, value, path)
        if rule is None:
            return OPEN if kind in {"value", "pattern"} and "(" not in path else None
        if kind == "profile":
            return self._profiled([profile for _, profiles, _ in rule.types for profile in profiles], values)
        if kind == "exists":
            return bool(values) if rule.least else not values if rule.most == 0 else None
        if kind not in {"value", "pattern"}:
            return None
        return self._value_matches(rule, values)

    def _extension_url(self, canonical: str) -> Any:
        """The url of the extensions that a profile is about: it fixes one, its own or that of the extension it is derived from."""
        profile = self.find(canonical)
        for _ in range(_BASES_MAX):
            url = profile.root.children.get("url") if profile is not None else None
            if url is not None and url.fixed is not None:
                return url.fixed
            profile = self.find(profile.base) if profile is not None and not profile.whole and not is_base(profile.base) else None
        return canonical.partition("|")[0]

    def _inherited_url(self, cut: Constraint) -> Any:
        """The url of a part of an extension, as the definitions state it from which the current one is derived; None if none does."""
        profile: Profile | None = self._profile
        for _ in range(_BASES_MAX):
            profile = self.find(profile.base) if profile is not None and not profile.whole and profile.type == "Extension" else None
            parts = profile.root.children.get(cut.name) if profile is not None else None
            part = parts.slices.get(cut.label.partition(":")[2]) if parts is not None else None
            if part is not None and "url" in part.children:
                return part.children["url"].fixed
        return None

    def _referred(self, cut: Constraint, value: Any, kind: str, path: str) -> bool | None:
        """Decide a slice by the target of a reference: its type, or a profile of it."""
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
            profile = None if is_base(target) else self.find(target)
            if profile is None and not is_base(target):
                return None
            wanted.add(profile.type if profile is not None else target.removeprefix(BASE))
        named = (relative_type(one) for one in references if isinstance(one, str))
        return bool(wanted & {*(one.type for one in found if one is not None), *(one for one in named if one is not None)})

    def _beyond(self, cut: Constraint, value: Any, at: Place, kind: str, path: str) -> bool | str | None:
        """Decide a slice by an element of what a reference finds: resolve().code. The profile of the target states what it must be."""
        before, _, after = path.partition("resolve().")
        rule, values = _follow(cut, value, before.removesuffix(".") or "$this")
        targets = [target for _, _, found in rule.types for target in found if not is_base(target)] if rule is not None else []
        profile = self.find(targets[0]) if len(targets) == 1 else None
        references = [one.get("reference") for one in values if isinstance(one, dict)]
        found = [self._resolver.anywhere(self._frame, one) for one in references if isinstance(one, str)]
        if profile is None or not found or None in found:
            return None
        verdicts = [self._discriminate(profile.root, one.resource, at, kind, after) for one in found if one is not None]
        return True if True in verdicts else None if None in verdicts or OPEN in verdicts else False

    def _profiled(self, profiles: list[str], values: list[Any]) -> bool | None:
        """Decide a slice by the profile that a resource conforms to."""
        found = [self._resolver.frame_of(one) for one in values]
        if not profiles or None in found or any(self.find(one) is None and not is_base(one) for one in profiles):
            return None
        return any(one is not None and self._conforms(one, profile) for one in found for profile in profiles)

    def _type_at(self, cut: Constraint, value: Any, path: str) -> bool | None:
        outer, _, last = path.rpartition(".")
        holder, owners = _follow(cut, value, outer or "$this")
        if holder is None:
            return None
        rule = holder.children.get(last) or holder.children.get(last + "[x]")
        # A choice may be narrowed by the name of one of its types: contentString.
        wanted = {code for code, _, _ in rule.types} if rule is not None else set()
        wanted |= {name[len(last) :] for name in holder.children if name.startswith(last) and name[len(last) :] in CHOICE_TYPES}
        if not wanted:
            return None
        if wanted & definitions().resources:
            found = [one.get("resourceType") for owner in owners for one in children(owner, last) if isinstance(one, dict)]
            return any(isinstance(one, str) and one in wanted for one in found)
        held = [choice_key(owner, last) for owner in owners if isinstance(owner, dict)]
        return any(key is not None and key[len(last) :] in {capital(one) for one in wanted} for key in held)

    def _value_matches(self, rule: Constraint, values: list[Any]) -> bool | str | None:
        if rule.fixed is not None:
            return any(equal(one, rule.fixed) for one in values)
        if rule.pattern is not None:
            return any(fits(one, rule.pattern) for one in values)
        if rule.binding is not None and rule.binding[0] == "required":
            verdicts = [self._values.holds(rule.binding[1], system, code) for one in values for system, code in codes_of(one)]
            return True if True in verdicts else None if None in verdicts else False
        nested = [child for child in rule.children.values() if child.fixed is not None or child.pattern is not None]
        if nested:
            return any(all(self._value_matches(child, children(one, child.short)) is True for child in nested) for one in values)
        return OPEN


def _follow(rule: Constraint, value: Any, path: str) -> tuple[Constraint | None, list[Any]]:
    """Return the constraint of a slice at a discriminator's path, and the values there."""
    values = [value]
    if path != "$this":
        for part in _parts(path):
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


@lru_cache(maxsize=2_000)
def _parts(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))
