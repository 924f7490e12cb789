"""Which must-support elements of the claimed profiles were populated: of a document, a trace, and all files of a run.

Profile with version → element id → True if populated, False if not, None if it cannot be decided (a slice whose discriminator is not supported).
Profiles and element ids come from packages, so that nothing of a document is in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from touchstone.scorers.reporting.view import Table
from touchstone.scorers.reporting.words import counted

Coverage = dict[str, dict[str, bool | None]]
#: Title of the table in reports.
TITLE: Final = "Must-support elements"
#: Profiles of one result, and of one report.
PROFILES_MAX: Final = 100
#: Profiles beyond that bound that are counted.
COUNTED_MAX: Final = 10_000
#: Missing elements that a table names for one profile.
NAMED_MAX: Final = 60


def merge(into: Coverage, other: Mapping[str, Mapping[str, bool | None]]) -> None:
    """Add what another document populated. An element that any document populates is populated; else it is missing only if all documents say so."""
    for profile, elements in other.items():
        if profile not in into and len(into) >= PROFILES_MAX:
            continue
        known = into.setdefault(profile, {})
        for element, populated in elements.items():
            before = known.get(element, False)
            known[element] = True if True in (before, populated) else None if None in (before, populated) else False


@dataclass(slots=True)
class CoverageCounts:
    """Coverage over all files of a run. `files`: profile → files that claim it. `left_out`: hashes of profiles beyond the bound, which are counted only."""

    coverage: Coverage = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)
    left_out: set[int] = field(default_factory=set)

    def add(self, of_file: Mapping[str, Mapping[str, bool | None]]) -> None:
        """Count one file."""
        merge(self.coverage, of_file)
        for profile in of_file:
            if profile in self.coverage:
                self.files[profile] = self.files.get(profile, 0) + 1
            elif len(self.left_out) < COUNTED_MAX:
                self.left_out.add(hash(profile))

    @property
    def beyond(self) -> str:
        """What is said of the profiles that are not shown; empty if all are."""
        more = "at least " if len(self.left_out) == COUNTED_MAX else ""
        return f"{more}{counted(len(self.left_out), 'more profile')}, beyond the {PROFILES_MAX} that are shown" if self.left_out else ""

    def table(self, noun: str) -> Table | None:
        """A row per profile; None if no file claims a profile with such elements."""
        if not self.coverage:
            return None
        rows = [(profile, f"{self.files[profile]:,}", *_cells(elements)) for profile, elements in sorted(self.coverage.items())]
        if self.beyond:
            rows.append((self.beyond, "", "", "", ""))
        header = ("Profile", f"{noun.capitalize()}s", "Elements", "Populated", "Never populated")
        return Table(TITLE, header, rows, frozenset({1, 2, 3}))

    def lines(self, noun: str) -> Iterable[str]:
        """The same for a console."""
        for profile, elements in sorted(self.coverage.items()):
            total, populated, missing = _cells(elements)
            never = f"; never: {missing}" if missing else ""
            yield f"  {profile} ({counted(self.files[profile], noun)}): {populated} of {total} populated{never}"
        if self.beyond:
            yield f"  {self.beyond}"


def _cells(elements: Mapping[str, bool | None]) -> tuple[str, str, str]:
    missing = sorted(element for element, populated in elements.items() if populated is False)
    undecided = sum(populated is None for populated in elements.values())
    named = ", ".join(missing[:NAMED_MAX]) + (f" and {len(missing) - NAMED_MAX} more" if len(missing) > NAMED_MAX else "")
    named += f"{'; ' if named else ''}not decidable: {undecided}" if undecided else ""
    return str(len(elements)), str(sum(populated is True for populated in elements.values())), named
