"""Evaluates the rules of a Schematron file on documents, with the results that the ISO XSLT gives.

Rules are indexed by the template id that their contexts ask for, so that only those whose templates occur cost anything. XPath is compiled once, at
its first use; all tests of a rule are one expression, which answers with a digit per test.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from touchstone.scorers.clinical.formats.ccda.document import Document
from touchstone.scorers.clinical.formats.ccda.element_names import CDA
from touchstone.scorers.clinical.formats.ccda.options import RULES_BYTES_MAX
from touchstone.scorers.clinical.formats.ccda.schematron.bounds import excess
from touchstone.scorers.clinical.formats.ccda.schematron.document_paths import rooted
from touchstone.scorers.clinical.formats.ccda.schematron.expressions import (
    CURRENT,
    Alternative,
    Template,
    Unsupported,
    alternatives,
    translated,
    variables,
)
from touchstone.scorers.clinical.formats.ccda.schematron.rulefile import Assertion, Pattern, Quoted, Rule, RuleFile, read_rule_file


class Fired(NamedTuple):
    """A rule that was evaluated on an element (or an attribute of it), and its assertions that failed (for a report: that hold)."""

    pattern: Pattern
    rule: Rule
    element: Any
    attribute: str
    failed: tuple[Assertion, ...]
    #: Why assertions of the rule are never evaluated, with one example of each.
    left_out: dict[str, str]


class _Files:
    """The code files beside a rule file, parsed once; none but those in its own folder."""

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
        self.path = _compiled(alternative.path, namespaces) if alternative.path is not None else None

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


class _CompiledRule:
    """A rule whose context and tests are compiled at its first use."""

    def __init__(self, engine: Engine, pattern: Pattern, number: int, rule: Rule, branches: list[Alternative]) -> None:
        self._engine, self.pattern, self.pattern_number, self.rule = engine, pattern, number, rule
        self._alternatives = branches
        self.attribute = branches[0].attribute

    @cached_property
    def branches(self) -> list[_Branch]:
        return [_Branch(one, self._engine.namespaces) for one in self._alternatives]

    @cached_property
    def tests(self) -> _Tests:
        return _Tests(self._engine, self.rule, self.attribute)


class _Joined(NamedTuple):
    """The tests of a rule as one expression: what it needs, and the assertions whose digits it answers with."""

    expression: Any
    kept: tuple[Assertion, ...]
    sources: tuple[str, ...]
    used: dict[str, Any]
    open_lets: tuple[str, ...]
    needs_current: bool


class _Tests:
    """All tests of a rule as one expression, and each by itself."""

    def __init__(self, engine: Engine, rule: Rule, attribute: str) -> None:
        self._engine = engine
        self._constants: dict[str, Any] = {}
        self.left_out: dict[str, str] = {}
        #: Names of variables that have no value, and why.
        self._unknown = dict(engine.unknown)
        #: Name, expression, and whether it is of the document.
        self._lets: list[tuple[str, Any, bool]] = []
        for of_document, lets in ((True, rule.pattern_lets), (False, rule.lets)):
            for name, value in lets:
                try:
                    self._lets.append((name, _compiled(self._translated(rooted(value) if of_document else value), engine.namespaces), of_document))
                    self._unknown.pop(name, None)
                except Unsupported as error:
                    self._unknown[name] = str(error)
        kept, sources = [], []
        for one in rule.assertions:
            try:
                test = self._translated(one.test)
                _compiled(test, engine.namespaces)
                if attribute:
                    test = _of_attribute(test, attribute)
            except Unsupported as error:
                self._leave_out(one, str(error))
                continue
            kept.append(one)
            sources.append(f"not({test})" if one.kind == "assert" else f"boolean({test})")
        #: Replaced as a whole, for another call may have begun with it.
        self._joined = self._join(kept, sources)

    def _leave_out(self, assertion: Assertion, why: str) -> None:
        self.left_out.setdefault(why, assertion.id or assertion.text[:60])

    def _join(self, kept: list[Assertion], sources: list[str]) -> _Joined:
        named = variables(" ".join(sources))
        digits = ",".join(f"number({one})" for one in sources)
        return _Joined(
            _compiled(f"concat({digits},'')", self._engine.namespaces) if sources else None,
            tuple(kept),
            tuple(sources),
            {name: value for name, value in {**self._engine.constants, **self._constants}.items() if name in named},
            tuple(name for name in self._engine.open_lets if name in named),
            CURRENT in named,
        )

    def _translated(self, expression: str) -> str:
        for name in variables(expression) & self._unknown.keys():
            raise Unsupported(self._unknown[name])
        return _bounded(expression, self._engine.files, self._constants)

    def failed(self, element: Any, document_lets: dict[str, Any]) -> tuple[Assertion, ...]:
        """The assertions that an element fails."""
        joined = self._joined
        if joined.expression is None:
            return ()
        given = self._given(joined, element, document_lets)
        try:
            digits = joined.expression(element, **given) if given else joined.expression(element)
        except _xpath_error():
            self._leave_out_what_fails(joined, element, given)
            return self.failed(element, document_lets)
        if "1" not in digits:
            return ()
        return tuple(one for digit, one in zip(digits, joined.kept, strict=True) if digit == "1")

    def _given(self, joined: _Joined, element: Any, document_lets: dict[str, Any]) -> dict[str, Any]:
        """The variables of the tests; those whose lets cannot be evaluated are missing."""
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
                given[name] = _held(value(at, **(self._engine.constants | self._constants | document_lets | given)))
            except _xpath_error():
                given.pop(name, None)
        return given

    def _leave_out_what_fails(self, joined: _Joined, element: Any, given: dict[str, Any]) -> None:
        """Leave out each test that cannot be evaluated, such as one with a variable or prefix that is not declared."""
        kept, sources = [], []
        for one, source in zip(joined.kept, joined.sources, strict=True):
            try:
                _compiled(source, self._engine.namespaces)(element, **given)
            except _xpath_error():
                self._leave_out(one, "a test that cannot be evaluated")
                continue
            kept.append(one)
            sources.append(source)
        if len(kept) == len(joined.kept):
            # Each can be evaluated, and not all together: no list would be whole.
            self._leave_out(kept[0], "a rule that cannot be evaluated")
            kept, sources = [], []
        self._joined = self._join(kept, sources)


class Engine:
    """A Schematron file, ready to be asked of any number of documents, one after another."""

    def __init__(self, file: RuleFile) -> None:
        self.file = file
        self.namespaces = file.namespaces
        self.files = _Files(file.path.parent, file.namespaces)
        self.left_out: dict[str, str] = {}
        self.constants: dict[str, Any] = {}
        self.open_lets: dict[str, Any] = {}
        self.unknown: dict[str, str] = {}
        self._rules: list[_CompiledRule] = []
        self._by_root: dict[str, list[int]] = {}
        self._always: list[int] = []
        for name, value in file.lets:
            if value[:1] in "'\"" and value[-1:] == value[:1] and value[:1] not in value[1:-1]:
                self.constants[name] = value[1:-1]
            else:
                try:
                    for other in variables(value) & self.unknown.keys():
                        raise Unsupported(self.unknown[other])
                    self.open_lets[name] = _compiled(_bounded(rooted(value), self.files, self.constants), self.namespaces)
                except Unsupported as error:
                    self.unknown[name] = str(error)
        for number, pattern in enumerate(file.patterns):
            for rule in pattern.rules:
                self._add(pattern, number, rule)

    def _add(self, pattern: Pattern, number: int, rule: Rule) -> None:
        try:
            branches = []
            if why := excess(rule.context, self.namespaces):
                raise Unsupported(why)
            for one in alternatives(rule.context):
                if why := excess(one.whole, self.namespaces):
                    raise Unsupported(why)
                branches.append(_of_cda(one, self.namespaces))
            if len({branch.attribute for branch in branches}) > 1 or (branches[0].attribute and (rule.lets or rule.pattern_lets)):
                raise Unsupported("a context of several attributes, or of one with lets")
        except Unsupported as error:
            self._leave_out(rule, str(error))
            return
        place = len(self._rules)
        self._rules.append(_CompiledRule(self, pattern, number, rule, branches))
        if any(branch.template is None for branch in branches):
            self._always.append(place)
            return
        for root in dict.fromkeys(branch.template.root for branch in branches if branch.template is not None):
            self._by_root.setdefault(root, []).append(place)

    @property
    def roots(self) -> Iterable[str]:
        """The roots of the template ids that rules ask for."""
        return self._by_root.keys()

    def _leave_out(self, rule: Rule, why: str) -> None:
        """Note that a rule is never evaluated; one example of each reason is kept."""
        for one in rule.assertions[:1]:
            self.left_out.setdefault(why, one.id or one.text[:60])

    def concerned(self, document: Document) -> list[int]:
        """The rules whose templates occur in a document, and those that name none, in order."""
        return sorted({place for root in document.templates for place in self._by_root.get(root, ())} | set(self._always))

    def patterns(self, document: Document) -> frozenset[str]:
        """The patterns of those rules; no rule of another can fire."""
        return frozenset(self._rules[place].pattern.id for place in self.concerned(document))

    def fired(self, document: Document) -> Iterator[Fired]:
        """Every rule that fires, in the order of the ISO XSLT: by pattern, by element in document order. Raises `OutOfTime`."""
        lets = self._document_lets(document)
        wanted = self.concerned(document)
        begun = 0
        while begun < len(wanted):
            number = self._rules[wanted[begun]].pattern_number
            end = begun
            while end < len(wanted) and self._rules[wanted[end]].pattern_number == number:
                end += 1
            yield from self._pattern([self._rules[place] for place in wanted[begun:end]], document, lets)
            begun = end

    def _document_lets(self, document: Document) -> dict[str, Any]:
        """The file's own variables; those that cannot be evaluated are missing."""
        found: dict[str, Any] = {}
        for name, value in self.open_lets.items():
            try:
                found[name] = _held(value(document.root, **(self.constants | found)))
            except _xpath_error():
                continue
        return found

    def _pattern(self, rules: list[_CompiledRule], document: Document, lets: dict[str, Any]) -> Iterator[Fired]:
        """The rules of one pattern: each element fires the first whose context matches it."""
        taken: dict[tuple[Any, str], _CompiledRule] = {}
        sources = 0
        for rule in rules:
            document.check_time()
            try:
                for branch in rule.branches:
                    before = len(taken)
                    for element in branch.elements(document):
                        taken.setdefault((element, rule.attribute), rule)
                    sources += len(taken) > before
            except (Unsupported, _xpath_error()):
                self._leave_out(rule.rule, "a context that cannot be evaluated")
        # A path from nested elements may select out of order, as several sources do.
        places = list(taken)
        if len(taken) > 1 and (sources > 1 or not _is_plain(rules)):
            places.sort(key=lambda place: (document.order[place[0]], place[0].keys().index(place[1]) + 1 if place[1] in place[0].keys() else 0))  # noqa: SIM118
        for element, attribute in places:
            document.check_time()
            rule = taken[element, attribute]
            failed = rule.tests.failed(element, lets)
            yield Fired(rule.pattern, rule.rule, element, attribute, failed, rule.tests.left_out)

    def text(self, assertion: Assertion, element: Any, attribute: str = "") -> str:
        """The text of an assertion with what it quotes of the document."""
        made = []
        for word in assertion.words:
            if isinstance(word, Quoted):
                select = f"@{attribute}/{word.select}" if attribute and not word.select.startswith(("/", "name(")) else word.select
                try:
                    if excess(select, self.namespaces):
                        raise Unsupported
                    made.append(str(_compiled(f"string({select})", self.namespaces)(element)))
                except (Unsupported, _xpath_error()):
                    made.append("…")
            else:
                made.append(word)
        return " ".join("".join(made).split())


def load(path: Path) -> Engine:
    """The engine of a Schematron file. Raises `ConfigError`."""
    return Engine(read_rule_file(path))


def _is_plain(rules: list[_CompiledRule]) -> bool:
    """Whether all contexts are elements that carry a template id themselves, which come in order."""
    return all(branch.path is None for rule in rules for branch in rule.branches)


def _elements(found: Any) -> Iterable[Any]:
    return [one for one in found if not isinstance(one, str)] if isinstance(found, list) else ()


def _of_cda(branch: Alternative, namespaces: dict[str, str]) -> Alternative:
    """A branch as it is where its template ids are CDA's, by which documents are indexed; else as a path from the document."""
    template = branch.template
    if template is None or (template.id_name == "templateId" and namespaces.get(template.id_prefix) == CDA):
        return branch
    return Alternative(None, branch.whole, branch.whole, branch.attribute)


def _of_attribute(test: str, attribute: str) -> str:
    """A test of an attribute, asked of its element: in a predicate the attribute is the context."""
    if CURRENT in variables(test):
        raise Unsupported("current() of an attribute")
    return f"@{attribute}[boolean({test})]"


def _tag(template: Template, namespaces: dict[str, str]) -> str:
    return f"{{{namespaces[template.prefix]}}}{template.name}" if template.prefix in namespaces else template.name


def _bounded(expression: str, files: _Files, constants: dict[str, Any]) -> str:
    """An expression that may be evaluated, without functions of XSLT. Raises `Unsupported`."""
    if why := excess(expression, files.namespaces):
        raise Unsupported(why)
    return translated(expression, files.lookup, constants)


def _held(value: Any) -> Any:
    """A value that a variable may hold: lxml takes no attributes or text back, so those become elements with the same text."""
    if isinstance(value, list) and any(isinstance(one, str) for one in value):
        from lxml import etree

        holder = etree.Element("held")
        for one in value:
            etree.SubElement(holder, "one").text = str(one)
        return list(holder)
    return value


def _compiled(expression: str, namespaces: dict[str, str]) -> Any:
    from lxml import etree

    try:
        return etree.XPath(expression, namespaces=namespaces or None, regexp=False, smart_strings=False)
    except (etree.XPathSyntaxError, ValueError):
        raise Unsupported("an expression that is not XPath 1.0") from None


def _xpath_error() -> type[Exception]:
    from lxml import etree

    error: type[Exception] = etree.XPathEvalError
    return error
