"""The plans of all types, and the values that were found good. Shared between documents and bounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from touchstone.scorers.clinical.formats.fhir import primitives
from touchstone.scorers.clinical.formats.fhir.bindings import binding_of
from touchstone.scorers.clinical.formats.fhir.member_plans import Plans, Step
from touchstone.scorers.clinical.formats.fhir.tables import Field, Type, definitions

#: Good values remembered per primitive type, and their length.
GOOD_MAX: Final = 20_000
GOOD_CHARS_MAX: Final = 80
#: Types whose values rarely repeat: recognising the form is cheaper than remembering the value.
_BY_FORM: Final[dict[str, Callable[[str], Any]]] = {
    "date": primitives.is_plain_date,
    "dateTime": primitives.is_plain_time,
    "instant": primitives.is_plain_instant,
    "id": primitives.is_id,
}
_NO_CODES: Final = frozenset[str]()
_NO_KINDS: Final = frozenset[type]()
#: Primitive type → JSON types of which every value is good.
_PLAIN: Final[dict[str, frozenset[type]]] = {"decimal": frozenset({float, int}), "boolean": frozenset({bool})}


class Engine:
    """The plans of all types."""

    def __init__(self) -> None:
        self.definitions = definitions()
        self._plans: dict[str, Plans] = {}
        self._good: dict[str, set[str]] = {}
        self.good_codings: set[tuple[Any, Any, Any]] = set()

    def plans(self, name: str) -> Plans:
        """Return the plans of a type."""
        plans = self._plans.get(name)
        if plans is None:
            plans = self._plans[name] = Plans(self.definitions.types[name], self._step)
        return plans

    def _step(self, of: Type, key: str) -> Step | None:
        """Return what to do with a member of a type."""
        if key == "resourceType" and key not in of.fields:
            return Step(None, key, frozenset({of.name}).__contains__) if of.kind == "resource" else None
        if key[:1] == "_":
            found = of.fields.get(key[1:])
            if found is None or found.kind != "primitive":
                return None
            return Step(found, key, below=self.plans("Element"), beside=key[1:], many=found.many)
        found = of.fields.get(key)
        if found is None:
            return None
        if found.kind == "complex":
            return self._complex(found)
        if found.kind == "primitive":
            return self._primitive(of, found)
        return Step(found, key, resource=found if found.kind == "resource" and not found.many else None, many=found.many)

    def _complex(self, found: Field) -> Step:
        below, binding = self.plans(found.type), binding_of(found)
        if found.invariants:
            below = Plans(self.definitions.types[found.type], self._step, found.invariants)
        if binding is not None:
            return Step(found, found.name, below=below, binding=binding, many=found.many)
        return Step(found, found.name, below=below, one=None if found.many else below, each=below if found.many else None, many=found.many)

    def _primitive(self, of: Type, found: Field) -> Step:
        binding, many = binding_of(found), found.many
        noted = (
            found.type in {"canonical", "markdown"}
            or (found.name == "id" and of.kind != "resource" and of.name != "ElementDefinition")
            or bool(found.invariants)
        )
        if noted:
            return Step(found, found.name, binding=binding, noted=True, many=many)
        # A good value of the type is a good value of the field, unless the field has a binding.
        accepts = self._accepts(found.type) if binding is None else (binding.codes or _NO_CODES).__contains__
        if many:
            return Step(found, found.name, accepts_item=accepts, binding=binding, many=True)
        return Step(found, found.name, accepts, plain=_PLAIN.get(found.type, _NO_KINDS), binding=binding)

    def _accepts(self, name: str) -> Callable[[str], Any]:
        return _BY_FORM.get(name) or self._good.setdefault(name, set()).__contains__

    def remember(self, name: str, value: str) -> None:
        """Keep a text that is a good value of a type, unless such texts are recognised by their form."""
        good = self._good.get(name)
        if good is None or len(value) > GOOD_CHARS_MAX:
            return
        if len(good) >= GOOD_MAX:
            good.clear()
        good.add(value)
