"""StructureDefinitions compiled into trees of constraints: cardinality, types, values, bindings, invariants, slices."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from touchstone.scorers.clinical.checks.json_access import Json, choice, objects
from touchstone.scorers.clinical.formats.fhir.attachments import most_bytes
from touchstone.scorers.clinical.formats.fhir.fhirpath import FhirPathError, corrected
from touchstone.scorers.clinical.formats.fhir.tables import Invariant, compile_invariant, definitions

BASE = "http://hl7.org/fhir/StructureDefinition/"
_ODD = re.compile(r"[^\w\-./:|#]")
#: Elements of one definition.
ELEMENTS_MAX = 20_000
#: Prefix of a choice element of ElementDefinition → attribute of a constraint.
_VALUES = {"fixed": "fixed", "pattern": "pattern", "minValue": "low", "maxValue": "high"}
#: Elements of R5's ElementDefinition in an R4 profile (versions.html#extensions): must-have-value, its alternatives, additional bindings.
_R5 = "http://hl7.org/fhir/5.0/StructureDefinition/extension-ElementDefinition."
_ADDITIONAL = frozenset({"http://hl7.org/fhir/tools/StructureDefinition/additional-binding", _R5 + "binding.additional"})
#: Purposes of an additional binding that no code may leave (R5, CodeSystem additional-binding-purpose).
_STRICT = frozenset({"required", "maximum"})
#: Extensions that ask a narrative for sections in languages, or for the source of each part (extensions package).
_LANGUAGES, _SOURCES = BASE + "narrative-language-control", BASE + "narrative-source-control"
#: The most bytes of an attachment.
_MAX_SIZE = BASE + "maxSize"
_MAX_VALUE_SET = BASE + "elementdefinition-maxValueSet"
#: Dots in the id of the value of a part of an extension: Extension.extension:part.value[x].
_PART_DEPTH = 2


@dataclass(slots=True)
class Constraint:
    """One element of a profile. `slices` constrain some of its occurrences, selected by `discriminators` (type, path).

    `closed`: no occurrence may be of no slice; `others_last`: such occurrences are allowed at the end only; `is_ordered`: slices come in the profile's order.
    `additional`: value sets that hold besides `binding`; `in_one_repeat`: those that one repeat at least must keep; `by_usage`: those that bind where the
    resource is used in a certain context; `shortest`: the least length of a text; `must_have_value`: no extension replaces
    the value; `alternatives`: the only extensions that may. `ceiling`: the value set that no code may leave, even if the binding is weak.
    `low`, `high`, `length`: bounds of the value; `size`: the most bytes of an attachment. `languages`, `sources`: what is asked of a narrative.
    """

    name: str
    label: str
    least: int = 0
    most: int | None = None
    types: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = ()
    fixed: Any = None
    pattern: Any = None
    binding: tuple[str, str] | None = None
    ceiling: str | None = None
    low: Any = None
    high: Any = None
    length: int | None = None
    additional: tuple[str, ...] = ()
    in_one_repeat: tuple[str, ...] = ()
    by_usage: tuple[str, ...] = ()
    shortest: int | None = None
    must_have_value: bool = False
    alternatives: tuple[str, ...] = ()
    size: float | None = None
    languages: tuple[str, ...] = ()
    sources: str | None = None
    must_support: bool = False
    invariants: tuple[Invariant, ...] = ()
    discriminators: tuple[tuple[str, str], ...] = ()
    closed: bool = False
    is_ordered: bool = False
    others_last: bool = False
    children: dict[str, Constraint] = field(default_factory=dict)
    slices: dict[str, Constraint] = field(default_factory=dict)
    # Derived from the above, once, by `derive`.
    short: str = ""
    beside: str = ""
    choice: bool = False
    asks_type: bool = False
    asks_below: bool = False
    bound: bool = False
    bounded: bool = False
    controlled: bool = False
    silent: bool = False
    type_names: frozenset[str] = frozenset()
    resources: frozenset[str] | None = None
    allowed: str = ""
    undecided: dict[tuple[str, ...], tuple[Invariant, ...]] = field(default_factory=dict)


@dataclass(slots=True)
class Profile:
    """One compiled profile. `unread`: keys of invariants with unsupported expressions; `keys`: those of all that it states; `whole`: from a snapshot.

    `title`: its name and version, as messages give them. `must_support`: identity of a constraint below `root` → id of its element.
    """

    url: str
    type: str
    base: str
    root: Constraint
    unread: tuple[str, ...]
    whole: bool
    keys: frozenset[str] = frozenset()
    title: str = ""
    must_support: dict[int, str] = field(default_factory=dict)


def derive(rule: Constraint) -> None:
    """Work out the derived fields of a constraint and all below it. Most constraints require nothing of most values, and should cost nothing."""
    rule.short = rule.name.removesuffix("[x]")
    rule.beside = "_" + rule.short
    rule.choice = rule.short != rule.name
    rule.type_names = frozenset(capital(code) for code, _, _ in rule.types)
    rule.allowed = ", ".join(code for code, _, _ in rule.types)
    targeted = any(code == "Reference" and targets for code, _, targets in rule.types)
    nested = any(not is_base(profile) for _, profiles, _ in rule.types for profile in profiles)
    rule.asks_type = targeted or nested or (rule.choice and bool(rule.types)) or _resources(rule.types) is not None
    rule.resources = _resources(rule.types)
    # Like the official validator, ignore a binding on a choice of several types, and one beside a fixed code (R4's units of vital signs).
    code = rule.children.get("code")
    ignored = (rule.choice and len(rule.types) != 1) or (code is not None and code.fixed is not None)
    rule.bound = rule.binding is not None and rule.binding[0] in {"required", "extensible"} and not ignored
    rule.asks_below = any(child.least for child in rule.children.values())
    rule.bounded = any(one is not None for one in (rule.low, rule.high, rule.length, rule.shortest)) or rule.must_have_value or bool(rule.alternatives)
    rule.controlled = rule.size is not None or bool(rule.languages) or rule.sources is not None
    if ignored:
        rule.additional = rule.in_one_repeat = rule.by_usage = ()
    has_value = bool(rule.additional) or rule.fixed is not None or rule.pattern is not None or rule.ceiling is not None
    stated = has_value or rule.bound or rule.bounded or rule.controlled or rule.asks_type or bool(rule.invariants)
    rule.silent = not stated and not rule.children and not rule.by_usage
    for inner in (*rule.children.values(), *rule.slices.values()):
        derive(inner)


def _resources(types: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]) -> frozenset[str] | None:
    """The resource types that an element may hold, by its types or R4's profile on Resource; None if it holds none, or any."""
    named = {code for code, _, _ in types}
    if named == {"Resource"}:
        profiles = [profile for _, found, _ in types for profile in found]
        named = {profile.partition("|")[0].removeprefix(BASE) for profile in profiles} if profiles and all(map(is_base, profiles)) else set()
    return frozenset(named) if named and named <= definitions().resources else None


def is_base(url: str) -> bool:
    """Return True if a canonical URL names one of R4's own types."""
    bare = url.partition("|")[0]
    name = bare.removeprefix(BASE)
    return bare.startswith(BASE) and (name in definitions().types or name in definitions().primitives)


def shown_text(text: str) -> str:
    """Return a name from a package or a claim, safe to show."""
    return _ODD.sub("?", text[:120])


def capital(code: str) -> str:
    """Return a type's name as at the end of a choice element's key."""
    return code[:1].upper() + code[1:]


def compile_profile(definition: Json, base_keys: frozenset[str]) -> Profile | None:
    """Return the profile of a definition, or None if it is not one. `base_keys`: invariants of the base types, which are checked elsewhere."""
    part = "snapshot" if definition.get("snapshot") else "differential"
    elements = (definition.get(part) or {}).get("element")
    kind = definition.get("type")
    if not isinstance(elements, list) or not isinstance(kind, str) or len(elements) > ELEMENTS_MAX:
        return None
    unread: list[str] = []
    root = Constraint(kind, kind)
    open_slices: dict[str, Constraint] = {}
    for element in elements:
        if isinstance(element, dict) and isinstance(element.get("path"), str):
            at = _at_id(root, element["id"]) if isinstance(element.get("id"), str) else _at_path(root, element, open_slices)
            _fill(at, element, base_keys, unread)
    stated = [one for element in elements if isinstance(element, dict) for one in objects(element.get("constraint"))]
    keys = frozenset(str(one.get("key")) for one in stated if corrected(str(one.get("expression"))) != "true")
    url, base = str(definition.get("url")), str(definition.get("baseDefinition", ""))
    title = shown_text(url.rsplit("/", 1)[-1]) + (f"|{shown_text(version)}" if isinstance(version := definition.get("version"), str) else "")
    return Profile(url, kind, base, root, tuple(sorted(set(unread))), part == "snapshot", keys, title, dict(_must_support(root, kind)))


def _must_support(rule: Constraint, path: str) -> Iterator[tuple[int, str]]:
    """The must-support elements of a profile, by identity, with their ids (`Patient.telecom.system`, `Observation.category:VSCat`)."""
    if rule.must_support and "." in path:
        yield id(rule), path
    for child in rule.children.values():
        yield from _must_support(child, f"{path}.{child.name}")
    for name, cut in rule.slices.items():
        yield from _must_support(cut, f"{path}:{name}")


def _at_id(root: Constraint, identity: str) -> Constraint:
    at = root
    for part in identity.split(".")[1:]:
        name, _, cut = part.partition(":")
        at = at.children.setdefault(name, Constraint(name, name))
        for slice_name in cut.split("/") if cut else ():
            at = at.slices.setdefault(slice_name, Constraint(name, f"{name}:{slice_name}"))
    return at


def _at_path(root: Constraint, element: Json, open_slices: dict[str, Constraint]) -> Constraint:
    """The constraint of an element without an id: elements of a slice follow the one that names it. `open_slices`: by path."""
    at, parts, path = root, element["path"].split("."), element["path"]
    for known in [one for one in open_slices if one == path or one.startswith(f"{path}.")]:
        del open_slices[known]
    for count in range(2, len(parts) + 1):
        name, upto = parts[count - 1], ".".join(parts[:count])
        at = open_slices.get(upto) or at.children.setdefault(name, Constraint(name, name))
    named = element.get("sliceName")
    if isinstance(named, str) and at is not root:
        for part in named.split("/"):
            at = at.slices.setdefault(part, Constraint(at.name, f"{at.name}:{part}"))
        open_slices[path] = at
    return at


def _fill(at: Constraint, element: Json, base_keys: frozenset[str], unread: list[str]) -> None:
    """Add what one element of a StructureDefinition states."""
    if isinstance(element.get("min"), int):
        at.least = element["min"]
    most = element.get("max")
    if isinstance(most, str):
        at.most = int(most) if most.isdigit() else None
    at.types = tuple(_type(one) for one in element.get("type") or () if isinstance(one, dict))
    for key, value in element.items():
        for prefix, name in _VALUES.items():
            if key.startswith(prefix):
                setattr(at, name, value)
    length = element.get("maxLength")
    at.length = length if isinstance(length, int) and not isinstance(length, bool) else None
    _value_rules(at, element)
    binding = element.get("binding")
    if isinstance(binding, dict):
        at.additional, at.in_one_repeat, at.by_usage = _additional(binding)
        if isinstance(binding.get("valueSet"), str):
            at.binding = (str(binding.get("strength")), binding["valueSet"])
        ceilings = (choice(one) for one in objects(binding.get("extension")) if one.get("url") == _MAX_VALUE_SET)
        at.ceiling = next((held[1] for held in ceilings if held is not None and isinstance(held[1], str)), None)
    at.must_support = element.get("mustSupport") is True
    slicing = element.get("slicing")
    if isinstance(slicing, dict):
        discriminators = [one for one in slicing.get("discriminator") or () if isinstance(one, dict)]
        at.discriminators = tuple((str(one.get("type")), str(one.get("path")).removeprefix("$this.")) for one in discriminators)
        at.closed = slicing.get("rules") == "closed"
        at.is_ordered = slicing.get("ordered") is True
        at.others_last = slicing.get("rules") == "openAtEnd"
    at.invariants = tuple(_invariants(element, base_keys, unread))


def _value_rules(at: Constraint, element: Json) -> None:
    """Rules on values that R4 states by extension: minLength (extensions package), mustHaveValue and valueAlternatives (R5, ElementDefinition)."""
    for one in objects(element.get("extension")):
        held = choice(one)
        value = held[1] if held is not None else None
        if one.get("url") == BASE + "minLength" and isinstance(value, int) and not isinstance(value, bool):
            at.shortest = value
        elif one.get("url") == _R5 + "mustHaveValue":
            at.must_have_value = value is True
        elif one.get("url") == _R5 + "valueAlternatives" and isinstance(value, str):
            at.alternatives = (*at.alternatives, value.partition("|")[0])
        elif one.get("url") == _MAX_SIZE:
            at.size = most_bytes(value)
        elif one.get("url") == _LANGUAGES and isinstance(value, str):
            at.languages = (*at.languages, value)
        elif one.get("url") == _SOURCES and isinstance(value, str):
            at.sources = value


def _additional(binding: Json) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """The value sets of additional bindings (R5, ElementDefinition.binding.additional).

    Those that bind every repeat of an element, those that bind one repeat at least (`any`), and those that bind in some contexts (`usage`).
    """
    every: list[str] = []
    some: list[str] = []
    by_usage: list[str] = []
    for one in objects(binding.get("extension")):
        parts = {str(part.get("url")): held[1] for part in objects(one.get("extension")) if (held := choice(part)) is not None}
        value_set = parts.get("valueSet")
        if one.get("url") in _ADDITIONAL and parts.get("purpose") in _STRICT and isinstance(value_set, str):
            (by_usage if "usage" in parts else some if parts.get("any") is True else every).append(value_set)
    return tuple(every), tuple(some), tuple(by_usage)


def _type(one: Json) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    return str(one.get("code")), tuple(map(str, one.get("profile") or ())), tuple(map(str, one.get("targetProfile") or ()))


def _invariants(element: Json, base_keys: frozenset[str], unread: list[str]) -> list[Invariant]:
    found = []
    for one in objects(element.get("constraint")):
        key, expression = one.get("key"), one.get("expression")
        if key in base_keys or not isinstance(key, str):
            continue
        try:
            found.append(compile_invariant(key, str(one.get("severity")), _message(one.get("human")), str(expression or "")))
        except FhirPathError:
            unread.append(key)
    return found


def _message(human: Any) -> str:
    """The message of a constraint, in one line."""
    text = " ".join(human.split())[:200] if isinstance(human, str) else ""
    return text if text.isprintable() and text else "a constraint of the profile does not hold"


def extension_facts(definition: Json) -> Json:
    """Return what an extension's definition requires: contexts, types of its value, and parts with their least, most and types."""
    whole = "snapshot" in definition
    elements = objects((definition.get("snapshot") or definition.get("differential") or {}).get("element"))
    contexts = [[one["type"], one["expression"]] for one in objects(definition.get("context")) if "type" in one and "expression" in one]
    root = elements[0] if elements else {}
    # Without types in a differential the base applies, which allows any value.
    unstated: list[str] | None = None if not whole and not any("value" in str(element.get("id")) for element in elements) else []
    modifier = bool(root.get("isModifier", False))
    found: Json = {"contexts": contexts, "max": root.get("max", "*"), "values": unstated, "modifier": modifier, "parts": {}, "required": False}
    if rules := [one for one in definition.get("contextInvariant") or () if isinstance(one, str)]:
        found["rules"] = rules
    for element in elements if whole else [one | {"min": one.get("min", 0), "max": one.get("max", "*")} for one in elements]:
        identity = str(element.get("id"))
        if identity == "Extension.value[x]" and element["max"] != "0":
            found["values"] = sorted({one["code"] for one in element.get("type", [])}) or ([] if whole else None)
            found["required"] = element["min"] > 0
        elif identity.startswith("Extension.extension:") and identity.count(".") == 1:
            found["parts"][identity.rsplit(":", 1)[1]] = [element["min"], element["max"], []]
        elif identity.startswith("Extension.extension:") and identity.endswith(".value[x]") and identity.count(".") == _PART_DEPTH and element["max"] != "0":
            part = found["parts"].get(identity.split(":", 1)[1].removesuffix(".value[x]"))
            if part is not None:
                part[2] = sorted({one["code"] for one in element.get("type", [])})
    return found
