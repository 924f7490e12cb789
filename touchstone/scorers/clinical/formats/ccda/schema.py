"""XSD validation, if a schema is configured. libxml2's messages quote the document; ours name the rule, the element and what was expected."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.formats.ccda.document import Document
from touchstone.scorers.clinical.formats.ccda.element_names import NAMES
from touchstone.scorers.clinical.formats.ccda.options import PER_CODE_MAX
from touchstone.scorers.clinical.formats.ccda.time_limit import Pool

#: Larger documents are not validated by the schema, because libxml2 keeps every fault until it is done.
ELEMENTS_MAX: Final = 200_000
_EXPECTED: Final = re.compile(r"Expected is (?:one of )?\(([^()]{1,2000})\)")
_NAMESPACE: Final = re.compile(r"\{[^}]*\}")
_WORD: Final = re.compile(r"[A-Za-z][\w.-]*")
_EXPECTED_MAX: Final = 12
_WORDS: Final = {
    "ELEMENT_CONTENT": "an element that the schema does not allow here, or a required element is missing before it",
    "CVC_ENUMERATION_VALID": "a value that is none of those the schema lists",
    "CVC_PATTERN_VALID": "a value that is not of the form the schema asks for",
    "CVC_DATATYPE_VALID_1_2_1": "a value that is not of its type",
    "CVC_TYPE_3_1_1": "an attribute or element that this type does not have",
    "CVC_COMPLEX_TYPE_3_2_1": "an attribute that the schema does not have here",
    "CVC_COMPLEX_TYPE_3_2_2": "an attribute that the schema does not have here",
    "CVC_COMPLEX_TYPE_2_1": "content where the schema has none",
    "CVC_COMPLEX_TYPE_2_3": "text where the schema has elements only",
    "CVC_COMPLEX_TYPE_4": "a required attribute is missing",
    "CVC_ELT_1": "an element that the schema does not define",
    "CVC_ELT_4_1": "an xsi:type that is no name",
    "CVC_ELT_4_2": "an xsi:type that the schema does not define",
    "CVC_ELT_4_3": "an xsi:type that this element may not have",
    "CVC_ELT_2": "an element of an abstract type without an xsi:type",
    "CVC_MAXLENGTH_VALID": "a value that is too long",
    "CVC_MINLENGTH_VALID": "a value that is too short",
}


class Schema:
    """A compiled XSD, one for each concurrent document, because it holds the log of faults."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._compiled: Pool[Any] = Pool(self._compile)
        with self._compiled.one():
            pass  # compile now, so that an unusable schema is refused at the start

    def _compile(self) -> Any:
        from lxml import etree

        path = self._path
        try:
            return etree.XMLSchema(etree.parse(str(path), etree.XMLParser(no_network=True, resolve_entities=False, load_dtd=False)))
        except (OSError, etree.XMLSyntaxError, etree.XMLSchemaParseError) as error:
            raise ConfigError(f"{path} cannot be used as an XSD ({type(error).__name__}); name CDA_SDTC.xsd, with the files it includes beside it") from None

    def faults(self, root: Any) -> list[Any]:
        """The schema's faults in a document."""
        with self._compiled.one() as schema:
            return [] if schema.validate(root) else list(schema.error_log)


def schema_of(path: Path) -> Schema:
    """The schema of a file, read again only when it changes. Raises `ConfigError`."""
    try:
        return _schema(path, path.stat().st_mtime_ns)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror}); name an XSD such as CDA_SDTC.xsd") from None


@lru_cache(maxsize=4)
def _schema(path: Path, _changed_ns: int) -> Schema:
    return Schema(path)


def check_schema(document: Document) -> bool:
    """Validate a document by the configured schema. Returns False if that was not possible."""
    path = document.options.schema
    if path is None:
        document.skip("ccda.schema", "no XSD (ccda.schema): the order and types of elements were not checked")
        return False
    if len(document.elements) > ELEMENTS_MAX:
        document.skip("ccda.schema", f"more than {ELEMENTS_MAX:,} elements: not held against the XSD")
        return False
    try:
        schema = schema_of(path)
    except ConfigError:
        document.skip("ccda.schema", f"{path.name} cannot be used as an XSD")
        return False
    document.report.fired("schema", len(document.elements))
    places: dict[str, Any] = {}
    for fault in schema.faults(document.root):
        document.check_time()
        name = str(fault.type_name).removeprefix("SCHEMAV_")
        code = f"ccda.schema.{name.lower().replace('_', '-')}"
        if document.reported[code, "major"] >= PER_CODE_MAX:
            # Counted and not shown: finding the elements of thousands of faults would cost the square of their number.
            document.add("major", code, None, "")
            continue
        element = places.get(fault.path) if fault.path in places else places.setdefault(fault.path, _found(document, fault.path))
        words = _WORDS.get(name, "breaks the schema")
        if name in {"CVC_PATTERN_VALID", "CVC_ENUMERATION_VALID"} and "attribute" not in fault.message:
            words = f"the element holds {words}"
        expected = _expected(fault.message)
        document.add(
            "major",
            code,
            element,
            f"XSD, line {fault.line}: {words}" + (f"; expected: {expected}" if expected else ""),
            value=fault.message if document.context.quote else None,
        )
    return True


def _found(document: Document, path: str | None) -> Any:
    """The element of a fault's path; None if libxml2 gives an unreadable path, so that only the line is reported."""
    from lxml import etree

    try:
        found = document.root.getroottree().xpath(path) if path else []
    except etree.XPathError:
        return None
    return found[0] if isinstance(found, list) and len(found) == 1 else None


def _expected(message: str) -> str:
    """The names of the elements that the schema expected."""
    found = _EXPECTED.search(message)
    if found is None:
        return ""
    names = [name for name in _WORD.findall(_NAMESPACE.sub("", found[1])) if name in NAMES]
    return ", ".join(names[:_EXPECTED_MAX])
