"""What the rules share while one C-CDA document is validated: its elements, where things are, what was said, how much time is left."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from touchstone.schemas.result import Finding, Severity
from touchstone.scorers.clinical.formats.ccda.element_names import TEMPLATE_ID, name_of
from touchstone.scorers.clinical.formats.ccda.options import NOT_CHECKED_MAX, PER_CODE_MAX, Options
from touchstone.scorers.clinical.report import Context, Report

#: Of so many calls, one asks for the time, which costs as much as a small rule.
_LOOKS: Final = 16


class OutOfTime(Exception):
    """The document has had its time."""


@dataclass
class Document:
    """The state of one validation. `root` is the document's element in lxml; None until it is read. `given_up`: nobody waits for it any more."""

    report: Report
    context: Context
    options: Options
    root: Any = None
    release: str = ""
    given_up: bool = False
    said: Counter[tuple[str, Severity]] = field(default_factory=Counter)
    skipped: set[tuple[str, str]] = field(default_factory=set)
    begun_s: float = field(default_factory=time.thread_time)
    _looks: int = 0
    _paths: dict[Any, str] = field(default_factory=dict)
    _numbered: dict[Any, dict[Any, str]] = field(default_factory=dict)

    @cached_property
    def elements(self) -> list[Any]:
        """Every element in document order. Kept, so that each stays one Python object, which rules compare."""
        return list(self.root.iter("*"))

    @cached_property
    def order(self) -> dict[Any, int]:
        """The place of every element in document order."""
        return {element: number for number, element in enumerate(self.elements)}

    @cached_property
    def templates(self) -> dict[str, list[tuple[Any, str | None]]]:
        """Root of a template id → the elements that carry it, in document order, each with the id's extension."""
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
        """Raise `OutOfTime` where the document has had its time: that of the processor, so that a busy machine changes no verdict."""
        self._looks += 1
        if self._looks % _LOOKS == 1 and (self.given_up or time.thread_time() - self.begun_s > self.options.seconds_max):
            raise OutOfTime

    def path(self, element: Any) -> str:
        """Where an element is, from the root; indices begin at 1 and stand where an element has siblings of its name."""
        known = self._paths.get(element)
        if known is not None:
            return known
        parent = element.getparent()
        path = name_of(element) if parent is None else f"{self.path(parent)}/{self._steps(parent)[element]}"
        self._paths[element] = path
        return path

    def _steps(self, parent: Any) -> dict[Any, str]:
        """The last step of the path of each child; of all at once, for to count from each child would cost their number squared."""
        known = self._numbered.get(parent)
        if known is None:
            self.check_time()
            every = list(parent.iterchildren("*"))
            totals, before = Counter(one.tag for one in every), Counter[str]()
            known = self._numbered[parent] = {}
            for one in every:
                before[one.tag] += 1
                known[one] = name_of(one) if totals[one.tag] == 1 else f"{name_of(one)}[{before[one.tag]}]"
        return known

    def say(
        self, severity: Severity, code: str, element: Any, message: str, *, suggestion: str | None = None, value: object = None, at: str | None = None
    ) -> None:
        """Report one finding about an element (None: the document), or count it where many of its kind were reported. `at`: an attribute of the element."""
        self.said[code, severity] += 1
        if self.said[code, severity] > PER_CODE_MAX:
            self.report.drop(code, severity)
            return
        path = "ClinicalDocument" if element is None else self.path(element)
        self.report.add(self.context.finding(severity, code, f"{path}/@{at}" if at else path, message, suggestion=suggestion, value=value))

    def take(self, findings: list[Finding]) -> None:
        """Keep findings of the shared checks, whose paths are those we gave them."""
        for finding in findings:
            self.said[finding.code, finding.severity] += 1
            if self.said[finding.code, finding.severity] > PER_CODE_MAX:
                self.report.drop(finding.code, finding.severity)
            else:
                self.report.add(finding)

    def skip(self, check: str, reason: str) -> None:
        """Name a rule that was not applied, once; a document can name any number of unknown things, so the list is bounded."""
        if (check, reason) not in self.skipped and len(self.skipped) < NOT_CHECKED_MAX:
            self.skipped.add((check, reason))
            self.report.skip(check, reason)


def _is_late(template_id: Any) -> bool:
    """Whether elements that hold others stand before a template id: what carries ids within those comes after the one that carries this."""
    before = template_id.getprevious()
    while before is not None and not len(before) and before.tag != TEMPLATE_ID:
        before = before.getprevious()
    return before is not None and before.tag != TEMPLATE_ID
