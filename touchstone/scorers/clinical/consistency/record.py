"""One patient's record as read from any format: who the patient is, and the entries, each with its place in the document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from touchstone.scorers.clinical.checks.timestamps import Moment

Kind = Literal["condition", "medication", "allergy", "immunization", "procedure", "observation", "encounter"]
KINDS: Final[tuple[Kind, ...]] = ("condition", "medication", "allergy", "immunization", "procedure", "observation", "encounter")
#: The kinds of entries, with observations divided into groups.
Group = Literal["condition", "medication", "allergy", "immunization", "procedure", "lab", "vital", "other", "encounter"]
Source = Literal["fhir", "hl7v2", "ccda", "persona"]
#: How completely a source lists a group. whole: what it does not list does not exist; part: a selection (an order, a visit's diagnoses);
#: able: it lists nothing, though such a document could.
Scope = Literal["whole", "part", "able"]
#: Bounds of what is compared of one format: entries of one kind, patients, and names, identifiers, phones and addresses of one patient.
ITEMS_MAX: Final = 2_000
PATIENTS_MAX: Final = 100
VALUES_MAX: Final = 50
#: Codes, names, times, identifiers and amounts of one entry that are compared.
PARTS_MAX: Final = 10
#: Names of other resources in which a persona's words are looked for.
MENTIONS_MAX: Final = 2_000
TITLE_LENGTH_MAX: Final = 80
_WIDEST_FIRST: Final[tuple[Scope, ...]] = ("whole", "part", "able")


@dataclass(frozen=True, slots=True)
class Code:
    """A code. `system`: its canonical name, empty if none is named; `is_public`: the system is the same everywhere."""

    system: str
    code: str
    is_public: bool = False


@dataclass(frozen=True, slots=True)
class Stamp:
    """A time with its role: `start`, `end`, `onset`, `recorded`, `effective`, `authored`, `dispensed`, `reaction`."""

    role: str
    moment: Moment
    path: str

    @property
    def text(self) -> str:
        """The moment as ISO 8601 writes it."""
        one = self.moment
        day = "-".join(f"{part:02}" for part in (one.year, one.month, one.day) if part is not None)
        time = ":".join(f"{part:02}" for part in (one.hour, one.minute, one.second) if part is not None)
        zone = "" if one.offset_min is None or not time else f"{'-' if one.offset_min < 0 else '+'}{abs(one.offset_min) // 60:02}:{abs(one.offset_min) % 60:02}"
        return f"{day}T{time}{zone}" if time else day


@dataclass(frozen=True, slots=True)
class Amount:
    """A number with its unit, both as written. `comparator`: `<`, `<=`, `>=`, `>` or empty."""

    number: str
    unit: str
    comparator: str
    path: str


@dataclass(frozen=True, slots=True)
class Frequency:
    """How often a medication is taken, in times a day."""

    per_day: float
    path: str


@dataclass(frozen=True, slots=True)
class Name:
    """A name as folded words. `use`: `official` (legal and usual names), `nickname`, `maiden`, `text` (a name without parts), `other`."""

    family: tuple[str, ...]
    given: tuple[str, ...]
    use: str
    path: str


@dataclass(frozen=True, slots=True)
class Identifier:
    """An identifier. `authority`: the canonical name of who assigned it; `is_public`: that name is an OID or URL; `kind`: its type of table 0203."""

    authority: str
    is_public: bool
    kind: str
    value: str
    path: str


@dataclass(frozen=True, slots=True)
class PlacedValue:
    """One value with its path."""

    value: str
    path: str


@dataclass(frozen=True, slots=True)
class Pair:
    """Two numbers that form one value: a `range` or a `ratio`."""

    kind: Literal["range", "ratio"]
    first: Amount
    second: Amount


@dataclass(frozen=True, slots=True)
class Denial:
    """The place where a document says that there is none of a kind. `category`: of allergies, which (`medication`, `food`, …); empty for all."""

    place: str
    category: str


@dataclass(slots=True)
class Patient:
    """A document's patient. `place`: the document that the paths belong to. `age_years`: set if only an age is given."""

    path: str
    place: str = ""
    names: list[Name] = field(default_factory=list)
    identifiers: list[Identifier] = field(default_factory=list)
    birth: Stamp | None = None
    sex: PlacedValue | None = None
    marital: PlacedValue | None = None
    dead: PlacedValue | None = None
    postal_codes: list[PlacedValue] = field(default_factory=list)
    phones: list[PlacedValue] = field(default_factory=list)
    age_years: float | None = None


@dataclass(slots=True)
class Item:
    """One entry. `is_claimed`: False if it may match an entry of the other side, but need not be there.

    `texts`: folded words of each name; `labels`: the names as written, and `terms`: the known terms among them, both for personas. `severity`, `status`
    (an encounter's class), `category` (an allergy's): canonical codes, empty if not given. `pair`, `verdict` (positive or negative): values that are
    not one number. `place`: the document that the paths belong to.
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
    pair: Pair | None = None
    verdict: PlacedValue | None = None
    category: str = ""
    severity: tuple[str, ...] = ()
    status: str = ""
    is_claimed: bool = True
    labels: tuple[str, ...] = ()
    terms: frozenset[str] = frozenset()
    place: str = ""
    frequency: Frequency | None = None

    @property
    def is_named(self) -> bool:
        """True if it has a code or a name."""
        return bool(self.codes or self.texts)


@dataclass(slots=True)
class Record:
    """The content of one document, or of all documents of one format.

    `scopes`: how completely each group is listed; a group without a scope cannot be in such a document. `denied`: where the document says that there is
    none of a kind; `refused`: entries that it says are not so (negated, refuted, refused). `unnamed`: how many entries of a kind have their name
    elsewhere. `mentions`: words of other resources. `title`: the format, and the kind of document (`ADT_A01`).
    """

    source: Source
    place: str
    title: str
    patients: list[Patient] = field(default_factory=list)
    items: dict[Kind, list[Item]] = field(default_factory=dict)
    scopes: dict[Group, Scope] = field(default_factory=dict)
    denied: dict[Kind, list[Denial]] = field(default_factory=dict)
    refused: dict[Kind, list[Item]] = field(default_factory=dict)
    mentions: list[frozenset[str]] = field(default_factory=list)
    unnamed: dict[Kind, int] = field(default_factory=dict)
    cut: set[Kind] = field(default_factory=set)

    def add_patient(self, patient: Patient) -> None:
        """Add a patient, within the bound."""
        patient.place = self.place
        for values in (patient.names, patient.identifiers, patient.postal_codes, patient.phones):
            del values[VALUES_MAX:]
        if len(self.patients) < PATIENTS_MAX:
            self.patients.append(patient)

    def deny(self, kind: Kind, path: str, category: str = "") -> None:
        """Add a place where the document says that there is none of a kind."""
        if len(denials := self.denied.setdefault(kind, [])) < VALUES_MAX:
            denials.append(Denial(f"{self.place}/{path}", category))

    def refuse(self, item: Item) -> None:
        """Add an entry that the document says is not so."""
        item.place = self.place
        if item.is_named and len(kept := self.refused.setdefault(item.kind, [])) < VALUES_MAX:
            kept.append(item)

    def mention(self, texts: Iterable[frozenset[str]]) -> None:
        """Add the names of a resource that is not compared itself."""
        if len(self.mentions) < MENTIONS_MAX:
            self.mentions += texts

    def add(self, item: Item) -> None:
        """Add an entry that has a code or name, within the bound."""
        item.place = self.place
        item.codes, item.texts, item.times = item.codes[:PARTS_MAX], item.texts[:PARTS_MAX], item.times[:PARTS_MAX]
        item.identifiers, item.amounts, item.answers = item.identifiers[:PARTS_MAX], item.amounts[:PARTS_MAX], item.answers[:PARTS_MAX]
        if item.is_named or item.kind == "encounter":
            self._keep(item)

    def _keep(self, item: Item) -> None:
        kept = self.items.setdefault(item.kind, [])
        if len(kept) < ITEMS_MAX:
            kept.append(item)
        else:
            self.cut.add(item.kind)

    def every(self) -> Iterator[Item]:
        """All entries."""
        for items in self.items.values():
            yield from items

    def set_scopes(self, scopes: Mapping[Group, Scope]) -> None:
        """Set how completely each group is listed: at least `part` for a group with an entry."""
        present = {item.group for item in self.every()}
        for group, scope in scopes.items():
            self.scopes[group] = scope if group in present or scope != "part" else "able"
        for group in present - set(self.scopes):
            self.scopes[group] = "part"

    def join(self, other: Record) -> None:
        """Add the content of another document of the same format."""
        for item in other.every():
            self._keep(item)
        for group, scope in other.scopes.items():
            self.scopes[group] = min(scope, self.scopes.get(group, scope), key=_WIDEST_FIRST.index)
        for kind, denials in other.denied.items():
            self.denied[kind] = [*self.denied.get(kind, ()), *denials][:VALUES_MAX]
        for kind, items in other.refused.items():
            self.refused[kind] = [*self.refused.get(kind, ()), *items][:VALUES_MAX]
        self.mention(other.mentions)
        for kind, count in other.unnamed.items():
            self.unnamed[kind] = self.unnamed.get(kind, 0) + count
        self.cut |= other.cut
        self.title = self.title if other.title in self.title else f"{self.title}, {other.title}"[:TITLE_LENGTH_MAX]
