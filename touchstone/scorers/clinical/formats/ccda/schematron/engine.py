"""Evaluates the rules of a Schematron file on documents, with the results that the ISO XSLT gives.

Rules are indexed by the template id in their contexts, so that only rules whose templates occur in a document cost anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from touchstone.scorers.clinical.formats.ccda.document import Document
from touchstone.scorers.clinical.formats.ccda.element_names import CDA
from touchstone.scorers.clinical.formats.ccda.schematron.bounds import excess
from touchstone.scorers.clinical.formats.ccda.schematron.compiled_rules import CompiledRule, Surroundings, compiled, xpath_error
from touchstone.scorers.clinical.formats.ccda.schematron.expressions import Alternative, Unsupported, alternatives
from touchstone.scorers.clinical.formats.ccda.schematron.rulefile import Assertion, Pattern, Quoted, Rule, RuleFile, read_rule_file


class Fired(NamedTuple):
    """A rule that was evaluated on an element (or an attribute of it), and its assertions that failed (for reports: assertions that passed)."""

    pattern: Pattern
    rule: Rule
    element: Any
    attribute: str
    failed: tuple[Assertion, ...]
    #: Reasons why assertions of the rule are never evaluated, with one example of each.
    left_out: dict[str, str]


class Engine:
    """A Schematron file, ready to be evaluated on any number of documents, one after another."""

    def __init__(self, file: RuleFile) -> None:
        self.file = file
        self._around = Surroundings(file)
        self.namespaces = file.namespaces
        self.left_out: dict[str, str] = {}
        self._rules: list[CompiledRule] = []
        self._by_root: dict[str, list[int]] = {}
        self._always: list[int] = []
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
        self._rules.append(CompiledRule(self._around, pattern, number, rule, branches))
        if any(branch.template is None for branch in branches):
            self._always.append(place)
            return
        for root in dict.fromkeys(branch.template.root for branch in branches if branch.template is not None):
            self._by_root.setdefault(root, []).append(place)

    def _leave_out(self, rule: Rule, why: str) -> None:
        """Record that a rule is never evaluated, with one example of each reason."""
        for one in rule.assertions[:1]:
            self.left_out.setdefault(why, one.id or one.text[:60])

    def concerned(self, document: Document) -> list[int]:
        """The rules whose templates occur in a document, and those without templates, in order."""
        return sorted({place for root in document.templates for place in self._by_root.get(root, ())} | set(self._always))

    def patterns(self, document: Document) -> frozenset[str]:
        """The patterns of those rules, the only ones that can fire."""
        return frozenset(self._rules[place].pattern.id for place in self.concerned(document))

    def fired(self, document: Document) -> Iterator[Fired]:
        """Every rule that fires, in the order of the ISO XSLT: by pattern, by element in document order. Raises `OutOfTime`."""
        lets = self._around.document_lets(document)
        wanted = self.concerned(document)
        begun = 0
        while begun < len(wanted):
            number = self._rules[wanted[begun]].pattern_number
            end = begun
            while end < len(wanted) and self._rules[wanted[end]].pattern_number == number:
                end += 1
            yield from self._pattern([self._rules[place] for place in wanted[begun:end]], document, lets)
            begun = end

    def _pattern(self, rules: list[CompiledRule], document: Document, lets: dict[str, Any]) -> Iterator[Fired]:
        """The rules of one pattern: each element fires the first whose context matches it."""
        taken: dict[tuple[Any, str], CompiledRule] = {}
        sources = 0
        for rule in rules:
            document.check_time()
            try:
                for branch in rule.branches:
                    before = len(taken)
                    for element in branch.elements(document):
                        taken.setdefault((element, rule.attribute), rule)
                    sources += len(taken) > before
            except (Unsupported, xpath_error()):
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
        """The text of an assertion, with its quotations from the document."""
        made = []
        for word in assertion.words:
            if isinstance(word, Quoted):
                select = f"@{attribute}/{word.select}" if attribute and not word.select.startswith(("/", "name(")) else word.select
                try:
                    if excess(select, self.namespaces):
                        raise Unsupported
                    made.append(str(compiled(f"string({select})", self.namespaces)(element)))
                except (Unsupported, xpath_error()):
                    made.append("…")
            else:
                made.append(word)
        return " ".join("".join(made).split())


def load(path: Path) -> Engine:
    """The engine of a Schematron file. Raises `ConfigError`."""
    return Engine(read_rule_file(path))


def _is_plain(rules: list[CompiledRule]) -> bool:
    """True if all contexts are elements with a template id of their own, which come in document order."""
    return all(branch.path is None for rule in rules for branch in rule.branches)


def _of_cda(branch: Alternative, namespaces: dict[str, str]) -> Alternative:
    """A branch itself if its template ids are CDA's, by which documents are indexed; else its path from the document."""
    template = branch.template
    if template is None or (template.id_name == "templateId" and namespaces.get(template.id_prefix) == CDA):
        return branch
    return Alternative(None, branch.whole, branch.whole, branch.attribute)
