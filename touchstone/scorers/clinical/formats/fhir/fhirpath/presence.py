"""Deciding an invariant from the names of the elements that are present, without their values.

Most invariants are about presence only, or hold because the elements they are about are absent. Deciding them once per set of keys, not once per
element, makes it affordable to check them all.
"""

from __future__ import annotations

from enum import Enum

from touchstone.scorers.clinical.formats.fhir.fhirpath.syntax import Node


class Verdict(Enum):
    """What names decide of an expression: its truth, that it is an empty or non-empty collection, or nothing."""

    TRUE = 1
    FALSE = 2
    EMPTY = 3
    SOME = 4
    UNKNOWN = 5


_T, _F, _E, _S, _U = Verdict.TRUE, Verdict.FALSE, Verdict.EMPTY, Verdict.SOME, Verdict.UNKNOWN
#: Functions whose result for an empty collection is empty.
_EMPTY_THROUGH = frozenset(
    {"where", "select", "first", "last", "tail", "skip", "take", "single", "distinct", "matches", "contains", "startsWith", "endsWith"}
    | {"substring", "toString", "toInteger"}
    | {"resolve", "trace", "extension", "children", "descendants", "repeat", "length", "lower", "upper", "replace", "replaceMatches", "indexOf", "intersect"}
)
_TRUE_IF_EMPTY = frozenset({"empty", "all", "isDistinct"})


def decide(node: Node, present: frozenset[str]) -> Verdict:
    """Return what the names of the present elements decide of an expression. `present`: element names, choices without their type."""
    if node.kind == "member":
        if node.parts[0] is None:
            return _S if node.text in present else (_U if node.text[0].isupper() else _E)
        return _E if decide(node.parts[0], present) is _E else _U
    if node.kind == "call":
        return _call(node, present)
    if node.kind == "operator":
        return _operator(node, present)
    if node.kind in {"type", "index"}:
        base = node.parts[0]
        return _E if base is not None and decide(base, present) is _E and not (node.kind == "type" and node.text == "is" and base.kind == "this") else _U
    if node.kind == "literal":
        return {True: _T, False: _F, None: _E}.get(node.value, _U) if node.value is None or isinstance(node.value, bool) else _S
    return _U


def _call(node: Node, present: frozenset[str]) -> Verdict:
    base = node.parts[0]
    if base is None:
        return _U
    known = decide(base, present)
    if node.text == "not":
        return {_T: _F, _F: _T, _E: _T}.get(known, _U)
    if node.text == "exists" and len(node.parts) == 1:
        return {_E: _F, _U: _U}.get(known, _T)
    if node.text in {"exists", "hasValue"}:
        return _F if known is _E else _U
    if known is _E:
        if node.text in _TRUE_IF_EMPTY:
            return _T
        return _E if node.text in _EMPTY_THROUGH else _U
    if node.text == "empty":
        return _U if known is _U else _F
    return _S if known is _S and node.text in {"first", "trace"} else _U


def _operator(node: Node, present: frozenset[str]) -> Verdict:
    left, right = (decide(part, present) if part is not None else _U for part in node.parts)
    if node.text in {"and", "or", "implies", "xor"}:
        return _logic(node.text, left, right)
    if node.text in {"=", "!="} and left in {_T, _F} and right in {_T, _F}:
        return _T if (left is right) == (node.text == "=") else _F
    if node.text == "|":
        return _E if left is _E and right is _E else _U
    if node.text in {"in", "contains"}:
        item, group = (left, right) if node.text == "in" else (right, left)
        return _E if item is _E else (_F if group is _E else _U)
    if node.text == "&":
        return _U
    return _E if _E in {left, right} else _U


def _logic(operator: str, left: Verdict, right: Verdict) -> Verdict:
    if operator == "and":
        if _F in {left, right}:
            return _F
        return _T if left is _T and right is _T else (_E if {left, right} <= {_E, _T} else _U)
    if operator == "or":
        if _T in {left, right}:
            return _T
        return _F if left is _F and right is _F else (_E if {left, right} <= {_E, _F} else _U)
    if operator == "implies":
        if left is _F or right is _T:
            return _T
        if left is _T:
            return right if right in {_T, _F, _E} else _U
        return _E if left is _E and right in {_F, _E} else _U
    if left in {_T, _F} and right in {_T, _F}:
        return _F if left is right else _T
    return _E if _E in {left, right} and _U not in {left, right} and _S not in {left, right} else _U
