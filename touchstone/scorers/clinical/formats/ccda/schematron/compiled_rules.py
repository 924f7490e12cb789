"""The rules of a Schematron file, compiled at their first use. All tests of a rule are one expression, which returns a digit for each test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from touchstone.scorers.clinical.formats.ccda.document import Document
from touchstone.scorers.clinical.formats.ccda.options import RULES_BYTES_MAX
from touchstone.scorers.clinical.formats.ccda.schematron.bounds import excess
from touchstone.scorers.clinical.formats.ccda.schematron.document_paths import rooted
from touchstone.scorers.clinical.formats.ccda.schematron.expressions import CURRENT, Alternative, Template, Unsupported, translated, variables
from touchstone.scorers.clinical.formats.ccda.schematron.rulefile import Assertion, Pattern, Rule, RuleFile


class Surroundings:
    """What the rules of one file share: its namespaces, the code files beside it, and its variables.

    `constants`: variables with text; `open_lets`: compiled expressions, evaluated for each document; `unknown`: variables without a value, and why.
    """

    def __init__(self, file: RuleFile) -> None:
        self.namespaces = file.namespaces
        self.files = _Files(file.path.parent, file.namespaces)
        self.constants: dict[str, Any] = {}
        self.open_lets: dict[str, Any] = {}
        self.unknown: dict[str, str] = {}
        for name, value in file.lets:
            if value[:1] in "'\"" and value[-1:] == value[:1] and value[:1] not in value[1:-1]:
                self.constants[name] = value[1:-1]
            else:
                self._add_open(name, value)

    def _add_open(self, name: str, value: str) -> None:
        try:
            for other in variables(value) & self.unknown.keys():
                raise Unsupported(self.unknown[other])
            self.open_lets[name] = compiled(_bounded(rooted(value), self.files, self.constants), self.namespaces)
        except Unsupported as error:
            self.unknown[name] = str(error)

    def document_lets(self, document: Document) -> dict[str, Any]:
        """The values of `open_lets` in a document, without those that cannot be evaluated."""
        found: dict[str, Any] = {}
        for name, value in self.open_lets.items():
            try:
                found[name] = _held(value(document.root, **(self.constants | found)))
            except xpath_error():
                continue
        return found


class _Files:
    """The code files in the folder of a rule file, each parsed once."""

    def __init__(self, folder: Path, namespaces: dict[str, str]) -> None:
        self._folder, self.namespaces = folder, namespaces
        self._trees: dict[str, Any] = {}

    def lookup(self, name: str, path: str) -> list[Any]:
        """The elements that a path selects in a file."""
        if name not in self._trees:
            self._trees[name] = self._parsed(name)
        tree = self._trees[name]
        if tree is None:
            raise Unsupported(f"{name if name.isprintable() else 'a file'} is not beside the rule file" if "/" not in name else "a file elsewhere")
        if not path:
            return [tree.getroot()]
        found = tree.xpath(path, namespaces=self.namespaces or None)
        return found if isinstance(found, list) else []

    def _parsed(self, name: str) -> Any:
        from lxml import etree

        path = self._folder / name
        if not name or Path(name).name != name or not path.is_file() or path.stat().st_size > RULES_BYTES_MAX:
            return None
        try:
            return etree.parse(str(path), etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))
        except (etree.XMLSyntaxError, OSError):
            return None


class _Branch:
    """One branch of a rule's context, compiled."""

    __slots__ = ("_tag", "_template", "path")

    def __init__(self, alternative: Alternative, namespaces: dict[str, str]) -> None:
        self._template = alternative.template
        self._tag = _tag(alternative.template, namespaces) if alternative.template is not None else ""
        self.path = compiled(alternative.path, namespaces) if alternative.path is not None else None

    def elements(self, document: Document) -> Iterator[Any]:
        """The elements that the branch matches; some may come twice."""
        template = self._template
        if template is None:
            yield from _elements(self.path(document.root))  # type: ignore[misc]  # a branch without a template has a path
            return
        for element, extension in document.templates.get(template.root, ()):
            if element.tag != self._tag or (template.extension is not None and (extension or "") != template.extension):
                continue
            if template.extension == "" and extension is not None:
                continue
            if self.path is None:
                yield element
            else:
                yield from _elements(self.path(element))


class CompiledRule:
    """A rule whose context and tests are compiled at its first use."""

    def __init__(self, around: Surroundings, pattern: Pattern, number: int, rule: Rule, branches: list[Alternative]) -> None:
        self._around, self.pattern, self.pattern_number, self.rule = around, pattern, number, rule
        self._alternatives = branches
        self.attribute = branches[0].attribute

    @cached_property
    def branches(self) -> list[_Branch]:
        """The branches of the context."""
        return [_Branch(one, self._around.namespaces) for one in self._alternatives]

    @cached_property
    def tests(self) -> _Tests:
        """The tests of the assertions."""
        return _Tests(self._around, self.rule, self.attribute)


class _Joined(NamedTuple):
    """The tests of a rule as one expression: its variables, and the assertions in the order of its digits."""

    expression: Any
    kept: tuple[Assertion, ...]
    sources: tuple[str, ...]
    used: dict[str, Any]
    open_lets: tuple[str, ...]
    needs_current: bool


class _Tests:
    """All tests of a rule as one expression, and each by itself."""

    def __init__(self, around: Surroundings, rule: Rule, attribute: str) -> None:
        self._around = around
        self._constants: dict[str, Any] = {}
        self.left_out: dict[str, str] = {}
        self._unknown = dict(around.unknown)
        #: Name, compiled expression, and whether its context is the document instead of the element.
        self._lets: list[tuple[str, Any, bool]] = []
        for of_document, lets in ((True, rule.pattern_lets), (False, rule.lets)):
            for name, value in lets:
                self._add_let(name, value, of_document=of_document)
        kept, sources = [], []
        for one in rule.assertions:
            try:
                test = self._translated(one.test)
                compiled(test, around.namespaces)
                if attribute:
                    test = _of_attribute(test, attribute)
            except Unsupported as error:
                self._leave_out(one, str(error))
                continue
            kept.append(one)
            sources.append(f"not({test})" if one.kind == "assert" else f"boolean({test})")
        #: Replaced as a whole, because another call may have begun with it.
        self._joined = self._join(kept, sources)

    def _add_let(self, name: str, value: str, *, of_document: bool) -> None:
        try:
            expression = compiled(self._translated(rooted(value) if of_document else value), self._around.namespaces)
        except Unsupported as error:
            self._unknown[name] = str(error)
            return
        self._lets.append((name, expression, of_document))
        self._unknown.pop(name, None)

    def _leave_out(self, assertion: Assertion, why: str) -> None:
        self.left_out.setdefault(why, assertion.id or assertion.text[:60])

    def _join(self, kept: list[Assertion], sources: list[str]) -> _Joined:
        named = variables(" ".join(sources))
        digits = ",".join(f"number({one})" for one in sources)
        return _Joined(
            compiled(f"concat({digits},'')", self._around.namespaces) if sources else None,
            tuple(kept),
            tuple(sources),
            {name: value for name, value in {**self._around.constants, **self._constants}.items() if name in named},
            tuple(name for name in self._around.open_lets if name in named),
            CURRENT in named,
        )

    def _translated(self, expression: str) -> str:
        for name in variables(expression) & self._unknown.keys():
            raise Unsupported(self._unknown[name])
        return _bounded(expression, self._around.files, self._constants)

    def failed(self, element: Any, document_lets: dict[str, Any]) -> tuple[Assertion, ...]:
        """The assertions that an element fails."""
        joined = self._joined
        if joined.expression is None:
            return ()
        given = self._given(joined, element, document_lets)
        try:
            digits = joined.expression(element, **given) if given else joined.expression(element)
        except xpath_error():
            self._leave_out_what_fails(joined, element, given)
            return self.failed(element, document_lets)
        if "1" not in digits:
            return ()
        return tuple(one for digit, one in zip(digits, joined.kept, strict=True) if digit == "1")

    def _given(self, joined: _Joined, element: Any, document_lets: dict[str, Any]) -> dict[str, Any]:
        """The variables of the tests, without those that cannot be evaluated."""
        if not joined.used and not self._lets and not joined.needs_current and not joined.open_lets:
            return {}
        given = dict(joined.used)
        for name in joined.open_lets:
            if name in document_lets:
                given[name] = document_lets[name]
        if joined.needs_current or self._lets:
            given[CURRENT] = [element]
        for name, value, of_document in self._lets:
            at = element.getroottree() if of_document else element
            try:
                given[name] = _held(value(at, **(self._around.constants | self._constants | document_lets | given)))
            except xpath_error():
                given.pop(name, None)
        return given

    def _leave_out_what_fails(self, joined: _Joined, element: Any, given: dict[str, Any]) -> None:
        """Leave out each test that cannot be evaluated, such as one with a variable or prefix that is not declared."""
        kept, sources = [], []
        for one, source in zip(joined.kept, joined.sources, strict=True):
            try:
                compiled(source, self._around.namespaces)(element, **given)
            except xpath_error():
                self._leave_out(one, "a test that cannot be evaluated")
                continue
            kept.append(one)
            sources.append(source)
        if len(kept) == len(joined.kept):
            # Each test can be evaluated, but not all together.
            self._leave_out(kept[0], "a rule that cannot be evaluated")
            kept, sources = [], []
        self._joined = self._join(kept, sources)


def _elements(found: Any) -> Iterable[Any]:
    return [one for one in found if not isinstance(one, str)] if isinstance(found, list) else ()


def _of_attribute(test: str, attribute: str) -> str:
    """A test of an attribute as a test of its element: in a predicate the attribute is the context."""
    if CURRENT in variables(test):
        raise Unsupported("current() of an attribute")
    return f"@{attribute}[boolean({test})]"


def _tag(template: Template, namespaces: dict[str, str]) -> str:
    return f"{{{namespaces[template.prefix]}}}{template.name}" if template.prefix in namespaces else template.name


def _bounded(expression: str, files: _Files, constants: dict[str, Any]) -> str:
    """An expression within the bounds, without functions of XSLT. Raises `Unsupported`."""
    if why := excess(expression, files.namespaces):
        raise Unsupported(why)
    return translated(expression, files.lookup, constants)


def _held(value: Any) -> Any:
    """A value as a variable can hold it: lxml accepts no attributes or text, so they become elements with the same text."""
    if isinstance(value, list) and any(isinstance(one, str) for one in value):
        from lxml import etree

        holder = etree.Element("held")
        for one in value:
            etree.SubElement(holder, "one").text = str(one)
        return list(holder)
    return value


def compiled(expression: str, namespaces: dict[str, str]) -> Any:
    """A compiled XPath expression. Raises `Unsupported`."""
    from lxml import etree

    try:
        return etree.XPath(expression, namespaces=namespaces or None, regexp=False, smart_strings=False)
    except (etree.XPathSyntaxError, ValueError):
        raise Unsupported("an expression that is not XPath 1.0") from None


def xpath_error() -> type[Exception]:
    """The class of errors in evaluating XPath; lxml is imported on first use."""
    from lxml import etree

    error: type[Exception] = etree.XPathEvalError
    return error
