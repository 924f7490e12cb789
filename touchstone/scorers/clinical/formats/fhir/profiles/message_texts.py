"""Texts in findings about profiles. Of the document's values they show published codes only, because others may be patient text."""

from __future__ import annotations

from collections.abc import Container, Iterator
from functools import lru_cache
from typing import Any, Final

from touchstone.scorers.clinical.formats.fhir.fhirpath.values import Extended, plain
from touchstone.scorers.clinical.formats.fhir.profiles.constraints import Constraint, is_base, shown_text
from touchstone.scorers.clinical.formats.fhir.tables import code_systems, listed_sets

#: Codes of a value set, or of an expected value, that one message lists.
CODES_MAX: Final = 8
#: Characters of one value.
CHARS_MAX: Final = 120
#: Elements below a slice that are looked at for what it fixes: category.coding.code.
_SLICE_DEPTH: Final = 3
_HL7: Final = ("http://hl7.org/fhir/", "http://terminology.hl7.org/")


def named(url: str) -> str:
    """Return the last part of a canonical URL, the usual name of a profile or value set."""
    return shown_text(url.partition("|")[0].rsplit("/", 1)[-1])


def expected_text(stated: Any) -> str:
    """Return a fixed or pattern value in short: its codes, or its plain value."""
    if isinstance(stated, dict):
        codes = [f"{_shown(system)}#{_shown(code)}" if system else _shown(code) for system, code in _codes(stated)]
        if codes:
            return ", ".join(codes[:CODES_MAX])
        return f"an object with {', '.join(shown_text(name) for name in list(stated)[:CODES_MAX])}"
    if isinstance(stated, list):
        return "; ".join(expected_text(one) for one in stated[:CODES_MAX])
    if isinstance(stated, bool):
        return str(stated).lower()
    return _shown(str(plain(stated)))


def amount_text(stated: Any) -> str:
    """Return a bound: a quantity as its value and unit, anything else as its plain value."""
    if not isinstance(stated, dict) or "value" not in stated:
        return expected_text(stated)
    return f"{_shown(str(stated['value']))} {_shown(str(stated.get('unit') or stated.get('code') or ''))}".strip()


#: Units of time in words.
_SPANS: Final = {"a": "year", "mo": "month", "wk": "week", "d": "day", "h": "hour", "min": "minute", "s": "second"}


def limit_text(span: dict[str, Any], direction: int) -> str:
    """Return the limit that a span from now sets to a date: `no earlier than 120 years ago`, `no later than now`."""
    limit, side = ("no earlier than", "ago") if direction < 0 else ("no later than", "from now")
    amount, unit = span.get("value"), _SPANS.get(str(span.get("code")))
    if amount == 0:
        return f"{limit} now"
    return f"{limit} {amount_text(span) if unit is None else f'{_shown(str(amount))} {unit}' + ('' if amount == 1 else 's')} {side}"


def slice_text(name: str, cut: Constraint) -> str:
    """Return which occurrences are in a slice: its name and, in brackets, the codes or values that it fixes, its type, or its profile, if it has any.

    The part of an extension is known by its url alone.
    """
    url = cut.children.get("url")
    if url is not None and url.fixed is not None:
        return f"with the url {expected_text(url.fixed)}"
    found = list(dict.fromkeys(_stated(cut, "", _SLICE_DEPTH)))
    if not found:
        profiles = [profile for _, profiles, _ in cut.types for profile in profiles if not is_base(profile)]
        found = [f"profile {', '.join(map(named, profiles[:CODES_MAX]))}"] if profiles else [f"type {cut.allowed}"] if cut.choice and cut.allowed else []
    if not found:
        required = [shown_text(child.name) for child in cut.children.values() if child.least]
        found = [f"with {', '.join(required[:CODES_MAX])}"] if required else []
    return f"of the slice {shown_text(name)}" + (f" ({'; '.join(found[:CODES_MAX])})" if found else "")


def _stated(rule: Constraint, path: str, depth: int) -> Iterator[str]:
    """What an element of a slice and those below it fix. A system is named beside its code."""
    stated = rule.fixed if rule.fixed is not None else rule.pattern
    if stated is not None:
        yield f"{path} {expected_text(stated)}".strip()
    elif rule.binding is not None and rule.binding[0] == "required" and path:
        yield f"{path} of the value set {named(rule.binding[1])}"
    elif depth:
        code, system = rule.children.get("code"), rule.children.get("system")
        if code is not None and code.fixed is not None and system is not None and system.fixed is not None:
            yield f"{_shown(str(plain(system.fixed)))}#{_shown(str(plain(code.fixed)))}"
            return
        for cut in rule.slices.values():
            if cut.least:
                yield from _stated(cut, path, depth)
        for name, child in rule.children.items():
            if child.least or child.fixed is not None or child.pattern is not None or name in {"coding", "code", "system"}:
                yield from _stated(child, f"{path}.{child.short}".strip("."), depth - 1)


def _shown(text: str) -> str:
    """A value from a package, safe to show. Unlike a name it may have brackets and blanks, as units do."""
    return "".join(character if character.isprintable() else "?" for character in text[:CHARS_MAX])


def found_text(value: Any) -> str:
    """Return `; found final`: the published codes of a value; empty if it has none."""
    inner = value.beside if isinstance(value, Extended) else value
    if isinstance(inner, dict):
        codes = [code for system, code in _codes(inner) if code in _published(system)]
    else:
        bare = plain(value)
        codes = [bare] if isinstance(bare, str) and bare in _published(None) else []
    return f"; found {', '.join(map(_shown, codes[:CODES_MAX]))}" if codes else ""


def members_text(value_set: str) -> str:
    """Return `; its codes: a, b` if the tables list few codes; else empty."""
    listed = listed_sets().get(value_set.partition("|")[0])
    codes = sorted(code for some in listed.values() for code in some or ()) if listed and all(some is not None for some in listed.values()) else []
    return f"; its codes: {', '.join(codes)}" if 0 < len(codes) <= CODES_MAX else ""


def _codes(value: dict[str, Any]) -> Iterator[tuple[str | None, str]]:
    codings = value.get("coding")
    for one in codings if isinstance(codings, list) else (value,):
        if isinstance(one, dict) and isinstance(one.get("code"), str):
            system = one.get("system")
            yield system if isinstance(system, str) else None, one["code"]


def _published(system: str | None) -> Container[str]:
    """The codes of a system in the tables; without a system, of all of HL7's systems."""
    return _hl7_codes() if system is None else code_systems().get(system, ())


@lru_cache(maxsize=1)
def _hl7_codes() -> frozenset[str]:
    return frozenset(code for name, codes in code_systems().items() if name.startswith(_HL7) for code in codes)
