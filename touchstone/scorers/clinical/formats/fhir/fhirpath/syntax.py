"""FHIRPath text → syntax tree (FHIRPath 2.0, sections 3 to 8, without date literals and calendar arithmetic)."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Packages are installed by users, so their expressions are bounded like any input.
LENGTH_MAX = 20_000
DEPTH_MAX = 60

_TOKENS = re.compile(
    r"""\s+|//[^\n]*|(?P<number>\d+(?:\.\d+)?)|(?P<string>'(?:[^'\\]|\\.)*')|(?P<date>@[0-9T:.+\-Z]+)|(?P<quoted>`[^`]*`)
    |(?P<variable>%(?:`[^`]*`|'[^']*'|[A-Za-z][\w\-]*))|(?P<name>\$?[A-Za-z_]\w*)|(?P<mark><=|>=|!=|!~|[.\[\]()+\-*/&|<>=~,{}])""",
    re.VERBOSE,
)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}
#: Binary operators from loosest to tightest (FHIRPath section 6.7).
_LEVELS: tuple[frozenset[str], ...] = (
    frozenset({"implies"}),
    frozenset({"or", "xor"}),
    frozenset({"and"}),
    frozenset({"in", "contains"}),
    frozenset({"=", "~", "!=", "!~"}),
    frozenset({"<", ">", "<=", ">="}),
    frozenset({"|"}),
    frozenset({"is", "as"}),
    frozenset({"+", "-", "&"}),
    frozenset({"*", "/", "div", "mod"}),
)


class FhirPathError(ValueError):
    """An expression that cannot be parsed or is not supported."""


@dataclass(frozen=True, slots=True)
class Node:
    """One node: `kind` is literal, this, variable, member, call, operator, negative, index or type; `text` its name or operator."""

    kind: str
    text: str = ""
    value: str | int | float | bool | None = None
    parts: tuple[Node | None, ...] = ()


def parse(expression: str) -> Node:
    """Return the syntax tree of an expression. Raises FhirPathError."""
    if len(expression) > LENGTH_MAX:
        raise FhirPathError("longer than the bound")
    parser = _Parser(_tokens(expression))
    tree = parser.expression(0)
    if parser.kind != "end":
        raise FhirPathError("text after the end of the expression")
    return tree


def _tokens(expression: str) -> list[tuple[str, str]]:
    tokens, place = [], 0
    while place < len(expression):
        match = _TOKENS.match(expression, place)
        if match is None:
            raise FhirPathError(f"unexpected character at {place}")
        place = match.end()
        if match.lastgroup:
            tokens.append((match.lastgroup, match.group()))
    return tokens


def _unescape(text: str) -> str:
    return re.sub(r"\\(u[0-9a-fA-F]{4}|.)", lambda m: chr(int(m[1][1:], 16)) if m[1][0] == "u" and len(m[1]) == 5 else _ESCAPES.get(m[1], m[1]), text)


class _Parser:
    """Recursive descent with a bounded depth."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = [*tokens, ("end", "")]
        self._place = 0
        self._depth = 0

    @property
    def kind(self) -> str:
        return self._tokens[self._place][0]

    @property
    def text(self) -> str:
        return self._tokens[self._place][1]

    def _take(self) -> str:
        text = self.text
        self._place += 1
        return text

    def _expect(self, mark: str) -> None:
        if self.kind != "mark" or self._take() != mark:
            raise FhirPathError(f"expected {mark}")

    def _at(self, *marks: str) -> bool:
        return self.kind == "mark" and self.text in marks

    def expression(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self._unary()
        self._depth += 1
        if self._depth > DEPTH_MAX * len(_LEVELS):
            raise FhirPathError("nested deeper than the bound")
        left = self.expression(level + 1)
        while self.kind in {"mark", "name"} and self.text in _LEVELS[level]:
            operator = self._take()
            if operator in {"is", "as"}:
                left = Node("type", operator, self._type_name(), (left,))
            else:
                left = Node("operator", operator, None, (left, self.expression(level + 1)))
        self._depth -= 1
        return left

    def _type_name(self) -> str:
        name = self._take().strip("`")
        while self._at("."):
            self._take()
            name = self._take().strip("`")
        return name

    def _unary(self) -> Node:
        if self._at("+", "-"):
            sign, operand = self._take(), self._unary()
            return operand if sign == "+" else Node("negative", parts=(operand,))
        node = self._invocation(None)
        while self._at(".", "["):
            if self._take() == "[":
                node = Node("index", parts=(node, self.expression(0)))
                self._expect("]")
            else:
                node = self._invocation(node)
        return node

    def _invocation(self, base: Node | None) -> Node:
        kind = self.kind
        if base is None and kind in {"number", "string", "variable", "mark", "date"}:
            return self._term()
        if kind not in {"name", "quoted"}:
            raise FhirPathError("expected a name")
        name = self._take().strip("`")
        if kind == "name" and self._at("("):
            return self._call(base, name)
        if kind == "name" and base is None and name in {"true", "false"}:
            return Node("literal", value=name == "true")
        if name == "$this":
            return Node("this")
        if name.startswith("$"):
            raise FhirPathError(f"{name} is not supported")
        return Node("member", name, None, (base,))

    def _term(self) -> Node:
        kind, text = self.kind, self._take()
        if kind == "number":
            return Node("literal", value=float(text) if "." in text else int(text))
        if kind == "string":
            return Node("literal", value=_unescape(text[1:-1]))
        if kind == "date":
            return Node("literal", value=text[1:].rstrip("T"))
        if kind == "variable":
            return Node("variable", text[1:].strip("`'"))
        if text == "(":
            inner = self.expression(0)
            self._expect(")")
            return inner
        if text == "{":
            self._expect("}")
            return Node("literal", value=None)
        raise FhirPathError(f"unexpected {text}")

    def _call(self, base: Node | None, name: str) -> Node:
        self._expect("(")
        if name in {"is", "as", "ofType"}:
            target = self._type_name()
            self._expect(")")
            return Node("type", "is" if name == "is" else "as", target, (base or Node("this"),))
        arguments: list[Node | None] = []
        while not self._at(")"):
            arguments.append(self.expression(0))
            if self._at(","):
                self._take()
            elif not self._at(")"):
                raise FhirPathError("expected , or )")
        self._take()
        return Node("call", name, None, (base, *arguments))
