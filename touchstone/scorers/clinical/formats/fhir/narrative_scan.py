"""Narrative XHTML, scanned once from left to right, with a code for every fault (R4: narrative.html, txt-1, txt-2).

No XML parser is used, so no entity can be expanded: document types are refused, and only XML's five entities and numbers are accepted.
"""

from __future__ import annotations

import re

from touchstone.scorers.clinical.formats.fhir.options import NARRATIVE_CHARS_MAX
from touchstone.scorers.clinical.formats.fhir.xhtml import ATTRIBUTES, ATTRIBUTES_OF, ELEMENTS, ENTITY, NAMESPACE, ONLY, XML_ENTITIES, has_place, is_blank

#: Bounds on the tags of one narrative and their depth.
TAGS_MAX = 200_000
TAG_DEPTH_MAX = 512

TOKEN = re.compile(
    r"<!--(?P<comment>.*?)-->|<!\[CDATA\[(?P<data>.*?)\]\]>|<(?P<close>/?)(?P<name>[A-Za-z][\w:.\-]*+)(?P<rest>(?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*+)>", re.DOTALL
)
_ATTRIBUTE = re.compile(r"\s++([A-Za-z_:][\w:.\-]*+)\s*+=\s*+(?:\"([^\"<]*)\"|'([^'<]*)')")
#: Schemes that a link cannot have, characters that a URL cannot have, and schemes that run code.
_NOT_FOLLOWED = re.compile(r"\s*(urn|cid):", re.IGNORECASE)
_NO_URL = re.compile(r"(?!data:).*[\s\"]", re.DOTALL)
_ACTIVE = re.compile(r"\s*(javascript|vbscript)\b", re.IGNORECASE)
#: A page as a link; an image is never run.
_PAGE = re.compile(r"\s*data\s*:\s*text/html\b", re.IGNORECASE)
#: Names of HTML that a narrative may not use, but a message may show. Any other name may be patient text and is not shown.
_HTML = frozenset({
    "applet", "area", "article", "aside", "audio", "base", "body", "button", "canvas", "data", "datalist", "details", "dialog", "embed", "fieldset",
    "figcaption", "figure", "font", "footer", "form", "frame", "frameset", "head", "header", "html", "iframe", "input", "label", "legend", "link",
    "main", "map", "mark", "marquee", "math", "menu", "meta", "meter", "nav", "noscript", "object", "optgroup", "option", "output", "param",
    "picture", "progress", "s", "script", "section", "select", "slot", "source", "strike", "style", "summary", "svg", "template", "textarea", "time",
    "title", "track", "u", "video",
})  # fmt: skip
_HTML_ATTRIBUTES = frozenset({
    "action", "alt", "async", "autofocus", "background", "contenteditable", "controls", "data", "draggable", "face", "formaction", "height", "hidden",
    "href", "id", "onabort", "onblur", "onchange", "onclick", "ondblclick", "onerror", "onfocus", "oninput", "onkeydown", "onload", "onmouseover",
    "onsubmit", "role", "src", "srcdoc", "srcset", "tabindex", "target", "type", "value",
})  # fmt: skip


def shown(name: str) -> str:
    """Return an element's name if it is safe to show."""
    return f"<{name}>" if name in ELEMENTS or name in _HTML else "an element"


class Scan:
    """One narrative: its faults, anchors, and links inside the page. `inside`: the elements around the text."""

    def __init__(self, text: str, inside: tuple[str, ...] = ()) -> None:
        self.problems: list[tuple[str, str]] = []
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self._text = text
        self._open = [*inside]
        self._content = False
        self._tags = 0

    def _add(self, code: str, message: str) -> None:
        if (code, message) not in self.problems and len(self.problems) < 20:
            self.problems.append((code, message))

    def run(self) -> None:
        """Scan the whole text."""
        text, place, roots = self._text, 0, 0
        if self._is_refused():
            return
        while place < len(text):
            start = text.find("<", place)
            self._chars(text[place : len(text) if start < 0 else start], roots)
            if start < 0:
                break
            match = TOKEN.match(text, start)
            if match is None:
                self._add("fhir.narrative.malformed", "not well-formed XHTML")
                return
            place = match.end()
            if match["name"]:
                roots += not self._open and not match["close"]
                if not match["close"] and not has_place(match["name"], self._open):
                    self._add("fhir.narrative.structure", f"{shown(match['name'])} where XHTML has no place for it in {self._around()}")
                if not self.tag(match["name"], bool(match["close"]), match["rest"]):
                    return
            elif match["data"] and match["data"].strip():
                self._content = True
        if self._open:
            self._add("fhir.narrative.malformed", "a tag is not closed")
        elif roots != 1:
            self._add("fhir.narrative.malformed", "the narrative must be one div")
        elif not self._content:
            self._add("fhir.invariants.txt-2", "the narrative must have some content that is not whitespace")

    def _is_refused(self) -> bool:
        if len(self._text) > NARRATIVE_CHARS_MAX:
            self._add("fhir.narrative.size", f"longer than {NARRATIVE_CHARS_MAX:,} characters: not read")
            return True
        if re.search(r"<!(DOCTYPE|ENTITY)", self._text, re.IGNORECASE):
            self._add("fhir.narrative.doctype", "a document type or entity declaration is refused: narrative must not declare anything")
            return True
        return False

    def _chars(self, chars: str, roots: int) -> None:
        if chars and not chars.isspace():
            self._content = True
            if not self._open:
                self._add("fhir.narrative.malformed", "the narrative must be one div" if roots else "text outside the div")
            elif self._open[-1] in ONLY and not is_blank(chars):
                self._add("fhir.narrative.structure", f"text directly in {self._around()}, which holds none")
        if "&" in chars:
            self._entities(chars)

    def _around(self) -> str:
        return shown(self._open[-1]) if self._open else "the narrative"

    def _entities(self, chars: str) -> None:
        for match in ENTITY.finditer(chars):
            if not match[3] or (match[1] is None and match[2] not in XML_ENTITIES):
                self._add("fhir.narrative.entity", "an entity that XML does not define: use the character itself")

    def tag(self, name: str, closes: bool, rest: str) -> bool:
        """Read one tag: its name and the rest up to the bracket. Returns False if the scan must stop."""
        self._tags += 1
        if self._tags > TAGS_MAX or len(self._open) > TAG_DEPTH_MAX:
            self._add("fhir.narrative.size", "more tags than the bound: not read further")
            return False
        if closes:
            around = self._around()
            if not self._open or self._open.pop() != name or rest.strip():
                self._add("fhir.narrative.malformed", f"the closing tag of {shown(name)} does not match the open one, {around}")
                return False
            return True
        empty = rest.endswith("/")
        if not self._open and name != "div":
            self._add("fhir.narrative.root", "the narrative must be a div")
        if name not in ELEMENTS:
            self._add("fhir.invariants.txt-1", f"the narrative holds {shown(name)}, which is not basic HTML formatting")
        elif name == "img":
            self._content = True
        if not self._attributes(name, rest[:-1] if empty else rest):
            return False
        if not empty:
            self._open.append(name)
        return True

    def _attributes(self, name: str, rest: str) -> bool:
        place, seen = 0, set()
        # match() at a place, not search(): a search would start again at every blank.
        while (match := _ATTRIBUTE.match(rest, place)) is not None:
            place = match.end()
            key, value = match[1], match[2] if match[2] is not None else match[3]
            if key in seen:
                self._add("fhir.narrative.malformed", f"an attribute of {shown(name)} appears twice")
            seen.add(key)
            self._attribute(name, key, value)
        if rest[place:].strip():
            self._add("fhir.narrative.malformed", "not well-formed XHTML")
            return False
        if not self._open and name == "div" and "xmlns" not in seen:
            self._add("fhir.narrative.namespace", "the div must be in the XHTML namespace")
        return True

    def _attribute(self, name: str, key: str, value: str) -> None:
        if "&" in value:
            self._entities(value)
        if key == "id" or (key == "name" and name in {"a", "map"}):
            self.anchors.add(value)
        if key.startswith("xmlns:"):
            return
        if key == "xmlns":
            if value != NAMESPACE:
                self._add("fhir.narrative.namespace", "the div must be in the XHTML namespace")
        elif key not in ATTRIBUTES and key not in ATTRIBUTES_OF.get(name, ()):
            held = f"the attribute {key}" if key in _HTML_ATTRIBUTES else "an attribute"
            self._add("fhir.invariants.txt-1", f"{shown(name)} holds {held}, which is not basic HTML formatting")
        elif key in {"href", "src"}:
            self._link(name, key, value)

    def _link(self, name: str, key: str, value: str) -> None:
        is_image = key == "src" and name == "img"
        if _ACTIVE.match(value) or (not is_image and _PAGE.match(value)):
            self._add("fhir.narrative.active", f"{shown(name)} has a link that runs code")
        elif (key == "href" and _NOT_FOLLOWED.match(value)) or _NO_URL.match(value):
            self._add("fhir.narrative.url", f"{shown(name)} has no URL that a link could lead to")
        elif (key == "href" or is_image) and value.startswith("#") and len(value) > 1:
            self.links.append(value[1:])
        elif not value and (is_image or (key == "href" and name == "a")):
            self._add("fhir.narrative.empty-link", f"{shown(name)} has a link to nowhere")
