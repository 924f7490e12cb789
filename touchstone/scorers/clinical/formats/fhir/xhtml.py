"""XHTML that R4 allows in a narrative: elements, attributes, nesting and entities (R4: narrative.html, txt-1; HTML 4.0)."""

from __future__ import annotations

import re

NAMESPACE = "http://www.w3.org/1999/xhtml"
ENTITY = re.compile(r"&(?:(#\d{1,7}|#x[0-9A-Fa-f]{1,6})|([A-Za-z][A-Za-z0-9]*))?(;?)")
_BLANKS = re.compile(r"&#(?:9|10|13|32|x0*(?:9|[aA]|[dD]|20));")
XML_ENTITIES = frozenset({"amp", "lt", "gt", "quot", "apos"})
#: HTML 4.0 chapters 7 to 11 (without 9.4) and 15, as txt-1 names them, with links and images.
ELEMENTS = frozenset(
    "p br div h1 h2 h3 h4 h5 h6 a span b em i strong small big tt dfn q var abbr acronym cite blockquote hr address bdo kbd sub sup ul ol li dl dt dd pre "  # noqa: SIM905
    "table caption colgroup col thead tr tfoot tbody th td code samp img map area".split()
)
ATTRIBUTES = frozenset(
    "title style class id lang xml:lang xml:space dir accesskey tabindex span width align valign char charoff "  # noqa: SIM905
    "abbr axis headers scope rowspan colspan xmlns".split()
)
ATTRIBUTES_OF = {
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
#: Elements that may hold only certain others and no text; elements that are allowed only inside certain others.
_ROWS = frozenset({"tr"})
_CELLS = frozenset({"th", "td"})
ONLY = {
    "ul": frozenset({"li"}),
    "ol": frozenset({"li"}),
    "dl": frozenset({"dt", "dd"}),
    "table": frozenset({"caption", "col", "colgroup", "thead", "tbody", "tfoot", "tr"}),
    **dict.fromkeys(("tbody", "thead", "tfoot"), _ROWS),
    "tr": _CELLS,
    "map": frozenset({"area"}),
    **dict.fromkeys(("area", "br", "col", "hr", "img"), frozenset[str]()),
}
WITHIN = {
    "li": frozenset({"ul", "ol"}),
    **dict.fromkeys(("dt", "dd"), frozenset({"dl"})),
    **dict.fromkeys(("td", "th"), _ROWS),
    "tr": frozenset({"table", "thead", "tbody", "tfoot"}),
    **dict.fromkeys(("thead", "tbody", "tfoot", "caption", "colgroup"), frozenset({"table"})),
    "col": frozenset({"table", "colgroup"}),
}
#: Elements that hold only text at any depth.
_PHRASES = frozenset(
    "a abbr acronym address b bdo big caption cite code dd dfn dt em h1 h2 h3 h4 h5 h6 i kbd p pre q samp small span strong sub sup tt var".split()  # noqa: SIM905
)
#: Element → elements that it may not be inside of, at any depth.
BARRED = {
    **dict.fromkeys(("div", "ul", "ol", "table", "pre"), _PHRASES),
    **dict.fromkeys(("p", "blockquote"), frozenset({"p"})),
    **{
        name: frozenset({name})
        for name in "a abbr acronym b bdo big cite code dfn em i kbd q samp small strong sub sup tt var".split()  # noqa: SIM905
    },
}


def has_place(name: str, opened: list[str]) -> bool:
    """Return True if an element is allowed inside the open ones, given outermost first."""
    if not opened:
        return True
    inner, outer, barred = ONLY.get(opened[-1]), WITHIN.get(name), BARRED.get(name)
    if (inner is not None and name not in inner) or (outer is not None and opened[-1] not in outer):
        return False
    return barred is None or barred.isdisjoint(opened)


def is_blank(chars: str) -> bool:
    """Return True if text is only whitespace, including whitespace written as character references."""
    return not _BLANKS.sub("", chars).strip()
