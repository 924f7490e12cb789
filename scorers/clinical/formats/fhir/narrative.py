"""Narrative XHTML: well-formed, only what R4 allows, nothing active (R4: narrative.html, txt-1, txt-2).

The text is scanned once, left to right. No parser with entities is involved, so nothing can be expanded: a document type is refused
where it is met, and an entity is one of XML's five or a number.
"""

from __future__ import annotations

import re
from functools import lru_cache

from scorers.clinical.formats.fhir.document import Document
from scorers.clinical.formats.fhir.options import NARRATIVE_CHARS_MAX

NAMESPACE = "http://www.w3.org/1999/xhtml"
#: Tags of one narrative and how deep they may be nested.
TAGS_MAX = 200_000
TAG_DEPTH_MAX = 512

_TOKEN = re.compile(
    r"<!--(?P<comment>.*?)-->|<!\[CDATA\[(?P<data>.*?)\]\]>|<(?P<close>/?)(?P<name>[A-Za-z][\w:.\-]*+)(?P<rest>(?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*+)>", re.DOTALL
)
_ATTRIBUTE = re.compile(r"\s++([A-Za-z_:][\w:.\-]*+)\s*+=\s*+(?:\"([^\"<]*)\"|'([^'<]*)')")
_ENTITY = re.compile(r"&(?:(#\d{1,7}|#x[0-9A-Fa-f]{1,6})|([A-Za-z][A-Za-z0-9]*))?(;?)")
_BLANKS = re.compile(r"&#(?:9|10|13|32|x0*(?:9|[aA]|[dD]|20));")
_XML_ENTITIES = frozenset({"amp", "lt", "gt", "quot", "apos"})
#: HTML 4.0 chapters 7 to 11 (without 9.4) and 15, as txt-1 names them, with links and images.
_ELEMENTS = frozenset(
    "p br div h1 h2 h3 h4 h5 h6 a span b em i strong small big tt dfn q var abbr acronym cite blockquote hr address bdo kbd sub sup ul ol li dl dt dd pre "  # noqa: SIM905
    "table caption colgroup col thead tr tfoot tbody th td code samp img map area".split()
)
_ATTRIBUTES = frozenset(
    "title style class id lang xml:lang xml:space dir accesskey tabindex span width align valign char charoff "  # noqa: SIM905
    "abbr axis headers scope rowspan colspan xmlns".split()
)
_ATTRIBUTES_OF = {
    "a": frozenset({"charset", "coords", "href", "hreflang", "name", "rel", "rev", "shape", "type"}),
    "area": frozenset({"alt", "coords", "href", "nohref", "shape"}),
    "blockquote": frozenset({"cite"}),
    "img": frozenset({"alt", "border", "height", "ismap", "longdesc", "src", "usemap"}),
    "map": frozenset({"name"}),
    "pre": frozenset({"space"}),
    "q": frozenset({"cite"}),
    "table": frozenset({"border", "cellpadding", "cellspacing", "frame", "rules", "summary"}),
    "td": frozenset({"nowrap"}),
}
#: Tags kept as good, and their length.
_KNOWN_MAX = 5_000
_KNOWN_CHARS_MAX = 120
#: Elements that hold only some others, and no text; elements that stand only in some others.
_ROWS = frozenset({"tr"})
_CELLS = frozenset({"th", "td"})
_ONLY = {
    "ul": frozenset({"li"}),
    "ol": frozenset({"li"}),
    "dl": frozenset({"dt", "dd"}),
    "table": frozenset({"caption", "col", "colgroup", "thead", "tbody", "tfoot", "tr"}),
    **dict.fromkeys(("tbody", "thead", "tfoot"), _ROWS),
    "tr": _CELLS,
    "map": frozenset({"area"}),
    **dict.fromkeys(("area", "br", "col", "hr", "img"), frozenset[str]()),
}
_WITHIN = {
    "li": frozenset({"ul", "ol"}),
    **dict.fromkeys(("dt", "dd"), frozenset({"dl"})),
    **dict.fromkeys(("td", "th"), _ROWS),
    "tr": frozenset({"table", "thead", "tbody", "tfoot"}),
    **dict.fromkeys(("thead", "tbody", "tfoot", "caption", "colgroup"), frozenset({"table"})),
    "col": frozenset({"table", "colgroup"}),
}
#: What holds text only, however deep, and what that cannot hold; what cannot stand inside itself, however deep.
_PHRASES = frozenset(
    "a abbr acronym address b bdo big caption cite code dd dfn dt em h1 h2 h3 h4 h5 h6 i kbd p pre q samp small span strong sub sup tt var".split()  # noqa: SIM905
)
_BARRED = {
    **dict.fromkeys(("div", "ul", "ol", "table", "pre"), _PHRASES),
    **dict.fromkeys(("p", "blockquote"), frozenset({"p"})),
    **{
        name: frozenset({name})
        for name in "a abbr acronym b bdo big cite code dfn em i kbd q samp small strong sub sup tt var".split()  # noqa: SIM905
    },
}
#: Schemes of what is no place that a link could lead to; characters that a URL has not.
_NO_PLACE = re.compile(r"\s*(urn|cid):", re.IGNORECASE)
_NO_URL = re.compile(r"(?!data:).*[\s\"]", re.DOTALL)
_TEXT_LINK = "http://hl7.org/fhir/StructureDefinition/textLink"
_ACTIVE = re.compile(r"\s*(javascript|vbscript|data\s*:\s*text/html)\b", re.IGNORECASE)


def check_narratives(document: Document) -> None:
    """Check every narrative of a document."""
    anchors: list[set[str]] = []
    links: list[list[str]] = []
    for text, place, _ in document.narratives:
        document.report.fired("narrative")
        scan = Scan(text)
        scan.run()
        for code, message in scan.problems:
            document.say("major", code, place, message)
        anchors.append(scan.anchors)
        links.append(scan.links)
    _links(document, anchors, links)
    _text_links(document, anchors)


def _text_links(document: Document, anchors: list[set[str]]) -> None:
    """An extension that links data with a part of the narrative (textLink) names an id that the narrative has."""
    known = None
    for value, place, _ in document.extensions:
        if value.get("url") != _TEXT_LINK:
            continue
        if known is None:
            known = set().union(*anchors)
        parts = value.get("extension")
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict) and part.get("url") == "htmlid" and isinstance(part.get("valueString"), str) and part["valueString"] not in known:
                document.say("major", "fhir.narrative.link", place, "the narrative has no element with the id that this link names")


def _links(document: Document, anchors: list[set[str]], links: list[list[str]]) -> None:
    """A link into the page must find an anchor in some narrative, an element id or a contained resource of the document."""
    if not any(links):
        return
    known = set().union(*anchors)
    for frame in document.frames:
        known.update(frame.ids)
        identity = frame.resource.get("id")
        if isinstance(identity, str):
            known.update({identity, f"{frame.type}/{identity}"} if frame.container is not None or frame.entry is not None else set())
    for (_, place, _), found in zip(document.narratives, links, strict=True):
        for link in found:
            if link not in known:
                document.say("major", "fhir.narrative.link", place, "a link into the narrative finds no anchor there")


@lru_cache(maxsize=1)
def _known() -> dict[str, tuple[str, str]]:
    """Tags that were found good, by what stands between their brackets; shared, and bounded."""
    return {}


def _has_place(name: str, opened: list[str]) -> bool:
    """Return whether an element may stand inside those that are open, outermost first."""
    if not opened:
        return True
    inner, outer, barred = _ONLY.get(opened[-1]), _WITHIN.get(name), _BARRED.get(name)
    if (inner is not None and name not in inner) or (outer is not None and opened[-1] not in outer):
        return False
    return barred is None or barred.isdisjoint(opened)


def _is_blank(chars: str) -> bool:
    """Return whether text is nothing but whitespace, some of it perhaps written as numbers."""
    return not _BLANKS.sub("", chars).strip()


def _step(kind: str, name: str, opened: list[str], rooted: bool) -> bool:
    """Open or close an element; return whether that is right where it stands. `rooted`: the outermost element was there already."""
    if kind == "close":
        return bool(opened) and opened.pop() == name
    if not opened and (kind != "root" or rooted):
        return False
    if not _has_place(name, opened):
        return False
    if kind != "empty":
        opened.append(name)
    return len(opened) <= TAG_DEPTH_MAX


class Scan:
    """One narrative: its problems, the anchors it offers and the links into the page that it makes."""

    def __init__(self, text: str) -> None:
        self.problems: list[tuple[str, str]] = []
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self._text = text
        self._open: list[str] = []
        self._content = False
        self._tags = 0

    def _say(self, code: str, message: str) -> None:
        if (code, message) not in self.problems and len(self.problems) < 20:
            self.problems.append((code, message))

    def run(self) -> None:
        """Scan the text: quickly, and where something is the matter once more to say what."""
        if not self._quick():
            self.anchors.clear()
            self.links.clear()
            self._scan()

    def _quick(self) -> bool:
        """Return whether the text is good, told by its tags: most narratives are made of the same few. Notes anchors and links."""
        text = self._text
        pieces = text.split("<", TAGS_MAX)
        if len(text) > NARRATIVE_CHARS_MAX or len(pieces) > TAGS_MAX or (pieces[0] and not pieces[0].isspace()):
            return False
        if "&" in text and not all(match[3] and (match[1] or match[2] in _XML_ENTITIES) for match in _ENTITY.finditer(text)):
            return False
        known, opened, content, rooted = _known(), list[str](), False, False
        for piece in pieces[1:]:
            body, end, chars = piece.partition(">")
            tag = known.get(body) or (self._learn(body, known) if end else None)
            if tag is None:
                return False
            if not _step(*tag, opened, rooted):
                return False
            rooted = True
            content = content or tag == ("empty", "img")
            if chars and (not content or not opened or opened[-1] in _ONLY) and not chars.isspace():
                if not opened or (opened[-1] in _ONLY and not _is_blank(chars)):
                    return False
                content = True
        return content and not opened

    def _learn(self, body: str, known: dict[str, tuple[str, str]]) -> tuple[str, str] | None:
        """Return (open, close, empty or root; name) of a good tag, and keep it where it is short and makes no anchor or link; None for any other."""
        match = _TOKEN.fullmatch(f"<{body}>")
        if match is None or not match["name"]:
            return None
        name, rest = match["name"], match["rest"]
        if match["close"]:
            tag = ("close", name) if not rest.strip() else None
            probe = None
        else:
            probe = Scan("")
            probe._open.append("div")
            probe._tag(name, False, rest)
            kind = "empty" if rest.endswith("/") else "root" if name == "div" and "xmlns=" in rest else "open"
            tag = None if probe.problems else (kind, name)
        if tag is not None and probe is not None and (probe.anchors or probe.links):
            self.anchors |= probe.anchors
            self.links += probe.links
        elif tag is not None and len(body) <= _KNOWN_CHARS_MAX and len(known) < _KNOWN_MAX:
            known[body] = tag
        return tag

    def _scan(self) -> None:
        text = self._text
        if len(text) > NARRATIVE_CHARS_MAX:
            self._say("fhir.narrative.size", f"longer than {NARRATIVE_CHARS_MAX:,} characters: not read")
            return
        if re.search(r"<!(DOCTYPE|ENTITY)", text, re.IGNORECASE):
            self._say("fhir.narrative.doctype", "a document type or entity declaration is refused: narrative must not declare anything")
            return
        place, roots = 0, 0
        length = len(text)
        while place < length:
            start = text.find("<", place)
            chars = text[place : length if start < 0 else start]
            self._chars(chars, roots)
            if start < 0:
                break
            match = _TOKEN.match(text, start)
            if match is None:
                self._say("fhir.narrative.malformed", "not well-formed XHTML")
                return
            place = match.end()
            if match["name"]:
                roots += not self._open and not match["close"]
                if not match["close"] and not _has_place(match["name"], self._open):
                    self._say("fhir.narrative.structure", "an element where XHTML has no place for it")
                if not self._tag(match["name"], bool(match["close"]), match["rest"]):
                    return
            elif match["data"] and match["data"].strip():
                self._content = True
        if self._open:
            self._say("fhir.narrative.malformed", "a tag is not closed")
        elif roots != 1:
            self._say("fhir.narrative.malformed", "the narrative must be one div")
        elif not self._content:
            self._say("fhir.invariants.txt-2", "the narrative must have some content that is not whitespace")

    def _chars(self, chars: str, roots: int) -> None:
        if chars and not chars.isspace():
            self._content = True
            if not self._open:
                self._say("fhir.narrative.malformed", "the narrative must be one div" if roots else "text outside the div")
            elif self._open[-1] in _ONLY and not _is_blank(chars):
                self._say("fhir.narrative.structure", "text directly in a list, a table or a line break")
        if "&" in chars:
            self._entities(chars)

    def _entities(self, chars: str) -> None:
        for match in _ENTITY.finditer(chars):
            if not match[3] or (match[1] is None and match[2] not in _XML_ENTITIES):
                self._say("fhir.narrative.entity", "an entity that XML does not define: use the character itself")

    def _tag(self, name: str, closes: bool, rest: str) -> bool:
        self._tags += 1
        if self._tags > TAGS_MAX or len(self._open) > TAG_DEPTH_MAX:
            self._say("fhir.narrative.size", "more tags than the bound: not read further")
            return False
        if closes:
            if not self._open or self._open.pop() != name or rest.strip():
                self._say("fhir.narrative.malformed", "a closing tag does not match the open one")
                return False
            return True
        empty = rest.endswith("/")
        if not self._open and name != "div":
            self._say("fhir.narrative.root", "the narrative must be a div")
        if name not in _ELEMENTS:
            self._say("fhir.invariants.txt-1", "the narrative holds an element that is not basic HTML formatting")
        elif name == "img":
            self._content = True
        if not self._attributes(name, rest[:-1] if empty else rest):
            return False
        if not empty:
            self._open.append(name)
        return True

    def _attributes(self, name: str, rest: str) -> bool:
        place, seen = 0, set()
        # Matched in place, never searched for: a search would begin again at every blank.
        while (match := _ATTRIBUTE.match(rest, place)) is not None:
            place = match.end()
            key, value = match[1], match[2] if match[2] is not None else match[3]
            if key in seen:
                self._say("fhir.narrative.malformed", "an attribute appears twice")
            seen.add(key)
            self._attribute(name, key, value)
        if rest[place:].strip():
            self._say("fhir.narrative.malformed", "not well-formed XHTML")
            return False
        if not self._open and name == "div" and "xmlns" not in seen:
            self._say("fhir.narrative.namespace", "the div must be in the XHTML namespace")
        return True

    def _attribute(self, name: str, key: str, value: str) -> None:
        if "&" in value:
            self._entities(value)
        if key == "xmlns":
            if value != NAMESPACE:
                self._say("fhir.narrative.namespace", "the div must be in the XHTML namespace")
        elif key.startswith("xmlns:"):
            return
        elif key not in _ATTRIBUTES and key not in _ATTRIBUTES_OF.get(name, ()):
            self._say("fhir.invariants.txt-1", "the narrative holds an attribute that is not basic HTML formatting")
        elif key in {"href", "src"} and _ACTIVE.match(value):
            self._say("fhir.narrative.active", "a link that runs code")
        elif (key == "href" and _NO_PLACE.match(value)) or (key in {"href", "src"} and _NO_URL.match(value)):
            self._say("fhir.narrative.url", "not a URL that a link could lead to")
        elif (key == "href" or (key == "src" and name == "img")) and value.startswith("#") and len(value) > 1:
            self.links.append(value[1:])
        elif not value and ((key == "href" and name == "a") or (key == "src" and name == "img")):
            self._say("fhir.narrative.empty-link", "a link to nowhere")
        if key == "id" or (key == "name" and name in {"a", "map"}):
            self.anchors.add(value)
