"""An ISO Schematron file as plain data: phases, patterns, rules, lets, asserts and reports.

The namespaces of Schematron 1.5 and of ISO are read. Abstract rules and patterns are expanded where they are used, as the ISO skeleton does. Nothing
is included or fetched.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.formats.ccda.options import RULES_BYTES_MAX

_NAMESPACES: Final = ("http://purl.oclc.org/dsdl/schematron", "http://www.ascc.net/xml/schematron")
_KINDS: Final[dict[str, Literal["assert", "report"]]] = {"assert": "assert", "report": "report"}
#: Greatest depth of rules that extend rules.
_EXTENDS_MAX: Final = 16
_SPACE: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Assertion:
    """One assert or report. `words`: its text, with the XPath of quotations (`value-of`, `name`) between."""

    kind: Literal["assert", "report"]
    test: str
    id: str
    words: tuple[str | Quoted, ...]

    @property
    def text(self) -> str:
        """The text without quotations from a document."""
        return _SPACE.sub(" ", "".join(word if isinstance(word, str) else "…" for word in self.words)).strip()


@dataclass(frozen=True, slots=True)
class Quoted:
    """A quotation from the document, as XPath."""

    select: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule with a context, and with the rules that it extends. `pattern_lets`: the lets of its pattern, whose context is the document."""

    id: str
    context: str
    pattern_lets: tuple[tuple[str, str], ...]
    lets: tuple[tuple[str, str], ...]
    assertions: tuple[Assertion, ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern: each node fires the first of its rules that matches. `phases`: those that make it active."""

    id: str
    phases: frozenset[str]
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class RuleFile:
    """A Schematron schema."""

    path: Path
    namespaces: dict[str, str]
    lets: tuple[tuple[str, str], ...]
    patterns: tuple[Pattern, ...]


def read_rule_file(path: Path) -> RuleFile:
    """Read a Schematron file. Raises `ConfigError` if it cannot be used."""
    from lxml import etree

    try:
        if path.stat().st_size > RULES_BYTES_MAX:
            raise ConfigError(f"{path} is larger than {RULES_BYTES_MAX // 2**20} MiB; name a Schematron file (.sch)")
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True)
        root = etree.parse(str(path), parser).getroot()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror or 'no XML'}); name a Schematron file (.sch)") from None
    except etree.XMLSyntaxError as error:
        raise ConfigError(f"{path} is not well-formed XML (line {error.position[0]}); name a Schematron file (.sch)") from None
    namespace = next((name for name in _NAMESPACES if root.tag == f"{{{name}}}schema"), None)
    if namespace is None:
        raise ConfigError(f"{path} is no Schematron schema; name a file whose root is sch:schema")
    return _Reader(path, root, f"{{{namespace}}}").rule_file()


class _Reader:
    """Reads one schema."""

    def __init__(self, path: Path, root: Any, namespace: str) -> None:
        self._path, self._root, self._in = path, root, namespace
        self._abstract: dict[str, list[Any]] = {}
        for rule in root.iter(namespace + "rule"):
            if rule.get("id"):
                self._abstract.setdefault(rule.get("id"), []).append(rule)

    def rule_file(self) -> RuleFile:
        active: dict[str, set[str]] = {}
        for phase in self._root.iter(self._in + "phase"):
            for one in phase.iter(self._in + "active"):
                active.setdefault(one.get("pattern", ""), set()).add(phase.get("id", ""))
        patterns = [self._pattern(one, active) for one in self._root.findall(self._in + "pattern") if one.get("abstract") != "true"]
        return RuleFile(
            self._path,
            {one.get("prefix"): one.get("uri") for one in self._root.findall(self._in + "ns") if one.get("prefix") and one.get("uri")},
            self._lets(self._root),
            tuple(patterns),
        )

    def _pattern(self, element: Any, active: dict[str, set[str]]) -> Pattern:
        source, replaced = element, dict[str, str]()
        if element.get("is-a"):
            source = next((one for one in self._root.findall(self._in + "pattern") if one.get("id") == element.get("is-a")), element)
            replaced = {one.get("name", ""): one.get("value", "") for one in element.findall(self._in + "param")}
        phases = active.get(element.get("id", ""), set())
        lets = self._lets(source)
        rules = [self._rule(one, lets, replaced) for one in source.findall(self._in + "rule") if one.get("abstract") != "true" and one.get("context")]
        return Pattern(element.get("id", ""), frozenset(phases), tuple(rules))

    def _rule(self, element: Any, lets: tuple[tuple[str, str], ...], replaced: dict[str, str]) -> Rule:
        own, assertions = list[tuple[str, str]](), list[Assertion]()
        self._content(element, own, assertions, 0)
        if replaced:
            own = [(name, _filled(value, replaced)) for name, value in own]
            assertions = [Assertion(one.kind, _filled(one.test, replaced), one.id, one.words) for one in assertions]
        of_pattern = tuple((name, _filled(value, replaced)) for name, value in lets)
        return Rule(element.get("id", ""), _filled(element.get("context", ""), replaced), of_pattern, tuple(own), tuple(assertions))

    def _content(self, element: Any, lets: list[tuple[str, str]], assertions: list[Assertion], depth: int) -> None:
        """Add the children of a rule in order, with those of an extended rule in the place of `extends`."""
        for child in element:
            kind = str(child.tag).removeprefix(self._in)
            if kind == "let":
                lets.append((child.get("name", ""), child.get("value", "")))
            elif kind == "extends" and depth < _EXTENDS_MAX:
                for extended in self._abstract.get(child.get("rule", ""), ()):
                    self._content(extended, lets, assertions, depth + 1)
            elif kind in _KINDS:
                assertions.append(Assertion(_KINDS[kind], child.get("test", ""), child.get("id", ""), tuple(self._words(child))))

    def _words(self, element: Any) -> list[str | Quoted]:
        words: list[str | Quoted] = [element.text or ""]
        for child in element:
            kind = str(child.tag).removeprefix(self._in)
            if kind == "value-of":
                words.append(Quoted(child.get("select", ".")))
            elif kind == "name":
                words.append(Quoted(f"name({child.get('path', '.')})"))
            else:
                words += self._words(child)
            words.append(child.tail or "")
        return words

    def _lets(self, element: Any) -> tuple[tuple[str, str], ...]:
        return tuple((one.get("name", ""), one.get("value", "")) for one in element.findall(self._in + "let"))


def _filled(text: str, replaced: dict[str, str]) -> str:
    """An abstract pattern's expression with its parameters filled in; longer names first, because one may begin another."""
    for name in sorted(replaced, key=len, reverse=True):
        text = text.replace(f"${name}", replaced[name])
    return text
