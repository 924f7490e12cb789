"""Translates XPath of Schematron files so that it can be evaluated without XSLT.

`current()` becomes a variable with the rule's node. `document('file')` and the path after it become a variable with the selected elements, as far as
the path selects few. Contexts, which are patterns in XSLT, become paths from the elements with their template id.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

CURRENT: Final = "touchstone-current"
#: Elements of another document that a variable may hold: XPath compares each new one with all before it.
_HELD_MAX: Final = 32
_LITERAL: Final = re.compile(r"'[^']*'|\"[^\"]*\"")
_CURRENT: Final = re.compile(r"\bcurrent\s*\(\s*\)")
_DOCUMENT: Final = re.compile(r"\bdocument\s*\(\s*(?:'([^']*)'|\"([^\"]*)\")\s*\)")
_ANY_DOCUMENT: Final = re.compile(r"\bdocument\s*\(")
#: One step of a path whose predicates hold no path of their own beyond a comparison.
_STEP: Final = re.compile(r"/(?:[A-Za-z_][\w.-]*:)?[A-Za-z_][\w.-]*(?:\[[^\[\]]*\])*(?![\w.:(-])")
_VARIABLE: Final = re.compile(r"\$([A-Za-z_][\w.-]*)")

_NAME: Final = r"(?:([A-Za-z_][\w.-]*):)?([A-Za-z_][\w.-]*)"
_FIRST_STEP: Final = re.compile(rf"\s*{_NAME}(?=\[)")
_TEMPLATE: Final = re.compile(
    rf"\s*{_NAME}\[\s*@root\s*=\s*(?:'([^']*)'|\"([^\"]*)\")\s*(?:and\s+(?:@extension\s*=\s*(?:'([^']*)'|\"([^\"]*)\")|(not)\(\s*@extension\s*\))\s*)?\]\s*"
)
_ATTRIBUTE: Final = re.compile(r"/@((?:[A-Za-z_][\w.-]*:)?[A-Za-z_][\w.-]*)$")
_NO_ELEMENT: Final = re.compile(r"@[\w:*.-]*$|\b(?:node|text|comment|processing-instruction)\([^()]*\)$")
_POSITION: Final = re.compile(r"\bposition\s*\(|\blast\s*\(|\[\s*\d+\s*\]")


class Unsupported(Exception):
    """An expression that cannot be evaluated here; the text says why, without text of the document."""


@dataclass(frozen=True, slots=True)
class Template:
    """The template id that a context requires of its first step. `extension`: None for any, "" for none."""

    prefix: str
    name: str
    id_prefix: str
    id_name: str
    root: str
    extension: str | None


@dataclass(frozen=True, slots=True)
class Alternative:
    """One branch of a context. `template`: the template id of its first elements, if any; `path`: from those elements, None if they are the context.

    `whole`: the same from the document, for template ids that are not CDA's. `attribute`: set if the context is an attribute.
    """

    template: Template | None
    path: str | None
    whole: str = ""
    attribute: str = ""


#: (file name, path in that file) → the selected elements. Raises `Unsupported` if the file is not at hand.
Lookup = Callable[[str, str], list[Any]]


def alternatives(context: str) -> list[Alternative]:
    """The branches of a context, each as a path."""
    return [_alternative(branch.strip()) for branch in _split(context, "|")]


def _alternative(branch: str) -> Alternative:
    if "document(" in branch or "current(" in branch or "key(" in branch:
        raise Unsupported("a context with a function of XSLT")
    attribute = _ATTRIBUTE.search(branch)
    if attribute is not None:
        return _of_attribute(_alternative(branch[: attribute.start()]), attribute[1])
    if _NO_ELEMENT.search(branch):
        raise Unsupported("a context that is neither an element nor an attribute by its name")
    if branch == "/":
        raise Unsupported("a context that is the document and no element")
    if branch.startswith("/"):
        return Alternative(None, branch, branch)
    step = _FIRST_STEP.match(branch)
    found = _from_template(branch, step) if step is not None and not _POSITION.search(branch) else None
    return found or Alternative(None, f"//{branch}", f"//{branch}")


def _from_template(branch: str, step: re.Match[str]) -> Alternative | None:
    """A branch whose first step requires a template id; None for any other."""
    predicates, rest = _predicates(branch, step.end())
    for predicate in predicates:
        found = _TEMPLATE.fullmatch(predicate)
        if found is None:
            continue
        extension = "" if found[7] else found[5] if found[5] is not None else found[6]
        template = Template(step[1] or "", step[2], found[1] or "", found[2], found[3] if found[3] is not None else found[4], extension)
        others = [one for one in predicates if one is not predicate]
        if not others and not rest:
            return Alternative(template, None, f"//{branch}")
        here = "self::node()" + "".join(f"[{one}]" for one in others)
        return Alternative(template, here + rest if others else f".{rest}", f"//{branch}")
    return None


def _of_attribute(of: Alternative, name: str) -> Alternative:
    """The branch of the elements that have an attribute."""
    path = f"{of.path}[@{name}]" if of.path is not None else f"self::node()[@{name}]"
    return Alternative(of.template, path, f"{of.whole}[@{name}]", name)


def _predicates(text: str, at: int) -> tuple[list[str], str]:
    """The predicates at a position, and the text after them."""
    found = []
    while at < len(text) and text[at] == "[":
        end = _closing(text, at)
        found.append(text[at + 1 : end])
        at = end + 1
    return found, text[at:]


def _closing(text: str, at: int) -> int:
    """The position of the bracket that closes the one at `at`."""
    depth, place = 0, at
    while place < len(text):
        literal = _LITERAL.match(text, place)
        if literal is not None:
            place = literal.end()
            continue
        depth += (text[place] == "[") - (text[place] == "]")
        if depth == 0:
            return place
        place += 1
    raise Unsupported("a context whose brackets do not match")


def _split(text: str, mark: str) -> list[str]:
    """Split at a mark outside of literals, brackets and parentheses."""
    parts, depth, begun, place = [], 0, 0, 0
    while place < len(text):
        literal = _LITERAL.match(text, place)
        if literal is not None:
            place = literal.end()
            continue
        character = text[place]
        depth += (character in "[(") - (character in "])")
        if character == mark and depth == 0:
            parts.append(text[begun:place])
            begun = place + 1
        place += 1
    return [*parts, text[begun:]]


def variables(expression: str) -> set[str]:
    """The names of the variables of an expression."""
    return set(_VARIABLE.findall(_LITERAL.sub("''", expression)))


def translated(expression: str, lookup: Lookup, constants: dict[str, Any]) -> str:
    """An expression without functions of XSLT. The elements of other documents that it needs are added to `constants` as variables."""
    made, place = [], 0
    for literal in _LITERAL.finditer(expression):
        made += [_CURRENT.sub(f"${CURRENT}", expression[place : literal.start()]), literal[0]]
        place = literal.end()
    made.append(_CURRENT.sub(f"${CURRENT}", expression[place:]))
    return _with_documents("".join(made), lookup, constants)


def _with_documents(expression: str, lookup: Lookup, constants: dict[str, Any]) -> str:
    """Replace each `document('file')/path` by a variable, and by the rest of the path from where it selects too many elements."""
    made, place = [], 0
    for found in _DOCUMENT.finditer(expression):
        if found.start() < place:
            continue
        name = found[1] if found[1] is not None else found[2]
        path, held, end = "", lookup(name, ""), found.end()
        while (step := _STEP.match(expression, end)) is not None and "$" not in step[0]:
            further = lookup(name, path + step[0])
            if len(further) > _HELD_MAX:
                break
            path, held, end = path + step[0], further, step.end()
        variable = f"touchstone-document-{len(constants)}"
        constants[variable] = held
        # A document is not an element, but it is the parent of its root element.
        made += [expression[place : found.start()], f"${variable}" if path else f"(${variable}/..)"]
        place = end
    rest = "".join([*made, expression[place:]])
    if _ANY_DOCUMENT.search(_LITERAL.sub("''", rest)):
        raise Unsupported("document() with anything but the name of a file")
    return rest
