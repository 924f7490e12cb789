"""Reads C-CDA bytes into a tree, for documents that may be hostile.

Document types are refused, no entity is expanded, nothing is fetched or included. Size, elements, depth and attributes are bounded.
"""

from __future__ import annotations

import codecs
import re
from importlib.util import find_spec
from typing import Any, Final

from touchstone.scorers.clinical.formats.ccda.document import Document
from touchstone.scorers.clinical.formats.ccda.element_names import CDA
from touchstone.scorers.clinical.formats.ccda.options import ATTRIBUTE_CHARS_MAX, ATTRIBUTES_MAX
from touchstone.scorers.installing import extra_named

#: Encodings that documents may declare; each is decoded to the same characters on every machine.
_ENCODINGS: Final = {"utf8": "utf-8", "utf16": "utf-16", "usascii": "ascii", "ascii": "ascii", "iso88591": "iso-8859-1", "windows1252": "windows-1252"}
_MARKS: Final = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
#: First bytes of UTF-32 (with and without a mark) and UTF-16 (without). UTF-32 comes first, because its mark begins like UTF-16's.
_WIDE: Final = (
    (codecs.BOM_UTF32_LE, None),
    (codecs.BOM_UTF32_BE, None),
    (b"<\0\0\0", None),
    (b"\0\0\0<", None),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)
_DECLARATION: Final = re.compile(r"<\?xml\s[^>?]{0,200}\?>")
_ENCODING: Final = re.compile(rb"""^\s*<\?xml\s[^>?]{0,120}?encoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']""")
#: A document type, after what may precede one. Possessive, so that no text makes this slow.
_DOCTYPE: Final = re.compile(r"(?:\s++|<\?.*?\?>|<!--.*?-->)*+<!DOCTYPE", re.DOTALL)
#: The beginning of text whose `<` is no markup.
_UNMARKED: Final = re.compile(r"<!\[CDATA\[|<!--")
#: Longest text that libxml2 reads without `huge_tree`; a smaller document cannot hold a longer one.
_LONG_TEXT: Final = 10_000_000
#: libxml2's name of an error → a description without text of the document.
_FAULTS: Final = {
    "ERR_TAG_NAME_MISMATCH": "an end tag does not match its start tag",
    "ERR_TAG_NOT_FINISHED": "the document ends before an element does",
    "ERR_DOCUMENT_END": "there is text or an element after the end of the root element; remove it, or send each document in a file of its own",
    "ERR_DOCUMENT_EMPTY": "there is no root element",
    "ERR_GT_REQUIRED": "a tag is not closed",
    "ERR_LT_IN_ATTRIBUTE": "< in an attribute; write &lt;",
    "ERR_LTSLASH_REQUIRED": "an end tag is missing",
    "ERR_ATTRIBUTE_REDEFINED": "an attribute is given twice",
    "ERR_ATTRIBUTE_NOT_STARTED": "an attribute has no quotes",
    "ERR_ATTRIBUTE_NOT_FINISHED": "an attribute has no end",
    "ERR_UNDECLARED_ENTITY": "an entity that XML does not define; write the character",
    "WAR_UNDECLARED_ENTITY": "an entity that XML does not define; write the character",
    "ERR_ENTITYREF_SEMICOL_MISSING": "& that begins no entity; write &amp;",
    "ERR_NAME_REQUIRED": "a name is missing; a bare & is written &amp;, a bare < is written &lt;",
    "ERR_INVALID_CHAR": "a character that XML does not allow",
    "ERR_INVALID_CHARREF": "a reference to a character that XML does not allow",
    "NS_ERR_UNDEFINED_NAMESPACE": "a prefix without its namespace",
    "ERR_RESOURCE_LIMIT": "elements nested deeper than 256, or a name or value longer than the XML parser reads; make it smaller",
    "ERR_NAME_TOO_LONG": "a name longer than the XML parser reads (50,000 characters); shorten it",
    "ERR_SPACE_REQUIRED": "a space is missing between attributes",
    "ERR_RESERVED_XML_NAME": "an XML declaration that is not at the start",
}


def read(data: bytes, document: Document) -> bool:
    """Read a document into `document.root`. Returns False, and reports why, if it cannot be read or is no CDA document."""
    options = document.options
    if len(data) > options.bytes_max:
        document.add("critical", "ccda.xml.size", None, f"Larger than {options.bytes_max:,} bytes: not read")
        return False
    if find_spec("lxml") is None:
        document.skip("ccda", f"C-CDA needs lxml; {extra_named('clinical')}")
        return False
    text = _decoded(data, document)
    if text is None:
        return False
    if _DOCTYPE.match(text):
        document.add("critical", "ccda.xml.doctype", None, "A document type declaration: C-CDA has none, and what has one is refused unread")
        return False
    tags_max = 2 * options.elements_max + 1_000
    if text.count("<") > tags_max and _tags(text) > tags_max:
        document.add("critical", "ccda.xml.elements", None, f"More than {options.elements_max:,} elements: not read")
        return False
    root = _parsed(text, document)
    if root is None or not _is_bounded(root, document):
        return False
    if root.tag != f"{{{CDA}}}ClinicalDocument":
        document.add("critical", "ccda.xml.root", None, f"The root element is not ClinicalDocument of the namespace {CDA}")
        return False
    document.root = root
    return True


def _tags(text: str) -> int:
    """How many `<` stand outside of CDATA sections and comments. Each character is looked at once; after one that is not closed the rest counts."""
    count = at = 0
    while (opening := _UNMARKED.search(text, at)) is not None:
        end = text.find("]]>" if opening[0] == "<![CDATA[" else "-->", opening.end())
        if end < 0:
            break
        count += text.count("<", at, opening.start())
        at = end + 3
    return count + text.count("<", at)


def _decoded(data: bytes, document: Document) -> str | None:
    """The document's text with blanks for its XML declaration, so that lines and columns stay; None if it cannot be decoded."""
    encoding = _encoding_of(data)
    if encoding is None:
        document.add(
            "critical",
            "ccda.xml.encoding",
            None,
            f"The encoding is not one of {', '.join(sorted(set(_ENCODINGS.values())))}: not read",
            suggestion="Declare and send UTF-8",
        )
        return None
    if encoding == "utf-16" and data[:1] == b"<":
        document.add("critical", "ccda.xml.encoding", None, "Declared as UTF-16, and its bytes are not", suggestion="Declare and send UTF-8")
        return None
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        document.add("critical", "ccda.xml.encoding", None, f"Not {encoding} text, at line {line}: the bytes are of another encoding", suggestion="Send UTF-8")
        return None
    # The text is encoded as UTF-8 below, whatever its declaration says.
    declaration = _DECLARATION.match(text)
    return text if declaration is None else re.sub(r"[^\r\n]", " ", declaration[0]) + text[declaration.end() :]


def _encoding_of(data: bytes) -> str | None:
    """The encoding of a document: by its mark, its first bytes, or its declaration; None if it is not supported."""
    for begins, name in _WIDE:
        if data.startswith(begins):
            return name
    for mark, name in _MARKS:
        if data.startswith(mark):
            return name
    found = _ENCODING.match(data[:400])
    declared = found[1].decode("ascii").lower().replace("-", "").replace("_", "") if found else "utf8"
    return _ENCODINGS.get(declared)


def _parsed(text: str, document: Document) -> Any:
    from lxml import etree

    data = text.encode("utf-8", "surrogatepass")
    # With document types refused, huge_tree allows only longer texts; depth and attributes are bounded below.
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False, huge_tree=len(data) > _LONG_TEXT, encoding="utf-8", collect_ids=False
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        line, column = error.position
        last = error.error_log.last_error if error.error_log is not None else None
        fault = _FAULTS.get(str(last.type_name) if last is not None else "", "not well-formed XML")
        document.add("critical", "ccda.xml.syntax", None, f"Malformed XML at line {line}, column {column}: {fault}")
        return None
    except ValueError:
        document.add("critical", "ccda.xml.syntax", None, "Malformed XML: characters that XML does not allow")
        return None
    if root.getroottree().docinfo.internalDTD is not None:
        document.add("critical", "ccda.xml.doctype", None, "A document type declaration: C-CDA has none, and what has one is refused unread")
        return None
    return root


def _is_bounded(root: Any, document: Document) -> bool:
    """True if a tree is within the bounds. Each expression visits each node once."""
    options = document.options
    if root.xpath("count(//*)") > options.elements_max:
        document.add("critical", "ccda.xml.elements", None, f"More than {options.elements_max:,} elements: not checked")
        return False
    if root.xpath("boolean(/" + "/".join("*" * (options.depth_max + 1)) + ")"):
        document.add("critical", "ccda.xml.depth", None, f"Nested deeper than {options.depth_max} elements: not checked")
        return False
    if root.xpath(f"boolean(//*[@*[{ATTRIBUTES_MAX + 1}]])"):
        document.add("critical", "ccda.xml.attributes", None, f"An element with more than {ATTRIBUTES_MAX} attributes: not checked")
        return False
    if root.xpath(f"boolean(//@*[string-length() > {ATTRIBUTE_CHARS_MAX}])"):
        document.add("critical", "ccda.xml.attributes", None, f"An attribute longer than {ATTRIBUTE_CHARS_MAX:,} characters: not checked")
        return False
    return True
