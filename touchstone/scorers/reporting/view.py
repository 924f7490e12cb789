"""A view: the contents of a report without a layout. Every format (console, Markdown, JUnit, HTML) is written from it.

It has figures, tables and cases. There may be many cases, so they are made as they are
read: `cases` can be iterated more than once, and is never held as a whole.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, Literal, TypeVar

from touchstone.schemas.reading import CaseReading
from touchstone.schemas.reports.changes import Comparison, Trend
from touchstone.schemas.reports.intervals import Interval
from touchstone.schemas.result import Finding, Label, Problem, Severity
from touchstone.scorers.reporting.intervals import Rate
from touchstone.scorers.reporting.verdict import Verdict

Better = Literal["higher", "lower"]
Status = Literal["pass", "review", "fail", "unscored", "error", "passed_over"]
#: Label → how the case counts.
STATUSES: Final[Mapping[Label, Status]] = {"Pass": "pass", "Review": "review", "Warn": "review", "Fail": "fail", "unscored": "unscored"}
#: More digits than any batch has; they would not fit the store.
_SIZE_DIGITS_MAX: Final = 18
ItemT = TypeVar("ItemT")


class Reiterable(Generic[ItemT]):
    """Items that are made anew each time they are read, so that a report with many cases never holds them all."""

    def __init__(self, read: Callable[[], Iterator[ItemT]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[ItemT]:
        return self._read()


@dataclass(frozen=True, slots=True)
class Group:
    """The results of one report: a concern (or the suite's word for it) and a batch of it."""

    concern_id: str
    batch_id: str
    #: How many cases the batch has, if its producer declares it.
    size: int | None = None

    @classmethod
    def of(cls, concern_id: object, batch_id: object, size: object) -> "Group | None":
        """A group from the fields of an event; None without a batch. A size that is not a whole number is ignored."""
        if not isinstance(batch_id, str):
            return None
        is_whole = isinstance(size, int | str) and str(size).isdecimal() and len(str(size)) <= _SIZE_DIGITS_MAX
        return cls(str(concern_id), batch_id, int(str(size)) if is_whole else None)


@dataclass(frozen=True, slots=True)
class LayoutOptions:
    """Options of a layout beyond its view. `colour`, `width` (cells of a line; None breaks no line): of a terminal.

    `verdict`: the last line of the report. `only`: statuses of the cases to list; empty lists all. `comparison`: with an earlier batch.
    `trend`: over time. `readings`: of the worst cases, for a format that has room; they hold texts of the cases, and are made as they are read.
    """

    verdict: Verdict
    verbose: bool = False
    colour: bool = False
    width: int | None = None
    only: frozenset[str] = frozenset()
    comparison: Comparison | None = None
    trend: Trend | None = None
    readings: Iterable[CaseReading] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """One value in one-line listings and in the table of cases. `better`: which way is good, where one is."""

    value: str
    heading: str
    better: Better | None = "higher"
    places: int = 2


@dataclass(frozen=True, slots=True)
class Figure:
    """One headline number. `text`: as it is shown. `state`: how it compares with its thresholds, if it has any.

    `interval`: the 95 % interval of a mean, shown with so many `places`.
    """

    name: str
    text: str
    state: Literal["good", "middling", "bad"] | None = None
    note: str = ""
    interval: Interval | None = None
    places: int = 2


@dataclass(frozen=True, slots=True)
class Table:
    """A small table; every cell is a text. `numeric`: indices of right-aligned columns."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Distribution:
    """Distribution of one value over the cases. `counts`: cases in equal bins between `low` and `high`, the last one closed.

    `median`: of the values, if they are known one by one.
    """

    name: str
    low: float
    high: float
    counts: Sequence[int]
    median: float | None = None


@dataclass(frozen=True, slots=True)
class CaseView:
    """One case, as every format shows it.

    `name`: its name for people, unique in the report where possible. `group`: under which heading JUnit and HTML list it.
    `cells`: texts of the view's `case_columns`. `summary`: its scores in one line. `why`: why it does not pass, in short.
    `status`: how it counts; `passed_over` is listed and not counted.
    `ids`: identify the case in another report, the most lasting id first. `values`: component → number. `codes`: of its findings, if they are not in
    `findings`. `valid`: true if it keeps every rule of its standard; None without a standard. `finding_counts`: code →
    severity → findings, unlisted ones too; without it, `findings` are all but `findings_dropped`.
    """

    name: str
    label: Label
    status: Status
    group: str = ""
    class_name: str = ""
    cells: Sequence[str] = ()
    summary: str = ""
    why: str = ""
    findings: Sequence[Finding] = ()
    findings_dropped: int = 0
    details: Sequence[str] = ()
    duration_s: float = 0.0
    ids: Sequence[str] = ()
    values: Mapping[str, float] = field(default_factory=dict)
    codes: Sequence[str] = ()
    valid: bool | None = None
    finding_counts: Mapping[str, Mapping[Severity, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class View:
    """A report, ready to be laid out. `suite`: empty for a report that is not of one. `facts`: short lines of origin (suite, configuration, models).

    `noun`: the word for a case. `rate`: cases that pass, and cases that count; by default the Pass labels among the scored cases.
    `properties`: name and value of facts about the whole, for JUnit, which has no tables.
    """

    title: str
    suite: str
    suite_version: str
    config_digest: str
    generated_at: str
    cases: Iterable[CaseView]
    case_columns: Sequence[str] = ()
    numeric_columns: frozenset[int] = frozenset()
    labels: Mapping[str, int] = field(default_factory=dict)
    total: int = 0
    noun: str = "case"
    counts: str = ""
    facts: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    distributions: Sequence[Distribution] = ()
    problems: Sequence[Problem] = ()
    rate: Rate | None = None
    properties: Sequence[tuple[str, str]] = ()

    @property
    def pass_rate(self) -> Rate:
        """The pass rate that every format prints with its interval."""
        if self.rate is not None:
            return self.rate
        return Rate(self.labels.get("Pass", 0), sum(count for label, count in self.labels.items() if label != "unscored"))
