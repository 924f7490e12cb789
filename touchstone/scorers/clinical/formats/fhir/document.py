"""The state of one validation that all rules share: findings, resources, references, and the elements that rules look at later."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from touchstone.schemas.result import Finding, Severity
from touchstone.scorers.clinical.checks.json_access import Json
from touchstone.scorers.clinical.formats.fhir.fault_families import SHARED_FAULTS
from touchstone.scorers.clinical.formats.fhir.options import NOT_CHECKED_MAX, PER_CODE_MAX, Options
from touchstone.scorers.clinical.formats.fhir.tables import Field, element_names
from touchstone.scorers.clinical.report import Context, Report

#: A place in a document: the enclosing place, a name, and an index or None.
Place = tuple[Any, str, int | None]

_NAME = re.compile(r"[A-Za-z0-9_\-]{1,64}")
#: Findings beyond the bound whose places are kept.
_BEYOND_MAX = 50_000
#: Codes that are minor by the specification, but still make a resource invalid.
BREAKING_MINOR = frozenset({"fhir.bindings.status", "fhir.identifiers.system"})


def shown_name(name: str) -> str:
    """Return a name if it is safe to show (at most 64 letters, digits, - and _), else "?"."""
    return name if _NAME.fullmatch(name) else "?"


def shown_place(place: Place | None) -> str:
    """Return a place as a path, such as Patient.name[0].family."""
    parts: list[str] = []
    while place is not None:
        outer, name, index = place
        parts.append(name if index is None else f"{name}[{index}]")
        place = outer
    return ".".join(reversed(parts)).replace(".[", "[")


@dataclass(slots=True)
class Frame:
    """One resource of the document, with its container (for a contained resource), its Bundle and entry, and the references it makes."""

    resource: Json
    type: str
    place: Place
    container: Frame | None = None
    bundle: Frame | None = None
    entry: Json | None = None
    entry_index: int = 0
    references: list[tuple[Json, Place, Field | None]] = field(default_factory=list)
    canonicals: list[tuple[str, Place, Field]] = field(default_factory=list)
    contained: list[Frame] = field(default_factory=list)
    entries: list[Frame] = field(default_factory=list)
    ids: dict[str, int] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """Return a member of the resource that should be text; empty if it is absent or something else."""
        value = self.resource.get(name)
        return value if isinstance(value, str) else ""

    def part(self, name: str) -> Json:
        """Return a member of the resource that should be an object; empty if it is absent or something else."""
        value = self.resource.get(name)
        return value if isinstance(value, dict) else {}

    @property
    def version(self) -> str | None:
        """The resource's meta.versionId; None if it is absent or not text."""
        version = self.part("meta").get("versionId")
        return version if isinstance(version, str) else None

    def steps_to(self, place: Place | None) -> list[tuple[str, int | None]]:
        """Return the names and indices from the resource down to a place inside it."""
        steps: list[tuple[str, int | None]] = []
        while place is not None and place is not self.place:
            steps.append((place[1], place[2]))
            place = place[0]
        return steps[::-1]

    @property
    def root(self) -> Frame:
        """The resource itself, or the one that contains it."""
        return self.container or self


#: Why a message leaves out a name.
HIDDEN: Final = "it may be patient text; --quote shows it"


@dataclass(slots=True)
class Document:
    """The state of one validation.

    `good_codings`: codings without findings under any options, shared between documents. `beyond`: findings that were counted but not kept, if another
    rule may report the same fault: code, severity, path, suggestion. `patterns_s`: processor time spent on patterns that the document asks for.
    """

    report: Report
    context: Context
    options: Options
    frames: list[Frame] = field(default_factory=list)
    extensions: list[tuple[Json, Place, Frame]] = field(default_factory=list)
    narratives: list[tuple[str, Place]] = field(default_factory=list)
    codings: list[tuple[Json, Place]] = field(default_factory=list)
    markdowns: list[tuple[str, Place]] = field(default_factory=list)
    typed: dict[str, list[tuple[Json, Place, Frame]]] = field(default_factory=dict)
    good_codings: set[tuple[Any, Any, Any]] = field(default_factory=set)
    counts: Counter[tuple[str, Severity]] = field(default_factory=Counter)
    skipped: set[tuple[str, str]] = field(default_factory=set)
    beyond: list[tuple[str, Severity, str, str | None]] = field(default_factory=list)
    members: int = 0
    patterns_s: float = 0.0

    def named(self, name: str) -> str:
        """Return a member's name, or "?": a name that is not an R4 element's may be patient text, and is shown only if quoting is allowed."""
        return shown_name(name) if self.context.quote or name.removeprefix("_") in element_names() else "?"

    def add(self, severity: Severity, code: str, place: Place | None, message: str, *, suggestion: str | None = None, value: object = None) -> None:
        """Report one finding; only count it after PER_CODE_MAX of its code and severity."""
        if self._is_kept(severity, code):
            self.report.add(self.context.finding(severity, code, shown_place(place), message, suggestion=suggestion, value=value))
        elif code.startswith(SHARED_FAULTS) and len(self.beyond) < _BEYOND_MAX:
            self.beyond.append((code, severity, shown_place(place), suggestion))

    def add_all(self, findings: Iterable[Finding]) -> None:
        """Report findings of the shared checks, within the same bound."""
        for finding in findings:
            if self._is_kept(finding.severity, finding.code):
                self.report.add(finding)
            elif finding.code.startswith(SHARED_FAULTS) and len(self.beyond) < _BEYOND_MAX:
                self.beyond.append((finding.code, finding.severity, finding.path, finding.suggestion))

    def _is_kept(self, severity: Severity, code: str) -> bool:
        self.counts[code, severity] += 1
        if self.counts[code, severity] <= PER_CODE_MAX:
            return True
        self.report.drop(code, severity)
        return False

    def skip(self, check: str, reason: str) -> None:
        """Name a rule that was not applied, once. The list is bounded: a document can name any number of unknown things."""
        if (check, reason) not in self.skipped and len(self.skipped) < NOT_CHECKED_MAX:
            self.skipped.add((check, reason))
            self.report.skip(check, reason)


def breaking(code: str, severity: str) -> bool:
    """Return True if a finding makes the document invalid FHIR; findings of the shared checks never do."""
    return code.startswith("fhir.") and (severity in {"critical", "major"} or code in BREAKING_MINOR)
