"""Mutations of narratives, contained resources, extensions, the name of the type, and Bundles."""

import copy
import random
from typing import Any

from touchstone.ops.lab.agreement.invariants import Mutation, spots
from touchstone.ops.lab.agreement.values import aimed, beside, concept, emptied, measured, twice, valued
from touchstone.scorers.clinical.formats.fhir.tables import definitions

_XHTML = 'xmlns="http://www.w3.org/1999/xhtml"'
_EXAMPLE = "http://example.org/x"
_NARRATIVES = (
    "<p>x</p>", "<script>x()</script>", '<p onclick="x()">x</p>', '<img src="http://example.org/x.png" alt="x"/>',
    "<p>x", "<P>x</P>", "a &nbsp; b", "a &amp; b", "a & b", "&#160;x", '<a href="#nowhere">x</a>',
    '<a href="http://example.org">x</a>', '<a href="javascript:x()">x</a>', "<!-- x -->x",
    '<p style="color:red">x</p>', "<iframe/>", "<b><i>x</b></i>", '<p class="a" class="b">x</p>',
    "<p id='a'>x</p><p id='a'>y</p>", "<form>x</form>", "<table><tr><td>x</td></tr></table>", "<ul>x</ul>",
    "<ul><li>x</li></ul>", "<p><div>x</div></p>", "<br>x</br>", "<hr/>x", "<h7>x</h7>", "<font>x</font>",
    "<![CDATA[x]]>", "<?x y?>x", '<p xml:lang="en">x</p>', '<p data-x="1">x</p>',
    '<x:p xmlns:x="http://www.w3.org/1999/xhtml">x</x:p>', "  ", "<p/>", '<object data="x"/>',
    '<p align="left">x</p>', "<td>x</td>", '<img src="x.png"/>', "<u>x</u>", "<s>x</s>", "<section>x</section>",
    "<center>x</center>", '<a name="x">x</a>', '<p bgcolor="red">x</p>', "<style>x</style>", "<link href='x'/>",
    "<embed src='x'/>", "<input/>", "&lt;b&gt;", "<col/>x",
)  # fmt: skip
_DIVS = (
    "<p>x</p>", f"<div {_XHTML}>x", f"<div {_XHTML}/>", f"<span {_XHTML}>x</span>", "<div>x</div>",
    '<div xmlns="http://example.org">x</div>', "x", f"<div {_XHTML}>x</div><div {_XHTML}>y</div>",
    f" <div {_XHTML}>x</div> ", f"<!DOCTYPE x><div {_XHTML}>x</div>", f"<?xml version='1.0'?><div {_XHTML}>x</div>",
    '<html:div xmlns:html="http://www.w3.org/1999/xhtml">x</html:div>', f"<DIV {_XHTML}>x</DIV>",
)  # fmt: skip


def inside(dice: random.Random, resource: dict[str, Any]) -> str | None:
    """A contained resource, right or wrong, with a right or wrong reference to it."""
    if "contained" not in definitions().types[str(resource["resourceType"])].fields or not isinstance(resource.get("contained", []), list):
        return None
    wrong: list[dict[str, object]] = [
        {"meta": {"versionId": "1"}},
        {"meta": {"lastUpdated": "2020-01-01T00:00:00Z"}},
        {"meta": {"security": [{"system": _EXAMPLE, "code": "x"}]}},
        {"meta": {"profile": [f"{_EXAMPLE}/p"]}},
        {"text": {"status": "generated", "div": f"<div {_XHTML}>x</div>"}},
        {"id": "#org"},
        {"id": None},
        {"resourceType": "Organisation"},
        {"unheard": "of"},
        {"contained": [{"resourceType": "Organization", "id": "inner", "name": "x"}]},
        {},
    ]
    inner: dict[str, object] = {"resourceType": "Organization", "id": "org", "name": "x"}
    inner |= dice.choice(wrong)
    resource["contained"] = [*resource.get("contained", []), {key: value for key, value in inner.items() if value is not None}]
    if dice.random() < 0.8:
        reference = dice.choice(["#org", "#org", "#org", "org", "#other", "#"])
        resource["extension"] = [*resource.get("extension", []), {"url": _EXAMPLE, "valueReference": {"reference": reference}}]
    return f"{resource['resourceType']}.contained"


def narrated(dice: random.Random, resource: dict[str, Any]) -> str | None:
    """A narrative, right or wrong."""
    if "text" not in definitions().types[str(resource["resourceType"])].fields:
        return None
    div = f"<div {_XHTML}>{dice.choice(_NARRATIVES)}</div>" if dice.random() < 0.8 else dice.choice(_DIVS)
    narrative: dict[str, Any] = {"status": dice.choice(["generated", "generated", "additional", "empty", "Generated", "made-up"]), "div": div}
    if dice.random() < 0.1:
        del narrative[dice.choice(sorted(narrative))]
    resource["text"] = narrative
    return f"{resource['resourceType']}.text.div"


def modified(dice: random.Random, resource: dict[str, Any]) -> str | None:
    """Wrong extensions of many kinds, ordinary and modifying, anywhere in the resource."""
    found = [resource, *(spot.value for spot in spots(resource) if isinstance(spot.value, dict)), *_items(resource)]
    holder = dice.choice(found)
    extension = dice.choice(
        [
            {"url": _EXAMPLE, "valueString": "x"},
            {"url": "", "valueString": "x"},
            {"url": "x", "valueString": "x"},
            {"url": f"{_EXAMPLE} y", "valueString": "x"},
            {"url": f"{_EXAMPLE}|1", "valueString": "x"},
            {"url": _EXAMPLE, "valueString": "x", "valueBoolean": True},
            {"url": _EXAMPLE, "valueString": ""},
            {"url": _EXAMPLE, "valueCode": "a  b"},
            {"url": _EXAMPLE, "value": "x"},
            {"url": _EXAMPLE, "valueReference": {"reference": "#nowhere"}},
            {"url": _EXAMPLE, "_valueString": {"extension": [{"url": _EXAMPLE, "valueCode": "x"}]}},
            {"url": _EXAMPLE, "extension": []},
            {"url": _EXAMPLE, "extension": [{"url": "a", "valueString": "x"}, {"url": "a", "valueString": "y"}]},
            {"url": _EXAMPLE, "extension": [{"valueString": "x"}]},
            {"url": "http://hl7.org/fhir/StructureDefinition/data-absent-reason", "valueCode": "unknown"},
            {"url": "http://hl7.org/fhir/StructureDefinition/data-absent-reason", "valueCode": "unheard-of"},
            {"url": "http://hl7.org/fhir/StructureDefinition/data-absent-reason", "valueString": "unknown"},
            {"url": "http://hl7.org/fhir/StructureDefinition/patient-birthPlace", "valueAddress": {"city": "x"}},
            {"url": "http://hl7.org/fhir/StructureDefinition/no-such-extension", "valueString": "x"},
            {"url": "http://hl7.org/fhir/StructureDefinition/iso21090-nullFlavor", "valueCode": "UNK"},
        ]
    )
    key = "modifierExtension" if dice.random() < 0.3 else "extension"
    holder[key] = [copy.deepcopy(extension)] * dice.choice([1, 1, 1, 2])
    return f"{resource['resourceType']}.{key}"


def _items(resource: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for spot in spots(resource) if isinstance(spot.value, list) for one in spot.value if isinstance(one, dict) and "resourceType" not in one]


def named(dice: random.Random, resource: dict[str, Any]) -> str | None:
    """The name of the type: unknown, of another type, misspelt, no text, absent, last."""
    name = str(resource.pop("resourceType"))
    value = dice.choice([name.lower(), f"{name} ", "Nonsense", "Resource", "DomainResource", "Patient", "Observation", "HumanName", "", None, 7, [name], name])
    if value is not None:
        resource["resourceType"] = value
    return f"{name}.resourceType"


def bundled(dice: random.Random, resource: dict[str, Any]) -> str | None:
    """The resource as an entry of a Bundle of some type, with one thing about the Bundle or its entry changed."""
    inner = dict(resource)
    name, identity = str(inner["resourceType"]), str(inner.get("id", "x"))
    inner.setdefault("id", identity)
    kind = dice.choice(
        ["collection", "collection", "transaction", "batch", "searchset", "history", "document", "message", "transaction-response", "Collection", "x"]
    )
    entry: dict[str, Any] = {"fullUrl": f"http://example.org/fhir/{name}/{identity}", "resource": inner}
    if kind in {"transaction", "batch", "history"}:
        entry["request"] = {"method": "PUT", "url": f"{name}/{identity}"}
    if kind in {"transaction-response", "history"}:
        entry["response"] = {"status": "200"}
    if kind == "searchset":
        entry["search"] = {"mode": "match"}
    urn = "urn:uuid:c757873d-ec9a-4326-a141-556f43239520"
    patches: list[dict[str, Any]] = [
        {},
        {"fullUrl": None},
        {"fullUrl": f"{name}/{identity}"},
        {"fullUrl": urn},
        {"fullUrl": urn.upper()},
        {"fullUrl": "urn:oid:1.2.3"},
        {"resource": None},
        {"fullUrl": f"http://example.org/fhir/{name}/other"},
        {"fullUrl": f"http://example.org/fhir/Other/{identity}"},
        {"fullUrl": ""},
        {"request": None},
        {"request": {"method": "PATCH", "url": "x"}},
        {"request": {"method": "get", "url": "x"}},
        {"request": {"method": "POST"}},
        {"search": {"mode": "match"}},
        {"response": {"status": "200"}},
        {"response": None},
        {"search": {"mode": "match", "score": 2}},
        {"link": [{"relation": "self", "url": _EXAMPLE}]},
        {"note": "x"},
    ]
    entry = {key: value for key, value in (entry | dice.choice(patches)).items() if value is not None}
    bundle: dict[str, Any] = {"resourceType": "Bundle", "type": kind, "entry": [entry]}
    outer: list[dict[str, Any]] = [
        {},
        {},
        {},
        {"total": 1},
        {"total": -1},
        {"entry": [entry, copy.deepcopy(entry)]},
        {"type": None},
        {"entry": []},
        {"entry": [{}]},
        {"entry": [None]},
        {"link": [{"relation": "self", "url": _EXAMPLE}]},
        {"link": [{"relation": "self", "url": _EXAMPLE}] * 2},
        {"timestamp": "2020-01-01"},
        {"identifier": {"system": "urn:ietf:rfc:3986", "value": urn}},
        {"text": {"status": "empty"}},
        {"contained": []},
        {"entry": entry},
        {"signature": {"type": [{"code": "x"}]}},
    ]
    bundle = {key: value for key, value in (bundle | dice.choice(outer)).items() if value is not None}
    resource.clear()
    resource.update(bundle)
    return f"Bundle[{kind}].entry[0]"


FAULTS: dict[str, Mutation] = {
    "value": valued,
    "beside": beside,
    "empty": emptied,
    "twice": twice,
    "contained": inside,
    "target": aimed,
    "narrative": narrated,
    "extensions": modified,
    "type name": named,
    "concept": concept,
    "unit": measured,
    "bundle": bundled,
}
