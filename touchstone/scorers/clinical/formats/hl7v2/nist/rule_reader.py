"""Reads the rules of a profile: conformance statements, predicates and bindings of value sets."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from touchstone.scorers.clinical.formats.hl7v2.nist.expressions import Expression, ExpressionReader
from touchstone.scorers.clinical.formats.hl7v2.nist.model import USAGES, Binding, Predicate, RuleBook, Rules, Statement
from touchstone.scorers.clinical.formats.hl7v2.nist.paths import Path, read_path
from touchstone.scorers.clinical.formats.hl7v2.nist.reader import said
from touchstone.scorers.clinical.formats.hl7v2.nist.xml_files import local

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

KINDS: Final = frozenset({"Datatype", "Segment", "Group", "Message"})
#: How binding an assertion is → the severity of a finding. W and A are the classifications "warning" and "alert".
SEVERITIES: Final = {"SHALL": "major", "SHOULD": "minor", "MAY": "info", "W": "minor", "A": "info", "": "major"}
TEXT_MAX: Final = 220
_REFERENCE: Final = ("Source", "Chapter", "Section", "Page", "URL")


def child(element: _Element, name: str) -> _Element | None:
    """The first child of a name."""
    return next((one for one in element if local(one) == name), None)


def _text(element: _Element, name: str) -> str:
    found = child(element, name)
    return "" if found is None else " ".join("".join(found.itertext()).split())[:TEXT_MAX]


class RuleReader:
    """Reads rule files into a book; constructs that it does not know are counted in `unknown`."""

    def __init__(self, book: RuleBook, unknown: Counter[str]) -> None:
        self.book, self.unknown = book, unknown
        self.expressions = ExpressionReader(unknown)

    def constraints(self, root: _Element) -> None:
        """A ConformanceContext: predicates, statements and co-constraints of the older form, by what they are about.

        The first versions of the format have the kinds (Datatype, …) directly below the root.
        """
        for section in root:
            name = local(section)
            if name in KINDS:
                self._kind(section, name)
            elif name in {"Predicates", "Constraints", "CoConstraints"}:
                for kind in section:
                    self._kind(kind, local(kind))
            elif name != "MetaData":
                self.unknown[name] += 1

    def _contexts(self, kind_element: _Element, kind: str) -> Iterator[tuple[_Element, Rules]]:
        """Each element that rules are about, with its place in the book."""
        if kind not in KINDS:
            self.unknown[kind] += 1
            return
        for context in kind_element:
            is_name = local(context) == "ByName"
            key = context.get("Name" if is_name else "ID", "")
            if local(context) in {"ByID", "ByName"} and key:
                yield context, self.book.at(kind, key, is_name=is_name)
            else:
                self.unknown[local(context)] += 1

    def _kind(self, kind_element: _Element, kind: str) -> None:
        for context, rules in self._contexts(kind_element, kind):
            for one in context:
                name = local(one)
                if name == "Constraint":
                    rules.statements.append(self._statement(one))
                elif name == "Predicate":
                    self._predicate(one, rules)
                elif name == "CoConstraint":
                    rules.statements += self._pairs(one)
                else:
                    self.unknown[name] += 1

    def _section(self, element: _Element) -> str:
        """Where the standard or guide states a rule."""
        reference = child(element, "Reference")
        if reference is None:
            return ""
        return ", ".join(f"{name.lower()} {text}" if name != "Source" else text for name in _REFERENCE if (text := said(reference.get(name))))[:TEXT_MAX]

    def _severity(self, element: _Element) -> str:
        how = element.get("Classification", "").strip().upper() or element.get("Strength", "").strip().upper()
        if how not in SEVERITIES:
            self.unknown[f"strength {how}"] += 1
        return SEVERITIES.get(how, "minor")

    def _statement(self, element: _Element) -> Statement:
        assertion = self.expressions.assertion(child(element, "Assertion"))
        return Statement(said(element.get("ID"))[:80], _text(element, "Description"), self._section(element), self._severity(element), assertion)

    def _predicate(self, element: _Element, rules: Rules) -> None:
        usages = (element.get("TrueUsage", "").upper(), element.get("FalseUsage", "").upper())
        path = self._path(element, "Target")
        if path is None or not path or not set(usages) <= USAGES:
            self.unknown["Predicate that cannot be read"] += 1
            return
        rules.predicates.append(Predicate(path, *usages, _text(element, "Description"), self.expressions.assertion(child(element, "Condition"))))

    def _pairs(self, element: _Element) -> Iterator[Statement]:
        """Co-constraints of the older form: where a key has a value, the assertions hold."""
        assertion = child(element, "Assertion")
        for pair in () if assertion is None else assertion:
            key = self._path(pair, "KeyPath")
            if local(pair) != "PlainCoConstraint" or key is None:
                self.unknown[local(pair)] += 1
                continue
            ignored = pair.get("IgnoreCase", "true").lower() in {"true", "1"}
            condition = Expression("PlainText", path=key, text=pair.get("KeyValue", ""), ignore_case=ignored, absent="FAIL")
            for one in pair:
                yield Statement("co-constraint", _text(element, "Description"), "", "major", Expression("IMPLY", (condition, self.expressions.read(one))))

    def _path(self, element: _Element, name: str) -> Path | None:
        try:
            return read_path(element.get(name, ""))
        except ValueError:
            return None

    def bindings(self, root: _Element) -> None:
        """A ValueSetBindingsContext: value sets and single codes, by what they are bound to."""
        for section in root:
            name = local(section)
            if name not in {"ValueSetBindings", "SingleCodeBindings"}:
                self.unknown[name] += name != "MetaData"
                continue
            for kind in section:
                for context, rules in self._contexts(kind, local(kind)):
                    rules.bindings += [binding for one in context if (binding := self.binding(one)) is not None]

    def binding(self, element: _Element) -> Binding | None:
        """One binding; None if it cannot be read, which is counted."""
        target = self._path(element, "Target")
        places = self._places(child(element, "BindingLocations"))
        sets = tuple(one.get("BindingIdentifier", "") for group in element if local(group) == "Bindings" for one in group)
        code = (element.get("Code", ""), element.get("CodeSystem", "")) if local(element) == "SingleCodeBinding" else None
        strength = element.get("BindingStrength", "").strip().upper()[:1]
        if target is None or places is None or not places or not (sets or code):
            self.unknown[f"{local(element)} that cannot be read"] += 1
            return None
        return Binding(target, strength, places, sets, code)

    def _places(self, element: _Element | None) -> tuple[tuple[Path, Path | None], ...] | None:
        """Where codes and their systems are, from the target; None if one cannot be read."""
        made: list[tuple[Path, Path | None]] = []
        for one in () if element is None else element:
            code = self._path(one, "CodeLocation")
            system = self._path(one, "CodeSystemLocation") if one.get("CodeSystemLocation") else None
            if code is None or (system is None and one.get("CodeSystemLocation")):
                return None
            made.append((code, system))
        return tuple(made)
