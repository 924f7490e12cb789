"""One patient's record as any format tells it: who, and what is said of them, each with the place it came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from touchstone.scorers.clinical.checks.moments import Moment

Kind = Literal["condition", "medication", "allergy", "immunization", "observation", "encounter"]
KINDS: Final[tuple[Kind, ...]] = ("condition", "medication", "allergy", "immunization", "observation", "encounter")
#: What a source may lack an entry of: a kind, of observations one of their groups.
Group = Literal["condition", "medication", "allergy", "immunization", "lab", "vital", "other", "encounter"]
Source = Literal["fhir", "hl7v2", "ccda", "persona"]
#: How much a source tells of a group. whole: what it does not name is not there; part: it may hold a selection (an order, a visit's diagnoses);
#: able: it has no entry, though such a document may have some.
Scope = Literal["whole", "part", "able"]
#: Entries of one kind in one document that are compared.
ITEMS_MAX: Final = 1_000
TITLE_LENGTH_MAX: Final = 80
_WIDEST_FIRST: Final[tuple[Scope, ...]] = ("whole", "part", "able")


@dataclass(frozen=True, slots=True)
class Code:
    """A code with its system: `system` is a canonical name, empty where none is named; `is_public`: a system that is the same everywhere."""

    system: str
    code: str
    is_public: bool = False


@dataclass(frozen=True, slots=True)
class Stamp:
    """A time with what it is the time of: `start`, `end`, `onset`, `recorded`, `effective`, `authored`, `dispensed`, `reaction`."""

    role: str
    moment: Moment
    path: str


@dataclass(frozen=True, slots=True)
class Amount:
    """A number with its unit, both as written. `comparator`: `<`, `<=`, `>=`, `>` or empty."""

    number: str
    unit: str
    comparator: str
    path: str


@dataclass(frozen=True, slots=True)
class Name:
    """A name as folded words. `use`: `official` for legal and usual names, `text` for one that is not in parts, `other` for the rest."""

    family: tuple[str, ...]
    given: tuple[str, ...]
    use: str
    path: str


@dataclass(frozen=True, slots=True)
class Identifier:
    """An identifier. `authority`: who assigned it, canonical; `is_public`: that name is the same everywhere (OID, URL); `kind`: its type of table 0203."""

    authority: str
    is_public: bool
    kind: str
    value: str
    path: str


@dataclass(frozen=True, slots=True)
class Told:
    """One value of a patient with its place."""

    value: str
    path: str


@dataclass(slots=True)
class Patient:
    """Who a document is about. `place`: the document; paths lie in it. `age_years`: where only an age is told."""

    path: str
    place: str = ""
    names: list[Name] = field(default_factory=list)
    identifiers: list[Identifier] = field(default_factory=list)
    birth: Stamp | None = None
    sex: Told | None = None
    marital: Told | None = None
    dead: Told | None = None
    postal_codes: list[Told] = field(default_factory=list)
    age_years: float | None = None


@dataclass(slots=True)
class Item:
    """One entry. `is_claimed`: False where it takes part in matching, and its absence elsewhere says nothing.

    `texts`: folded words of each name; `labels`: the names as written, and `terms`: the known terms among them, both for comparing personas;
    `severity`, `status` (an encounter's class): canonical codes, empty where none is told. `place`: the document; paths lie in it.
    """

    kind: Kind
    group: Group
    path: str
    codes: tuple[Code, ...] = ()
    texts: tuple[frozenset[str], ...] = ()
    identifiers: tuple[Identifier, ...] = ()
    times: tuple[Stamp, ...] = ()
    amounts: tuple[Amount, ...] = ()
    answers: tuple[Code, ...] = ()
    severity: tuple[str, ...] = ()
    status: str = ""
    is_claimed: bool = True
    labels: tuple[str, ...] = ()
    terms: frozenset[str] = frozenset()
    place: str = ""

    @property
    def is_named(self) -> bool:
        """Whether a code or a text says what it is."""
        return bool(self.codes or self.texts)


@dataclass(slots=True)
class Record:
    """What one document, or all documents of one format, say.

    `scopes`: what it tells of each group; a group that is absent cannot be in such a document. `denied`: kind → place where it says that there is
    none. `unnamed`: entries, per kind, that are named where it cannot be read here. `title`: the format, and what the document is (`ADT_A01`).
    """

    source: Source
    place: str
    title: str
    patients: list[Patient] = field(default_factory=list)
    items: dict[Kind, list[Item]] = field(default_factory=dict)
    scopes: dict[Group, Scope] = field(default_factory=dict)
    denied: dict[Kind, str] = field(default_factory=dict)
    unnamed: dict[Kind, int] = field(default_factory=dict)
    cut: set[Kind] = field(default_factory=set)

    def meet(self, patient: Patient) -> None:
        """Keep a patient."""
        patient.place = self.place
        self.patients.append(patient)

    def deny(self, kind: Kind, path: str) -> None:
        """Note where the document says that there is none of a kind."""
        self.denied.setdefault(kind, f"{self.place}/{path}")

    def add(self, item: Item) -> None:
        """Keep an entry that names something, within the bound."""
        item.place = self.place
        kept = self.items.setdefault(item.kind, [])
        if not item.is_named and item.kind != "encounter":
            return
        if len(kept) < ITEMS_MAX:
            kept.append(item)
        else:
            self.cut.add(item.kind)

    def every(self) -> Iterator[Item]:
        """All entries."""
        for items in self.items.values():
            yield from items

    def tells(self, scopes: Mapping[Group, Scope]) -> None:
        """Note what the document tells of each group: an entry that is there is at least a part."""
        present = {item.group for item in self.every()}
        for group, scope in scopes.items():
            self.scopes[group] = scope if group in present or scope != "part" else "able"
        for group in present - set(self.scopes):
            self.scopes[group] = "part"

    def join(self, other: Record) -> None:
        """Take over what another document of the same format says."""
        for item in other.every():
            self.items.setdefault(item.kind, []).append(item)
        for group, scope in other.scopes.items():
            self.scopes[group] = min(scope, self.scopes.get(group, scope), key=_WIDEST_FIRST.index)
        self.denied = other.denied | self.denied
        for kind, count in other.unnamed.items():
            self.unnamed[kind] = self.unnamed.get(kind, 0) + count
        self.cut |= other.cut
        self.title = self.title if other.title in self.title else f"{self.title}, {other.title}"[:TITLE_LENGTH_MAX]
