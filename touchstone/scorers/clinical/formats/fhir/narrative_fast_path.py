"""A quick check for narratives: most consist of a few known tags. Any other gets the thorough scan."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from touchstone.scorers.clinical.formats.fhir.narrative_scan import TAG_DEPTH_MAX, TAGS_MAX, TOKEN, Scan
from touchstone.scorers.clinical.formats.fhir.options import NARRATIVE_CHARS_MAX
from touchstone.scorers.clinical.formats.fhir.xhtml import BARRED, ENTITY, ONLY, XML_ENTITIES, has_place, is_blank

#: Good tags that are kept, and their length.
_KNOWN_MAX: Final = 5_000
_KNOWN_CHARS_MAX: Final = 120
_NOTHING: Final = frozenset[str]()
#: (open, close, empty or root; the element's name; elements that it may not be inside of, at any depth).
Tag = tuple[str, str, frozenset[str]]


class Scanned(NamedTuple):
    """A narrative's faults, anchors, and links inside the page."""

    problems: list[tuple[str, str]]
    anchors: set[str]
    links: list[str]


def scan(text: str) -> Scanned:
    """Return the faults, anchors and links of a narrative."""
    seen = Scanned([], set(), [])
    if _is_good(text, seen):
        return seen
    thorough = Scan(text)
    thorough.run()
    return Scanned(thorough.problems, thorough.anchors, thorough.links)


@lru_cache(maxsize=1)
def _known() -> dict[str, Tag]:
    """Good tags by the text between their brackets; shared between documents, and bounded."""
    return {}


@lru_cache(maxsize=20_000)
def _fits(outer: str, name: str) -> bool:
    """True if an element is allowed directly inside another."""
    return has_place(name, [outer])


def _is_good(text: str, seen: Scanned) -> bool:
    """True if the narrative has no faults. Notes its anchors and links."""
    pieces = text.split("<", TAGS_MAX)
    if len(text) > NARRATIVE_CHARS_MAX or len(pieces) > TAGS_MAX or (pieces[0] and not pieces[0].isspace()):
        return False
    if "&" in text and not all(match[3] and (match[1] or match[2] in XML_ENTITIES) for match in ENTITY.finditer(text)):
        return False
    known, opened, content, rooted = _known(), list[str](), False, False
    for piece in pieces[1:]:
        body, end, chars = piece.partition(">")
        # A tag without its closing bracket is not good, even if its text is known.
        tag = (known.get(body) or _learn(body, known, seen)) if end else None
        if tag is None:
            return False
        kind, name, barred = tag
        if kind == "close":
            if not opened or opened.pop() != name:
                return False
        elif not _opens(kind, name, barred, opened, rooted):
            return False
        elif kind == "empty":
            content = content or name == "img"
        rooted = True
        if chars and (not content or not opened or opened[-1] in ONLY) and not chars.isspace():
            if not opened or (opened[-1] in ONLY and not is_blank(chars)):
                return False
            content = True
    return content and not opened


def _opens(kind: str, name: str, barred: frozenset[str], opened: list[str], rooted: bool) -> bool:
    """Open an element. Returns True if it is allowed here. `rooted`: the outermost element has been seen."""
    if opened:
        if not _fits(opened[-1], name) or (barred and not barred.isdisjoint(opened)):
            return False
    elif kind != "root" or rooted:
        return False
    if kind != "empty":
        opened.append(name)
    return len(opened) <= TAG_DEPTH_MAX


def _learn(body: str, known: dict[str, Tag], seen: Scanned) -> Tag | None:
    """Return a good tag, and keep it if it is short and has no anchor or link; None for any other."""
    match = TOKEN.fullmatch(f"<{body}>")
    if match is None or not match["name"]:
        return None
    name, rest = match["name"], match["rest"]
    tag: Tag | None
    if match["close"]:
        tag = ("close", name, _NOTHING) if not rest.strip() else None
        probe = None
    else:
        probe = Scan("", ("div",))
        probe.tag(name, False, rest)
        kind = "empty" if rest.endswith("/") else "root" if name == "div" and "xmlns=" in rest else "open"
        tag = None if probe.problems else (kind, name, BARRED.get(name, _NOTHING))
    if tag is not None and probe is not None and (probe.anchors or probe.links):
        seen.anchors.update(probe.anchors)
        seen.links.extend(probe.links)
    elif tag is not None and len(body) <= _KNOWN_CHARS_MAX and len(known) < _KNOWN_MAX:
        known[body] = tag
    return tag
