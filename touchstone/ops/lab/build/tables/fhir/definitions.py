"""Structures, bindings, invariants, extensions and search parameters of FHIR R4, made compact."""

from __future__ import annotations

from typing import Any

from touchstone.ops.lab.build.tables.fhir.terminology import expand_value_sets
from touchstone.scorers.clinical.formats.fhir.profiles.constraints import extension_facts

Json = dict[str, Any]

#: Evaluated by the engine itself on every element, so they are not repeated on each.
EVERYWHERE = frozenset({"ele-1", "ext-1"})
#: Invariants whose published expression contradicts their text: the text counts, as in the official validator.
CORRECTED = {"que-12": "enableWhen.count() > 1 implies enableBehavior.exists()"}
LANGUAGES = "http://hl7.org/fhir/ValueSet/all-languages"
_BASE = "http://hl7.org/fhir/StructureDefinition/"
_REGEX = "http://hl7.org/fhir/StructureDefinition/regex"
_FHIR_TYPE = "http://hl7.org/fhir/StructureDefinition/structuredefinition-fhir-type"


def definitions_table(package: dict[str, list[Json]], extensions: dict[str, list[Json]] | None = None) -> Json:
    """Return the table of structures. `extensions`: a package with extension definitions that replace those of the first.

    `types`: type or backbone path → {kind, base, fields: [[name, min, max, [[type, targets, profiles]...], {binding, invariants}]]}.
    `invariants`: "key" or "key@type" → [severity, human, expression]. `values`: value set URL → {system: [codes]} for required bindings, or null
    where the package cannot enumerate it. `primitives`: name → regex or null.
    """
    table: Json = {"version": "4.0.1", "types": {}, "invariants": {}, "primitives": {}, "extensions": {}, "searches": {}}
    bound: set[str] = set()
    for definition in package["StructureDefinition"]:
        kind, derived = definition["kind"], definition.get("derivation") == "constraint"
        if definition["type"] == "Extension" and derived:
            table["extensions"][definition["url"]] = _extension(definition, bound)
        elif kind == "primitive-type":
            table["primitives"][definition["type"]] = _regex(definition)
        elif kind in {"resource", "complex-type"} and not derived:
            _structure(definition, table, bound)
    if extensions is not None:
        add_extensions(table, extensions, bound)
    table["values"] = expand_value_sets(package, bound)
    table["searches"] = {one["url"]: [one["code"], one["type"], sorted(one.get("base", []))] for one in package["SearchParameter"]}
    table["known"] = {kind: sorted(_tail(one) for one in package[kind] if one["url"].startswith("http://hl7.org/fhir/")) for kind in ("ValueSet",)}
    table["profiles"] = sorted(one["url"] for one in package["StructureDefinition"])
    return table


def add_extensions(table: Json, package: dict[str, list[Json]], bound: set[str]) -> None:
    """Add the extension definitions of another package; if both define one, the later package's counts.

    `r4` of each: what R4 itself says of it (true where that is the same, false where R4 does not have it), since only that is as old as R4.
    """
    for definition in package["StructureDefinition"]:
        if definition["type"] == "Extension" and "snapshot" in definition:
            old = table["extensions"].get(definition["url"])
            facts = _extension(definition, bound)
            table["extensions"][definition["url"]] = facts | {"r4": False if old is None else True if old == facts else old}


def _extension(definition: Json, bound: set[str]) -> Json:
    """An extension's definition, with the value sets of its value or of its parts: `bindings`, by the part or ""."""
    facts = extension_facts(definition)
    for element in definition.get("snapshot", {}).get("element", ()):
        identity, url = str(element.get("id")), _more(element, bound, []).get("binding")
        if url is not None and identity.startswith("Extension.") and identity.endswith(".value[x]"):
            part = identity.removeprefix("Extension.").removesuffix("value[x]").removeprefix("extension:").rstrip(".")
            if "." not in part:
                facts.setdefault("bindings", {})[part] = url
    return facts


def _tail(resource: Json) -> str:
    return str(resource["url"]).removeprefix("http://hl7.org/fhir/")


def _regex(definition: Json) -> str | None:
    for element in definition["snapshot"]["element"]:
        if element["path"].endswith(".value"):
            for extension in element["type"][0].get("extension", []):
                if extension["url"] == _REGEX:
                    return str(extension["valueString"])
    return None


def _structure(definition: Json, table: Json, bound: set[str]) -> None:
    name = definition["type"]
    elements = definition["snapshot"]["element"]
    parents = {element["path"].rsplit(".", 1)[0] for element in elements[1:]}
    types: Json = table["types"]
    base = definition.get("baseDefinition", "").removeprefix(_BASE)
    types[name] = {"kind": definition["kind"].split("-")[0], "base": base, "abstract": definition["abstract"], "fields": [], "invariants": []}
    for path in parents - {name}:
        types[path] = {"kind": "backbone", "base": "BackboneElement", "abstract": False, "fields": [], "invariants": []}
    for element in elements:
        path = element["path"]
        keys = [_invariant(one, name, table) for one in element.get("constraint", []) if one["key"] not in EVERYWHERE]
        if path in types:
            types[path]["invariants"] = keys
        if path == name:
            continue
        parent, short = path.rsplit(".", 1)
        more = _more(element, bound, [] if path in types else keys)
        types[parent]["fields"].append([short, element["min"], element["max"], _types(element, path in parents), more])


def _invariant(constraint: Json, owner: str, table: Json) -> str:
    key, facts = constraint["key"], [constraint["severity"], constraint["human"], CORRECTED.get(constraint["key"], constraint.get("expression", ""))]
    held = table["invariants"].setdefault(key, facts)
    if held[2] != facts[2]:
        key = f"{key}@{owner}"
        table["invariants"][key] = facts
    return str(key)


def _types(element: Json, has_children: bool) -> list[Any]:
    if element["base"]["path"] == "Resource.id":
        return [["id", [], []]]  # the snapshot states its FHIRPath type, string
    if "contentReference" in element:
        return [[element["contentReference"], [], []]]
    if has_children:
        return [["#" + element["path"], [], []]]
    return [_type(one) for one in element.get("type", [])]


def _type(one: Json) -> list[Any]:
    code = one["code"]
    for extension in one.get("extension", []):
        if extension["url"] == _FHIR_TYPE:
            code = extension["valueUrl"]
    targets, profiles = (sorted(url.removeprefix(_BASE) for url in one.get(key, [])) for key in ("targetProfile", "profile"))
    return [code, targets, profiles]


def _more(element: Json, bound: set[str], keys: list[str]) -> Json:
    more: Json = {}
    binding = element.get("binding")
    if binding is not None and binding["strength"] == "required" and "valueSet" in binding:
        url = binding["valueSet"].split("|")[0]
        bound.add(url)
        more["binding"] = url
    elif binding is not None and any(one.get("valueCanonical") == LANGUAGES for one in binding.get("extension", ())):
        more["binding"] = LANGUAGES  # the greatest value set, beside a preferred one
    if keys:
        more["invariants"] = keys
    return more


#: The members of an element that the check of profiles reads.
_READ = ("id", "path", "min", "max", "type", "binding", "mustSupport", "slicing", "constraint")


def profiles_table(package: dict[str, list[Json]]) -> Json:
    """Return the profiles that FHIR R4 itself publishes (vital signs and others), with only the parts of each element that a check reads."""
    found = {}
    for definition in package["StructureDefinition"]:
        if (
            definition.get("derivation") == "constraint"
            and definition["type"] != "Extension"
            and definition["kind"] in {"resource", "complex-type"}
            and "snapshot" in definition
        ):
            elements = [_slim(element) for element in definition["snapshot"]["element"]]
            facts = {key: definition[key] for key in ("resourceType", "url", "version", "type", "baseDefinition", "kind", "derivation")}
            found[definition["url"]] = facts | {"snapshot": {"element": elements}}
    return {"profiles": found}


def _slim(element: Json) -> Json:
    slim = {key: value for key, value in element.items() if key in _READ or key.startswith(("fixed", "pattern"))}
    if "binding" in slim:
        slim["binding"] = {key: slim["binding"][key] for key in ("strength", "valueSet") if key in slim["binding"]}
    if "constraint" in slim:
        slim["constraint"] = [
            {key: one[key] for key in ("key", "severity", "human", "expression") if key in one} for one in slim["constraint"] if one["key"] not in EVERYWHERE
        ]
    return slim
