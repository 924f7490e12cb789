"""One patient's record as any format tells it: who, and what is said of them, each with the place it came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from touchstone.scorers.clinical.checks.timestamps import Moment

Kind = Literal["condition", "medication", "allergy", "immunization", "procedure", "observation", "encounter"]
KINDS: Final[tuple[Kind, ...]] = ("condition", "medication", "allergy", "immunization", "procedure", "observation", "encounter")
#: What a source may lack an entry of: a kind, of observations one of their groups.
Group = Literal["condition", "medication", "allergy", "immunization", "procedure", "lab", "vital", "other", "encounter"]
Source = Literal["fhir", "hl7v2", "ccda", "persona"]
#: How much a source tells of a group. whole: what it does not name is not there; part: it may hold a selection (an order, a visit's diagnoses);
#: able: it has no entry, though such a document may have some.
Scope = Literal["whole", "part", "able"]
#: Entries of one kind that one format may have and that are compared, and patients, and names, identifiers, phones and addresses of one, that are.
ITEMS_MAX: Final = 2_000
PATIENTS_MAX: Final = 100
TOLD_MAX: Final = 50
#: Codes, names, times, identifiers and amounts of one entry that are compared.
PARTS_MAX: Final = 10
#: Names of other resources in which a persona's words are looked for.
MENTIONS_MAX: Final = 2_000
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
class Name:
    """A name as folded words. `use`: `official` for legal and usual names, `nickname`, `maiden`, `text` for one that is not in parts, `other`."""

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


@dataclass(frozen=True, slots=True)
class Pair:
    """Two numbers that are one value: the ends of a `range`, or a `ratio`."""

    kind: Literal["range", "ratio"]
    first: Amount
    second: Amount


@dataclass(frozen=True, slots=True)
class Denial:
    """Where a document says that there is none of a kind. `category`: of which allergies (`medication`, `food`, …); empty for all."""

    place: str
    category: str


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
    phones: list[Told] = field(default_factory=list)
    age_years: float | None = None


@dataclass(slots=True)
class Item:
    """One entry. `is_claimed`: False where it takes part in matching, and its absence elsewhere says nothing.

    `texts`: folded words of each name; `labels`: the names as written, and `terms`: the known terms among them, both for comparing personas;
    `severity`, `status` (an encounter's class), `category` (an allergy's): canonical codes, empty where none is told. `pair`, `verdict` (positive or
    negative): values that are no single number. `place`: the document; paths lie in it.
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
    verdict: Told | None = None
    category: str = ""
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

    `scopes`: what it tells of each group; a group that is absent cannot be in such a document. `denied`: where it says that there is none of a kind;
    `refused`: entries that it says are not so (negated, refuted, refused). `unnamed`: entries, per kind, that are named where it cannot be read here.
    `mentions`: words of other resources. `title`: the format, and what the document is (`ADT_A01`).
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

    def meet(self, patient: Patient) -> None:
        """Keep a patient, within the bound."""
        patient.place = self.place
        for told in (patient.names, patient.identifiers, patient.postal_codes, patient.phones):
            del told[TOLD_MAX:]
        if len(self.patients) < PATIENTS_MAX:
            self.patients.append(patient)

    def deny(self, kind: Kind, path: str, category: str = "") -> None:
        """Note where the document says that there is none of a kind."""
        if len(told := self.denied.setdefault(kind, [])) < TOLD_MAX:
            told.append(Denial(f"{self.place}/{path}", category))

    def refuse(self, item: Item) -> None:
        """Keep an entry that the document says is not so."""
        item.place = self.place
        if item.is_named and len(kept := self.refused.setdefault(item.kind, [])) < TOLD_MAX:
            kept.append(item)

    def mention(self, texts: Iterable[frozenset[str]]) -> None:
        """Keep what a resource that is not compared is called."""
        if len(self.mentions) < MENTIONS_MAX:
            self.mentions += texts

    def add(self, item: Item) -> None:
        """Keep an entry that names something, within the bound."""
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
            self._keep(item)
        for group, scope in other.scopes.items():
            self.scopes[group] = min(scope, self.scopes.get(group, scope), key=_WIDEST_FIRST.index)
        for told in other.denied:
            self.denied[told] = [*self.denied.get(told, ()), *other.denied[told]][:TOLD_MAX]
        for told in other.refused:
            self.refused[told] = [*self.refused.get(told, ()), *other.refused[told]][:TOLD_MAX]
        self.mention(other.mentions)
        for kind, count in other.unnamed.items():
            self.unnamed[kind] = self.unnamed.get(kind, 0) + count
        self.cut |= other.cut
        self.title = self.title if other.title in self.title else f"{self.title}, {other.title}"[:TITLE_LENGTH_MAX]
