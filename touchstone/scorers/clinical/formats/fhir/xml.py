"""FHIR XML → the members of FHIR JSON (R4, xml.html), so that the same rules check both.

Faults of XML alone are reported here: namespaces, text between elements, unknown attributes, the order of elements. Document types are refused, entities
are not expanded, and nothing is fetched.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import Any, Final

from touchstone.scorers.clinical.formats.fhir.document import Document, Place
from touchstone.scorers.clinical.formats.fhir.options import Options
from touchstone.scorers.clinical.formats.fhir.tables import Field, Type, definitions
from touchstone.scorers.clinical.report import Context, Report
from touchstone.scorers.installing import extra_named

#: A parsed tree takes about ten times the size of its text.
BYTES_MAX: Final = 32 * 1024 * 1024
#: Depth of elements; libxml2's own bound is 256.
DEPTH_MAX: Final = 150
FHIR: Final = "http://hl7.org/fhir"
XHTML: Final = "http://www.w3.org/1999/xhtml"
#: A document type, after anything that may come before it. Possessive, so that no text makes this slow.
_DOCTYPE: Final = re.compile(rb"(?:\s++|<\?.*?\?>|<!--.*?-->)*+<!DOCTYPE", re.DOTALL)
_INTEGERS: Final = frozenset({"integer", "positiveInt", "unsignedInt"})
_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_DECIMAL: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,300})(?:\.[0-9]{1,300})?(?:[eE][+-]?[0-9]{1,2})?")
_NO_DOCTYPE: Final = "a document type declaration: FHIR XML has none, and what has one is refused unread"
_BOOLEANS: Final = {"true": True, "false": False}


def read_xml(data: bytes, document: Document) -> dict[str, Any] | None:
    """Return the resource of an XML document as in FHIR JSON; None, with a finding, if there is none."""
    if len(data) > BYTES_MAX:
        document.add("critical", "fhir.xml.size", None, f"XML larger than {BYTES_MAX:,} bytes: not read")
        return None
    if find_spec("lxml") is None:
        document.skip("fhir.xml", f"FHIR XML needs lxml; {extra_named('clinical')}")
        return None
    from lxml import etree

    # Searched first, because the parser reports an entity in a document type as a syntax error.
    if _DOCTYPE.match(data):
        document.add("critical", "fhir.xml.doctype", None, _NO_DOCTYPE)
        return None
    strict = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False, "remove_comments": True}
    try:
        root = etree.fromstring(data, etree.XMLParser(**strict))
    except etree.XMLSyntaxError as error:
        line, column = error.position
        document.add("critical", "fhir.xml.syntax", None, f"not well-formed XML, at line {line} column {column}; or nested deeper than 256 elements")
        return None
    except ValueError:
        document.add("critical", "fhir.xml.syntax", None, "not XML that can be read: its encoding is unknown")
        return None
    if root.getroottree().docinfo.internalDTD is not None:
        document.add("critical", "fhir.xml.doctype", None, _NO_DOCTYPE)
        return None
    if _namespace(root) != FHIR:
        document.add("critical", "fhir.xml.namespace", None, "the root element is not in FHIR's namespace: not a FHIR resource")
        return None
    around = (*root.itersiblings(), *root.itersiblings(preceding=True))
    if next(root.iter(etree.ProcessingInstruction), None) is not None or any(one.tag is etree.ProcessingInstruction for one in around):
        document.add("major", "fhir.xml.instruction", None, "a processing instruction: FHIR XML has none")
        # Parsed again without them: removing each would copy the text around it.
        root = etree.fromstring(data, etree.XMLParser(**strict, remove_pis=True))
    return _Reader(document).resource(root, None, 0)


def xml_as_json(data: bytes) -> dict[str, Any] | None:
    """Return the resource of an XML document, whatever its faults; None if there is none."""
    return read_xml(data, Document(Report(), Context(), Options()))


class _Reader:
    """Converts elements to members."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._types = definitions().types

    def resource(self, element: Any, outer: Place | None, depth: int) -> dict[str, Any]:
        """Convert one resource."""
        name = _local(element)
        of = self._types.get(name)
        shown = name if of is not None else "Resource"
        found: dict[str, Any] = {"resourceType": name}
        self._members(element, of if of is not None and of.kind == "resource" else None, found, (outer, shown, None), depth, is_resource=True)
        return found

    def _add(self, code: str, place: Place, message: str) -> None:
        self._document.add("major", f"fhir.xml.{code}", place, message)

    def _members(self, element: Any, of: Type | None, into: dict[str, Any], place: Place, depth: int, *, is_resource: bool = False) -> None:
        """Convert the attributes and children of an element to members of an object."""
        self._attributes(element, of, into, place, is_resource=is_resource)
        self._text(element, place)
        if depth > DEPTH_MAX:
            self._document.add("critical", "fhir.structure.depth", place, f"nested deeper than {DEPTH_MAX} elements; not read further")
            return
        order = {one.element: number for number, one in enumerate(of.fields.values())} if of is not None else {}
        last = 0
        together: dict[str, list[Any]] = {}
        for child in element:
            name = self._name(child, of, place)
            if name is None:
                continue
            field = of.fields.get(name) if of is not None else None
            if field is not None:
                number = order[field.element]
                if number < last:
                    self._add(
                        "order",
                        (place, name, None),
                        "this element comes too late: FHIR XML has a fixed order of elements, and an element that must follow it comes before it",
                    )
                last = max(last, number)
            if (not is_resource and name == "id") or (of is not None and of.name == "Extension" and name == "url"):
                self._add("attribute", (place, name, None), "this is an attribute in FHIR XML, not an element")
            together.setdefault(name, []).append(child)
        for name, children in together.items():
            self._member(name, children, of.fields.get(name) if of is not None else None, into, place, depth)

    def _name(self, child: Any, of: Type | None, place: Place) -> str | None:
        """The member's name of a child; None if it is not a FHIR element."""
        if not isinstance(child.tag, str):  # an entity reference
            self._add("entity", place, "an entity reference: FHIR XML has none beyond XML's own")
            return None
        name = _local(child)
        is_narrative = of is not None and of.name == "Narrative" and name == "div"
        wanted = XHTML if is_narrative else FHIR
        if _namespace(child) != wanted:
            self._add("namespace", place, f"a child element is not in the namespace {wanted}")
            return name if is_narrative else None
        return name

    def _attributes(self, element: Any, of: Type | None, into: dict[str, Any], place: Place, *, is_resource: bool) -> None:
        # By name: lxml searches each value from the first attribute on, which takes hours for a million.
        names: list[str] = element.keys()
        for name in names:
            if name == "id" and not is_resource:
                into["id"] = str(element.get(name))
            elif name == "url" and of is not None and of.name == "Extension":
                into["url"] = str(element.get(name))
            else:  # hints for schemas (xsi:schemaLocation) as well
                self._add("attribute", place, "this element has no such attribute in FHIR XML")

    def _text(self, element: Any, place: Place) -> None:
        if any(text and text.strip() for text in (element.text, *(child.tail for child in element))):
            self._add("text", place, "text between elements; FHIR XML keeps values in the attribute value")

    def _member(self, name: str, children: list[Any], field: Field | None, into: dict[str, Any], place: Place, depth: int) -> None:
        """Convert all children of one name to one member."""
        many = field.many if field is not None else len(children) > 1
        # A repeated element that must not repeat becomes a list, which the structure rules report.
        is_list = many or len(children) > 1
        values: list[Any] = []
        beside: list[Any] = []
        for index, child in enumerate(children):
            at: Place = (place, name if field is not None else self._document.named(name), index if is_list else None)
            value, extra = self._value(child, field, at, depth + 1)
            values.append(value)
            beside.append(extra)
        if any(value is not None for value in values):
            into[name] = values if is_list else values[0]
        if any(extra is not None for extra in beside):
            into[f"_{name}"] = beside if is_list else beside[0]

    def _value(self, child: Any, field: Field | None, place: Place, depth: int) -> tuple[Any, Any]:
        """A child's value, and the id and extensions of a primitive."""
        kind = field.kind if field is not None else ("primitive" if child.get("value") is not None else "complex")
        if kind == "xhtml":
            from lxml import etree

            return etree.tostring(child, encoding="unicode", with_tail=False), None
        if kind == "resource":
            return self._inner(child, place, depth), None
        if kind == "primitive":
            return self._primitive(child, field, place, depth)
        found: dict[str, Any] = {}
        self._members(child, self._types.get(field.type) if field is not None else None, found, place, depth)
        if not found:
            self._add("empty", place, "an element has a value, an extension, or children")
        return found, None

    def _inner(self, child: Any, place: Place, depth: int) -> dict[str, Any] | None:
        """The resource inside of an element."""
        self._text(child, place)
        inside = [one for one in child if isinstance(one.tag, str)]
        if len(inside) != 1:
            self._add("resource", place, "this element holds exactly one resource")
        if not inside or _namespace(inside[0]) != FHIR:
            return None
        return self.resource(inside[0], place, depth + 1)

    def _primitive(self, child: Any, field: Field | None, place: Place, depth: int) -> tuple[Any, Any]:
        text = child.get("value")
        beside: dict[str, Any] = {}
        child.attrib.pop("value", None)
        # Every element may have an id and extensions besides a value.
        self._members(child, self._types.get("Element"), beside, place, depth)
        if text is None and not beside:
            self._add("empty", place, "an element has a value, an extension, or children")
        value = None if text is None else _typed(text, field.type if field is not None else "string")
        return value, beside or None


def _local(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def _namespace(element: Any) -> str:
    return str(element.tag).rpartition("}")[0].removeprefix("{")


def _typed(text: str, kind: str) -> Any:
    """A value as in JSON. A text that is not of its type stays text, and `primitives` reports it."""
    if kind == "boolean":
        return _BOOLEANS.get(text, text)
    if kind in _INTEGERS and _INTEGER.fullmatch(text):
        return int(text)
    if kind == "decimal" and _DECIMAL.fullmatch(text):
        number = float(text)
        return number if number not in (float("inf"), float("-inf")) else text
    return text
