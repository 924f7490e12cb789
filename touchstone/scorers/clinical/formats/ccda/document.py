"""The state of one C-CDA validation, which all rules share: the document's elements, their paths, the findings so far, and the time that is left."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from touchstone.schemas.result import Finding, Severity
from touchstone.scorers.clinical.formats.ccda.element_names import TEMPLATE_ID, ElementPaths
from touchstone.scorers.clinical.formats.ccda.elements import local
from touchstone.scorers.clinical.formats.ccda.options import NOT_CHECKED_MAX, PER_CODE_MAX, Options
from touchstone.scorers.clinical.report import Context, Report

#: Every so many calls of `check_time` read the clock, which costs as much as a small rule.
_CALLS_PER_LOOK: Final = 16
#: Attributes with the values true and false.
BOOLEANS: Final = frozenset({"negationInd", "independentInd", "inversionInd", "contextConductionInd", "preferenceInd", "institutionSpecified", "inclusive"})
#: Attributes by which rules find elements.
_ASKED: Final = BOOLEANS | {"root", "codeSystem", "code", "nullFlavor", "unit", "value", "ID"}


class OutOfTime(Exception):
    """The document's time is over."""


@dataclass
class Document:
    """The state of one validation. `root`: the document's element in lxml, None until it is read. `given_up`: nobody waits for the result any more."""

    report: Report
    context: Context
    options: Options
    root: Any = None
    release: str = ""
    given_up: bool = False
    reported: Counter[tuple[str, Severity]] = field(default_factory=Counter)
    skipped: set[tuple[str, str]] = field(default_factory=set)
    begun_s: float = field(default_factory=time.thread_time)
    _calls: int = 0

    def __post_init__(self) -> None:
        self.path = ElementPaths(self.check_time).path

    @cached_property
    def elements(self) -> list[Any]:
        """Every element in document order. The list keeps each of them the same Python object, so that rules can compare them."""
        return list(self.root.iter("*"))

    @cached_property
    def names(self) -> list[str]:
        """The name of every element without its namespace, in the order of `elements`."""
        return [local(element) for element in self.elements]

    @cached_property
    def _by_attribute(self) -> dict[str, list[Any]]:
        """Attribute → the elements that have it, for the attributes that rules ask for: one pass over the document in place of one for each rule."""
        found: dict[str, list[Any]] = {name: [] for name in _ASKED}
        for element in self.elements:
            for name in element.keys():  # noqa: SIM118 - an element's keys are its attributes, itself its children
                if name in _ASKED:
                    found[name].append(element)
        return found

    def having(self, *attributes: str) -> list[Any]:
        """The elements that have at least one of some attributes of `_ASKED`, in document order."""
        lists = [found for name in attributes if (found := self._by_attribute[name])]
        if len(lists) <= 1:
            return lists[0] if lists else []
        wanted = {element for found in lists for element in found}
        return [element for element in self.elements if element in wanted]

    def select(self, names: frozenset[str], *attributes: str) -> list[tuple[Any, str]]:
        """The elements of some names, or with one of some attributes, each with its name, in document order."""
        found = {element for name in attributes for element in self._by_attribute[name]}
        return [(element, name) for element, name in zip(self.elements, self.names, strict=True) if name in names or element in found]

    @cached_property
    def order(self) -> dict[Any, int]:
        """The place of every element in document order."""
        return {element: number for number, element in enumerate(self.elements)}

    @cached_property
    def templates(self) -> dict[str, list[tuple[Any, str | None]]]:
        """Root of a template id → the elements that have it, in document order, each with the id's extension."""
        found: dict[str, list[tuple[Any, str | None]]] = {}
        is_late = False
        for one in self.root.iter(TEMPLATE_ID):
            root = one.get("root")
            if root is not None:
                found.setdefault(root, []).append((one.getparent(), one.get("extension")))
                is_late = is_late or _is_late(one)
        if is_late:
            for carriers in found.values():
                carriers.sort(key=lambda carrier: self.order[carrier[0]])
        return found

    def check_time(self) -> None:
        """Raise `OutOfTime` when the document's time is over. It is processor time, so that a busy machine changes no verdict."""
        self._calls += 1
        if self._calls % _CALLS_PER_LOOK == 1 and (self.given_up or time.thread_time() - self.begun_s > self.options.seconds_max):
            raise OutOfTime

    def add(
        self, severity: Severity, code: str, element: Any, message: str, *, suggestion: str | None = None, value: object = None, at: str | None = None
    ) -> None:
        """Report one finding about an element (None: the document), at one of its attributes if `at` is given."""
        if self._may_report(code, severity):
            path = "ClinicalDocument" if element is None else self.path(element)
            self.report.add(self.context.finding(severity, code, f"{path}/@{at}" if at else path, message, suggestion=suggestion, value=value))

    def add_all(self, findings: list[Finding]) -> None:
        """Report findings of the shared checks, whose paths were given to them."""
        for finding in findings:
            if self._may_report(finding.code, finding.severity):
                self.report.add(finding)

    def _may_report(self, code: str, severity: Severity) -> bool:
        """True while few findings of a kind were reported; any more are counted."""
        self.reported[code, severity] += 1
        if self.reported[code, severity] <= PER_CODE_MAX:
            return True
        self.report.drop(code, severity)
        return False

    def skip(self, check: str, reason: str) -> None:
        """Name a rule that was not applied, once. The list is bounded, because a document can name any number of unknown things."""
        if (check, reason) not in self.skipped and len(self.skipped) < NOT_CHECKED_MAX:
            self.skipped.add((check, reason))
            self.report.skip(check, reason)


def _is_late(template_id: Any) -> bool:
    """True if an element with children precedes a template id: elements inside it come later in the document than the id's own element."""
    before = template_id.getprevious()
    while before is not None and not len(before) and before.tag != TEMPLATE_ID:
        before = before.getprevious()
    return before is not None and before.tag != TEMPLATE_ID
