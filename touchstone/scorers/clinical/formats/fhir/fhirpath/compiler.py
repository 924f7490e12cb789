# ruff: noqa: ARG001, ARG005 - every closure takes the item and the environment
"""Syntax trees → Python closures over parsed JSON.

A closure takes the item in focus and the environment, and returns a collection (a list). Unsupported expressions raise FhirPathError when compiled,
so that the caller can report them as not checked.
"""

from __future__ import annotations

from typing import Any

from touchstone.scorers.clinical.formats.fhir.fhirpath import functions
from touchstone.scorers.clinical.formats.fhir.fhirpath.environment import Compiled, Environment
from touchstone.scorers.clinical.formats.fhir.fhirpath.operators import boolean, operation
from touchstone.scorers.clinical.formats.fhir.fhirpath.syntax import FhirPathError, Node
from touchstone.scorers.clinical.formats.fhir.fhirpath.values import Extended, children, plain

UCUM = "http://unitsofmeasure.org"
_CONSTANTS = {"ucum": UCUM, "loinc": "http://loinc.org", "sct": "http://snomed.info/sct"}
_LAMBDAS = frozenset({"where", "select", "all", "exists", "repeat", "iif"})


def compile_expression(node: Node) -> Compiled:
    """Return the closure of a syntax tree. Raises FhirPathError for unsupported expressions."""
    compiler = {
        "literal": _literal,
        "this": lambda _: _focus,
        "variable": _variable,
        "member": _member,
        "call": _call,
        "operator": lambda node: operation(node.text, _compile(node.parts[0]), _compile(node.parts[1])),
        "negative": _negative,
        "index": _index,
        "type": _type,
    }[node.kind]
    return compiler(node)


def truth(collection: list[Any]) -> bool:
    """Return True if a result satisfies an invariant: it has one item that is not false, or several items."""
    if len(collection) == 1:
        return plain(collection[0]) is not False
    return bool(collection)


def _compile(node: Node | None) -> Compiled:
    return _focus if node is None else compile_expression(node)


def _focus(item: Any, env: Environment) -> list[Any]:
    return [item]


def _literal(node: Node) -> Compiled:
    constant = [] if node.value is None else [node.value]
    return lambda item, env: constant


def _variable(node: Node) -> Compiled:
    name = node.text
    if name in _CONSTANTS:
        constant = [_CONSTANTS[name]]
        return lambda item, env: constant
    if name == "resource":
        return lambda item, env: [env.resource]
    if name == "rootResource":
        return lambda item, env: [env.root]
    if name == "context":
        return lambda item, env: [env.context]
    if name.startswith("vs-"):
        constant = ["http://hl7.org/fhir/ValueSet/" + name[3:]]
        return lambda item, env: constant
    raise FhirPathError(f"%{name} is not supported")


def _member(node: Node) -> Compiled:
    name, base = node.text, node.parts[0]
    if base is None:
        if name[0].isupper():
            return lambda item, env: [item] if item.__class__ is dict and item.get("resourceType", name) == name else []
        return lambda item, env: env.count(children(item, name))
    of = compile_expression(base)
    return lambda item, env: env.count([child for one in of(item, env) for child in children(one, name)])


def _index(node: Node) -> Compiled:
    of, place = _compile(node.parts[0]), _compile(node.parts[1])

    def run(item: Any, env: Environment) -> list[Any]:
        at = [plain(one) for one in place(item, env)]
        found = of(item, env)
        return [found[at[0]]] if len(at) == 1 and at[0].__class__ is int and 0 <= at[0] < len(found) else []

    return run


def _negative(node: Node) -> Compiled:
    of = _compile(node.parts[0])
    return lambda item, env: [-plain(one) for one in of(item, env) if isinstance(plain(one), int | float)]


def _type(node: Node) -> Compiled:
    """`x is T`, `x as T`, `x.ofType(T)`: decided by the name of a choice element, else by the value's form."""
    wanted = str(node.value).rsplit(".", 1)[-1]
    base = node.parts[0]
    strict = base is not None and base.kind == "member"
    suffix = wanted[0].upper() + wanted[1:]
    if strict and base is not None:
        owner, name = _compile(base.parts[0]), base.text
        exact = name + suffix

        def found(item: Any, env: Environment) -> list[Any]:
            picked: list[Any] = []
            for one in owner(item, env):
                inner = one.beside if one.__class__ is Extended else one
                if inner.__class__ is dict and (exact in inner or "_" + exact in inner):
                    picked.extend(children(inner, exact))
                elif inner.__class__ is dict and (name in inner or "_" + name in inner):
                    picked.extend(child for child in children(inner, name) if functions.has_type(child, wanted))
            return picked

    else:
        of = _compile(base)

        def found(item: Any, env: Environment) -> list[Any]:
            return [one for one in of(item, env) if _is(one, wanted, env)]

    if node.text == "as":
        return found
    present = _compile(base)
    return lambda item, env: [bool(found(item, env))] if present(item, env) else []


def _is(item: Any, wanted: str, env: Environment) -> bool:
    if env.kind is not None and item is env.context:
        return env.kind.lower() == wanted.lower()
    return functions.has_type(item, wanted)


def _call(node: Node) -> Compiled:
    name, base, arguments = node.text, node.parts[0], node.parts[1:]
    of = _compile(base)
    inner = [_compile(argument) for argument in arguments]
    if name in _LAMBDAS and inner:
        return _lambda(name, of, inner)
    if name == "resolve":
        return lambda item, env: functions.resolve(of(item, env), env.resolve)
    if name == "memberOf" and len(inner) == 1:
        return lambda item, env: functions.member_of(of(item, env), inner[0](item, env), env.member)
    function = functions.FUNCTIONS.get(name)
    if function is None:
        raise FhirPathError(f"{name}() is not supported")
    return lambda item, env: function(of(item, env), *[one(item, env) for one in inner])


def _lambda(name: str, of: Compiled, inner: list[Compiled]) -> Compiled:
    test = inner[0]
    if name == "where":
        return lambda item, env: [one for one in of(item, env) if boolean(test(one, env)) is True]
    if name == "select":
        return lambda item, env: [found for one in of(item, env) for found in test(one, env)]
    if name == "all":
        return lambda item, env: [all(boolean(test(one, env)) is True for one in of(item, env))]
    if name == "exists":
        return lambda item, env: [any(boolean(test(one, env)) is True for one in of(item, env))]
    if name == "repeat":
        return lambda item, env: functions.repeat(of(item, env), lambda one: test(one, env))
    otherwise = inner[2] if len(inner) > 2 else (lambda item, env: [])

    def iif(item: Any, env: Environment) -> list[Any]:
        # The criterion sees the collection that iif is called on; without one, the item in focus.
        focus = of(item, env)
        seen = focus[0] if len(focus) == 1 else focus
        return (inner[1] if boolean(test(seen, env)) is True else otherwise)(seen, env)

    return iif
