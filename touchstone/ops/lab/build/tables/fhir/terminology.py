"""Code systems and value sets of FHIR R4, made compact."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def flatten(concepts: list[Json], into: dict[str, str]) -> dict[str, str]:
    """Return code → display of a concept tree."""
    waiting = list(reversed(concepts))
    while waiting:
        concept = waiting.pop()
        into[concept["code"]] = concept.get("display", "")
        waiting.extend(reversed(concept.get("concept", [])))
    return into


def codes_table(package: dict[str, list[Json]]) -> Json:
    """Return code system URL → {code: display} for every system that the package holds completely."""
    whole = [one for one in package["CodeSystem"] if one.get("content") == "complete" and one.get("concept")]
    return {
        "systems": {one["url"]: flatten(one["concept"], {}) for one in whole},
        "insensitive": sorted(one["url"] for one in package["CodeSystem"] if one.get("caseSensitive") is False),
        "partial": sorted(one["url"] for one in package["CodeSystem"] if one.get("content") != "complete"),
    }


def later_table(package: dict[str, list[Json]], codes: Json) -> Json:
    """Return what a later edition of the code systems adds: system → {code: display} for codes and displays that the first table does not have."""
    systems = {}
    for one in package["CodeSystem"]:
        if one.get("content") == "complete" and one.get("concept") and _is_free(str(one.get("copyright", ""))):
            known = codes["systems"].get(one["url"], {})
            systems[one["url"]] = {code: display for code, display in flatten(one["concept"], {}).items() if known.get(code) != display}
    return {"systems": {url: added for url, added in systems.items() if added}}


def grown(values: dict[str, dict[str, list[str]] | None], codes: Json, later: Json) -> Json:
    """Return value set → system → codes that were added since, for the sets that hold all of a system."""
    found: Json = {}
    for url, sets in values.items():
        for system, listed in (sets or {}).items():
            first = codes["systems"].get(system, {})
            added = sorted(set(later["systems"].get(system, {})) - set(first))
            if added and set(listed) == set(first):
                found.setdefault(url, {})[system] = added
    return found


def _is_free(copyright_text: str) -> bool:
    """Return whether a code system is HL7's own or in the public domain; excerpts of other bodies' standards are left out."""
    return not copyright_text or any(words in copyright_text for words in ("HL7 Terminology", "Copyright HL7", "public domain"))


def expand_value_sets(package: dict[str, list[Json]], urls: set[str]) -> Json:
    """Return value set URL → {system: codes}, or None if the package alone cannot enumerate it."""
    systems = {one["url"]: one for one in package["CodeSystem"]}
    sets = {one["url"]: one for one in package["ValueSet"]}
    return {url: _expand(sets.get(url), systems) for url in sorted(urls)}


#: Systems whose codes the value sets here may list: HL7's own, UCUM's, and the countries that R4 lists; excerpts of other bodies' standards are left out.
_LISTED = ("http://hl7.org/fhir/", "http://terminology.hl7.org/", "http://unitsofmeasure.org", "urn:ietf:bcp:47", "urn:iso:std:iso:3166")


def listed_table(package: dict[str, list[Json]], known: Json) -> Json:
    """Return value set URL → {system: codes, or null for all of a system in the table of codes} for those that the table of bindings leaves out."""
    whole = {one["url"] for one in package["CodeSystem"] if one.get("content") == "complete" and one.get("concept")}
    found: Json = {}
    composed: Json = {}
    for one in package["ValueSet"]:
        if known.get(one["url"]) is None:
            members = _listed(one, whole)
            if members:
                found[one["url"]] = members
            elif compose := _composed(one):
                composed[one["url"]] = {"compose": compose}
    return {"sets": found, "composed": composed}


def _composed(value_set: Json) -> Json:
    """The compose of a value set, without the codes that may not ship; empty if it names no code system and no value set."""
    compose: Json = {}
    for part in ("include", "exclude"):
        for include in value_set.get("compose", {}).get(part, ()):
            kept = {key: include[key] for key in ("system", "filter", "valueSet") if key in include}
            if "concept" in include and include.get("system", "").startswith(_LISTED):
                kept["concept"] = [{"code": one["code"]} for one in include["concept"]]
            elif "concept" in include:
                kept["withheld"] = True
            compose.setdefault(part, []).append(kept)
    return compose


def later_sets(packages: list[dict[str, list[Json]]], wanted: set[str]) -> Json:
    """Return value set URL → {system: {"grows": codes}} for sets of packages with editions, as far as they list whole systems or codes of their own."""
    systems = {one["url"]: one for package in reversed(packages) for one in package["CodeSystem"]}
    sets = {one["url"]: one for package in reversed(packages) for one in package["ValueSet"]}
    found: Json = {}
    for url in sorted(wanted & set(sets)):
        expanded = _expand(sets[url], systems) if "compose" in sets[url] else None
        if expanded and all(system.startswith(_LISTED) for system in expanded):
            found[url] = {system: {"grows": codes} for system, codes in expanded.items()}
    return found


def hierarchy_table(packages: list[dict[str, list[Json]]]) -> Json:
    """Return code system URL → code → the codes right above it, in any of the packages, for HL7's own systems that are complete."""
    found: dict[str, dict[str, set[str]]] = {}
    for package in packages:
        for one in package["CodeSystem"]:
            is_tree = one.get("content") == "complete" and one.get("concept") and one.get("hierarchyMeaning") in {None, "is-a"}
            if is_tree and one["url"].startswith(_LISTED) and _is_free(str(one.get("copyright", ""))):
                _above(one["concept"], "", found.setdefault(one["url"], {}))
    return {"systems": {url: {code: sorted(above) for code, above in sorted(codes.items())} for url, codes in sorted(found.items()) if codes}}


def _above(concepts: list[Json], parent: str, found: dict[str, set[str]]) -> None:
    for concept in concepts:
        above = {one["valueCode"] for one in concept.get("property", ()) if one.get("code") == "subsumedBy" and "valueCode" in one} | ({parent} - {""})
        if above:
            found.setdefault(concept["code"], set()).update(above)
        _above(concept.get("concept", []), concept["code"], found)


def _listed(value_set: Json, whole: set[str]) -> dict[str, list[str] | None] | None:
    compose = value_set.get("compose", {})
    members: dict[str, list[str] | None] = {}
    for include in compose.get("include", ()):
        system = include.get("system", "")
        if compose.get("exclude") or include.get("filter") or include.get("valueSet") or not system.startswith(_LISTED) or members.get(system, []) is None:
            return None
        if "concept" not in include and system not in whole:
            return None
        members[system] = sorted({*(members.get(system) or ()), *(one["code"] for one in include["concept"])}) if "concept" in include else None
    return members


def _expand(value_set: Json | None, systems: dict[str, Json]) -> dict[str, list[str]] | None:
    if value_set is None or value_set["compose"].get("exclude"):
        return None
    members: dict[str, set[str]] = {}
    for include in value_set["compose"]["include"]:
        if include.get("filter") or include.get("valueSet"):
            return None
        system = include.get("system", "")
        if "concept" in include:
            codes = {one["code"] for one in include["concept"]}
        elif systems.get(system, {}).get("content") == "complete":
            codes = set(flatten(systems[system].get("concept", []), {}))
        else:
            return None
        members.setdefault(system, set()).update(codes)
    return {system: sorted(codes) for system, codes in sorted(members.items())}
