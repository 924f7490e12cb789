"""What the rules share while one document is validated: where things are, what was said, which resources and references were met."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from touchstone.schemas.result import Finding, Severity
from touchstone.scorers.clinical.formats.fhir.fault_families import DOUBLED
from touchstone.scorers.clinical.formats.fhir.options import NOT_CHECKED_MAX, PER_CODE_MAX, Options
from touchstone.scorers.clinical.formats.fhir.tables import Field, Type, element_names
from touchstone.scorers.clinical.report import Context, Report

#: A place: the place around it, a name, and an index or None.
Place = tuple[Any, str, int | None]

_NAME = re.compile(r"[A-Za-z0-9_\-]{1,64}")
#: Findings beyond the bound whose places are remembered.
_COUNTED_MAX = 50_000
#: Rules whose breach is minor by the specification and yet makes a resource invalid.
BREAKING_MINOR = frozenset({"fhir.bindings.status", "fhir.identifiers.system"})


def shown_name(name: str) -> str:
    """Return a name made safe to show: letters, digits, - and _, at most 64; else ?."""
    return name if _NAME.fullmatch(name) else "?"


def shown_place(place: Place | None) -> str:
    """Return a place as a path."""
    parts: list[str] = []
    while place is not None:
        outer, name, index = place
        parts.append(name if index is None else f"{name}[{index}]")
        place = outer
    return ".".join(reversed(parts)).replace(".[", "[")


@dataclass(slots=True)
class Frame:
    """One resource of the document: itself, the resource it is contained in, its Bundle and entry, and the references it makes."""

    resource: dict[str, Any]
    type: str
    place: Place
    container: Frame | None = None
    bundle: Frame | None = None
    entry: dict[str, Any] | None = None
    entry_index: int = 0
    references: list[tuple[dict[str, Any], Place, Field | None]] = field(default_factory=list)
    canonicals: list[tuple[str, Place, Field]] = field(default_factory=list)
    contained: list[Frame] = field(default_factory=list)
    entries: list[Frame] = field(default_factory=list)
    ids: dict[str, int] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """A member of the resource that should be text; empty where it is absent or something else."""
        value = self.resource.get(name)
        return value if isinstance(value, str) else ""

    @property
    def root(self) -> Frame:
        """The resource itself, or the one that it is contained in."""
        return self.container or self


@dataclass(slots=True)
class Document:
    """The state of one validation.

    `settled`: codings about which there is nothing to say whatever the options, shared between documents. `counted`: findings that were counted and not
    kept, of those that another rule may make too.
    """

    report: Report
    context: Context
    options: Options
    frames: list[Frame] = field(default_factory=list)
    extensions: list[tuple[dict[str, Any], Place, Frame]] = field(default_factory=list)
    narratives: list[tuple[str, Place, Frame]] = field(default_factory=list)
    codings: list[tuple[dict[str, Any], Place]] = field(default_factory=list)
    markdowns: list[tuple[str, Place]] = field(default_factory=list)
    typed: dict[str, list[tuple[dict[str, Any], Place, Frame]]] = field(default_factory=dict)
    settled: set[tuple[Any, Any, Any]] = field(default_factory=set)
    said: Counter[tuple[str, Severity]] = field(default_factory=Counter)
    skipped: set[tuple[str, str]] = field(default_factory=set)
    counted: list[tuple[str, Severity, str, str | None]] = field(default_factory=list)
    members: int = 0

    def named(self, name: str) -> str:
        """Return a member's name to be shown: anything but a name of an R4 element is text of the payload, and shown only where that may be quoted."""
        return shown_name(name) if self.context.quote or name.removeprefix("_") in element_names() else "?"

    def say(self, severity: Severity, code: str, place: Place | None, message: str, *, suggestion: str | None = None, value: object = None) -> None:
        """Report one finding, or count it where many of its kind were reported."""
        self.said[code, severity] += 1
        if self.said[code, severity] > PER_CODE_MAX:
            self.report.drop(code, severity)
            if code.startswith(DOUBLED) and len(self.counted) < _COUNTED_MAX:
                self.counted.append((code, severity, shown_place(place), suggestion))
            return
        self.report.add(self.context.finding(severity, code, shown_place(place), message, suggestion=suggestion, value=value))

    def take(self, found: Iterable[Finding]) -> None:
        """Keep findings of the shared checks, or count them as `say` does."""
        for finding in found:
            self.said[finding.code, finding.severity] += 1
            if self.said[finding.code, finding.severity] <= PER_CODE_MAX:
                self.report.add(finding)
                continue
            self.report.drop(finding.code, finding.severity)
            if finding.code.startswith(DOUBLED) and len(self.counted) < _COUNTED_MAX:
                self.counted.append((finding.code, finding.severity, finding.path, finding.suggestion))

    def skip(self, check: str, reason: str) -> None:
        """Name a rule that was not applied, once; a document can name any number of unknown things, so the list is bounded."""
        if (check, reason) not in self.skipped and len(self.skipped) < NOT_CHECKED_MAX:
            self.skipped.add((check, reason))
            self.report.skip(check, reason)


def breaking(code: str, severity: str) -> bool:
    """Return whether a finding means that the document is not valid FHIR; what the shared checks find is another matter."""
    return code.startswith("fhir.") and (severity in {"critical", "major"} or code in BREAKING_MINOR)


__all__ = ["BREAKING_MINOR", "Document", "Field", "Frame", "Place", "Type", "breaking", "shown_name", "shown_place"]
