# ruff: noqa: ARG001, ARG005 - every closure takes the item and the surroundings
"""Syntax trees → Python closures over parsed JSON.

A closure takes the item in focus and the surroundings and returns a collection (a list). An expression that uses something this
module does not know raises FhirPathError when compiled, so that a caller can say what was not checked instead of guessing.
"""

from __future__ import annotations

from typing import Any

from touchstone.scorers.clinical.formats.fhir.fhirpath import functions
from touchstone.scorers.clinical.formats.fhir.fhirpath.environment import Compiled, Surroundings
from touchstone.scorers.clinical.formats.fhir.fhirpath.operators import boolean, operation
from touchstone.scorers.clinical.formats.fhir.fhirpath.syntax import FhirPathError, Node
from touchstone.scorers.clinical.formats.fhir.fhirpath.values import children, plain

UCUM = "http://unitsofmeasure.org"
_CONSTANTS = {"ucum": UCUM, "loinc": "http://loinc.org", "sct": "http://snomed.info/sct"}
_LAMBDAS = frozenset({"where", "select", "all", "exists", "repeat", "iif"})


def compile_expression(node: Node) -> Compiled:
    """Return the closure of a syntax tree; raise FhirPathError for what is not supported."""
    compiler = {
        "literal": _literal,
        "this": _this,
        "variable": _variable,
        "member": _member,
        "call": _call,
        "operator": _operator,
        "negative": _negative,
        "index": _index,
        "type": _type,
    }[node.kind]
    return compiler(node)


def truth(collection: list[Any]) -> bool:
    """Return whether a result satisfies an invariant: one item that is not false. An empty result does not."""
    if len(collection) == 1:
        return plain(collection[0]) is not False
    return bool(collection)


def _compile(node: Node | None) -> Compiled:
    return _focus if node is None else compile_expression(node)


def _focus(item: Any, around: Surroundings) -> list[Any]:
    return [item]


def _literal(node: Node) -> Compiled:
    constant = [] if node.value is None else [node.value]
    return lambda item, around: constant


def _this(node: Node) -> Compiled:
    return _focus


def _variable(node: Node) -> Compiled:
    name = node.text
    if name in _CONSTANTS:
        constant = [_CONSTANTS[name]]
        return lambda item, around: constant
    if name == "resource":
        return lambda item, around: [around.resource]
    if name == "rootResource":
        return lambda item, around: [around.root]
    if name == "context":
        return lambda item, around: [around.context]
    if name.startswith("vs-"):
        constant = ["http://hl7.org/fhir/ValueSet/" + name[3:]]
        return lambda item, around: constant
    raise FhirPathError(f"%{name} is not supported")


def _member(node: Node) -> Compiled:
    name, base = node.text, node.parts[0]
    if base is None:
        if name[0].isupper():
            return lambda item, around: [item] if item.__class__ is dict and item.get("resourceType", name) == name else []
        return lambda item, around: around.count(children(item, name))
    of = compile_expression(base)
    return lambda item, around: around.count([child for one in of(item, around) for child in children(one, name)])


def _index(node: Node) -> Compiled:
    of, place = _compile(node.parts[0]), _compile(node.parts[1])

    def run(item: Any, around: Surroundings) -> list[Any]:
        at = [plain(one) for one in place(item, around)]
        found = of(item, around)
        return [found[at[0]]] if len(at) == 1 and at[0].__class__ is int and 0 <= at[0] < len(found) else []

    return run


def _negative(node: Node) -> Compiled:
    of = _compile(node.parts[0])
    return lambda item, around: [-plain(one) for one in of(item, around) if isinstance(plain(one), int | float)]


def _type(node: Node) -> Compiled:
    """`x is T`, `x as T`, `x.ofType(T)`: by the name of the choice element where there is one, else by the look of the value."""
    wanted = str(node.value).rsplit(".", 1)[-1]
    base = node.parts[0]
    strict = base is not None and base.kind == "member"
    suffix = wanted[0].upper() + wanted[1:]
    if strict and base is not None:
        owner, name = _compile(base.parts[0]), base.text
        exact = name + suffix

        def found(item: Any, around: Surroundings) -> list[Any]:
            picked: list[Any] = []
            for one in owner(item, around):
                inner = one.beside if one.__class__ is functions.Extended else one
                if inner.__class__ is dict and (exact in inner or "_" + exact in inner):
                    picked.extend(children(inner, exact))
                elif inner.__class__ is dict and (name in inner or "_" + name in inner):
                    picked.extend(child for child in children(inner, name) if functions.has_type(child, wanted))
            return picked

    else:
        of = _compile(base)

        def found(item: Any, around: Surroundings) -> list[Any]:
            return [one for one in of(item, around) if _is(one, wanted, around)]

    if node.text == "as":
        return found
    present = _compile(base)
    return lambda item, around: [bool(found(item, around))] if present(item, around) else []


def _is(item: Any, wanted: str, around: Surroundings) -> bool:
    if around.kind is not None and item is around.context:
        return around.kind.lower() == wanted.lower()
    return functions.has_type(item, wanted)


def _operator(node: Node) -> Compiled:
    return operation(node.text, _compile(node.parts[0]), _compile(node.parts[1]))


def _call(node: Node) -> Compiled:
    name, base, arguments = node.text, node.parts[0], node.parts[1:]
    of = _compile(base)
    inner = [_compile(argument) for argument in arguments]
    if name in _LAMBDAS and inner:
        return _lambda(name, of, inner)
    if name == "resolve":
        return lambda item, around: functions.resolve(of(item, around), around.resolve)
    if name == "memberOf" and len(inner) == 1:
        return lambda item, around: functions.member_of(of(item, around), inner[0](item, around), around.member)
    function = functions.FUNCTIONS.get(name)
    if function is None:
        raise FhirPathError(f"{name}() is not supported")
    return lambda item, around: function(of(item, around), *[one(item, around) for one in inner])


def _lambda(name: str, of: Compiled, inner: list[Compiled]) -> Compiled:
    test = inner[0]
    if name == "where":
        return lambda item, around: [one for one in of(item, around) if boolean(test(one, around)) is True]
    if name == "select":
        return lambda item, around: [found for one in of(item, around) for found in test(one, around)]
    if name == "all":
        return lambda item, around: [all(boolean(test(one, around)) is True for one in of(item, around))]
    if name == "exists":
        return lambda item, around: [any(boolean(test(one, around)) is True for one in of(item, around))]
    if name == "repeat":
        return lambda item, around: functions.repeat(of(item, around), lambda one: test(one, around))
    otherwise = inner[2] if len(inner) > 2 else (lambda item, around: [])

    def iif(item: Any, around: Surroundings) -> list[Any]:
        # The criterion of iif sees the collection that it is called on: with none, the item in focus.
        focus = of(item, around)
        seen = focus[0] if len(focus) == 1 else focus
        return (inner[1] if boolean(test(seen, around)) is True else otherwise)(seen, around)

    return iif
