"""Paths in variables of a file or a pattern: they begin at the document, which lxml cannot use as the context of an expression."""

from __future__ import annotations

import re
from typing import Final

from touchstone.scorers.clinical.formats.ccda.schematron.expressions import Unsupported

_NAME: Final = r"[A-Za-z_][\w.-]*"
_TOKENS: Final = re.compile(
    rf"""'[^']*'|"[^"]*"|\d+(?:\.\d*)?|\.\d+|//|/|::|\.\.|\.|@|\[|\]|\(|\)|,|!=|<=|>=|[=<>|+-]|\${_NAME}(?::{_NAME})?|{_NAME}(?::(?:{_NAME}|\*))?|\*|\s+"""
)
_OPERATORS: Final = frozenset({"!=", "<=", ">=", "=", "<", ">", "|", "+", "-", "and", "or", "div", "mod", "times"})
#: After these a name is a name and * any element; after all else they are operators (XPath 1.0, section 3.7).
_OPENS: Final = frozenset({"", "@", "::", "(", "[", ",", "/", "//"}) | _OPERATORS
_NODES: Final = frozenset({"node", "text", "comment", "processing-instruction"})
_IS_NAME: Final = re.compile(rf"{_NAME}(?::(?:{_NAME}|\*))?")


def rooted(expression: str) -> str:
    """An expression with its relative paths made to begin at the document. Raises `Unsupported` for a path that leads out of it."""
    parts = [part for part in _TOKENS.findall(expression) if not part.isspace()]
    made: list[str] = []
    before, inside = "", 0
    for place, part in enumerate(parts):
        following = parts[place + 1] if place + 1 < len(parts) else ""
        shown, meant = part, part
        if before in _OPENS:
            meant = "name" if part in _OPERATORS and part.isalpha() else part
            if inside == 0 and before not in {"/", "//", "::", "@"}:
                shown = _begun(part, following)
        elif part == "*":
            meant = "times"
        inside += (part == "[") - (part == "]")
        made.append(shown)
        before = meant
    return " ".join(made)


def _begun(part: str, following: str) -> str:
    """The first part of an operand as a path from the document."""
    if part == "current" or part in {"@", ".."}:
        raise Unsupported("a variable of the document with a path that leads out of it")
    if part == ".":
        return "" if following in {"/", "//"} else "/"
    if part == "*":
        return "/*"
    if _IS_NAME.fullmatch(part) is not None and (following != "(" or part in _NODES):
        return f"/{part}"
    return part
