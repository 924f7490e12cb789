"""Bounds of an expression in a rule file: its length, its nesting, and its walks over a whole document inside one another.

HL7's own have one walk at most, nest 8 deep and have up to 28,000 characters.
"""

from __future__ import annotations

import re
from typing import Final

CHARS_MAX: Final = 65_536
NESTED_MAX: Final = 64
#: Two walks inside one another cost the square of the document's size, which is still acceptable.
WALKS_MAX: Final = 2
#: The functions of XPath 1.0, other words before parentheses, and `current()`, which becomes a variable.
_NAMES: Final = """
last position count id local-name namespace-uri name string concat starts-with contains substring-before substring-after substring string-length
normalize-space translate boolean not true false lang number sum floor ceiling round node text comment processing-instruction and or div mod current document
"""
_KNOWN: Final = frozenset(_NAMES.split())
_LITERAL: Final = r"'[^']*'|\"[^\"]*\""
_CALL: Final = re.compile(rf"{_LITERAL}|(?<![\w.$-])((?:[A-Za-z_][\w.-]*:)*[A-Za-z_][\w.-]*)\s*\(")
_PREFIX: Final = re.compile(rf"{_LITERAL}|(?<![\w.$:-])([A-Za-z_][\w.-]*):(?=[A-Za-z_*])")
_TOKEN: Final = re.compile(
    rf"{_LITERAL}|//|(?:descendant|descendant-or-self|following|preceding|following-sibling|preceding-sibling)\s*::|[\[\]()]|[,=<>|+]"
    r"|(?<![\w.$-])(?:and|or|div|mod)(?![\w.-])|(?<=\s)-(?=\s)"
)


def excess(expression: str, namespaces: dict[str, str]) -> str:
    """The reason why an expression is not evaluated; empty if it is. `namespaces`: those that its prefixes may name."""
    if len(expression) > CHARS_MAX:
        return f"an expression of more than {CHARS_MAX:,} characters"
    walks, nested = _weighed(expression)
    if nested > NESTED_MAX:
        return f"an expression nested more than {NESTED_MAX} deep"
    if walks > WALKS_MAX:
        return f"an expression of more than {WALKS_MAX} walks over the document inside one another"
    for call in _CALL.finditer(expression):
        # node(), text() and the like may follow an axis.
        if call[1] is not None and call[1].rpartition("::")[2] not in _KNOWN:
            return "a function that XPath 1.0 does not have"
    if any(name[1] is not None and name[1] not in namespaces for name in _PREFIX.finditer(expression)):
        return "a prefix that the file does not declare"
    return ""


def _weighed(expression: str) -> tuple[int, int]:
    """The number of walks inside one another or after one another on a path, and the depth of brackets."""
    above, here, walks, nested = 0, 0, 0, 0
    opened: list[tuple[int, int]] = []
    for token in _TOKEN.finditer(expression):
        text = token[0]
        if text[0] in "'\"":
            continue
        if text == "//" or text.endswith("::"):
            here += 1
            walks = max(walks, above + here)
        elif text in "[(":
            opened.append((above, here))
            above, here = above + here, 0
            nested = max(nested, len(opened))
        elif text in "])":
            inside = above + here
            above, here = opened.pop() if opened else (0, 0)
            if text == ")":
                # A step or a predicate may follow what a parenthesis selects.
                here = max(here, inside - above)
        else:
            here = 0
    return walks, nested
