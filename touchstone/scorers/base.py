"""The interfaces between a scorer and those who run it: its protocols, the errors it may raise, and the data a suite exchanges with the house."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel

from touchstone.schemas.case import Case
from touchstone.schemas.result import Scorecard, ScoreResult


class Unavailable(Exception):
    """Something outside the scorer (a model, a service) does not work now: nothing is acknowledged, and the caller backs off and asks again.

    `code` is a stable short name, fit for a metric label; the exception never carries payload text. `card`: the case's
    scorecard without that part, for commands on files, which do not wait; without one the case is unscored. A worker waits in any case.
    """

    def __init__(self, code: str, card: Scorecard | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.card = card


class Lost(Unavailable):
    """Unavailable for good in this process (an inference thread that keeps dying, a failed device): the worker ends, and its successor replays."""


class Shed(Exception):
    """A scorer puts a case aside: the event has the outcome `shed(reason)`, no result, and can be scored later. `reason`: a stable short name.

    `again_in_s`: after how long it can be; None if that is not known. `card`: as in `Unavailable`; with files nothing is put aside.
    """

    def __init__(self, reason: str, again_in_s: float | None = None, card: Scorecard | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.again_in_s = again_in_s
        self.card = card


class ConfigError(Exception):
    """The user's configuration cannot be used; the message says what, where and how to fix it."""


CaseT_contra = TypeVar("CaseT_contra", bound=Case, contravariant=True)


class Scorer(Protocol[CaseT_contra]):
    """One specification that scores one case at a time."""

    @property
    def name(self) -> str:
        """Stable id, used in results, metrics and the entry point."""
        ...

    @property
    def version(self) -> str:
        """Raised when old and new scores stop being comparable."""
        ...

    async def score(self, case: CaseT_contra) -> Scorecard:
        """Score one case. Raises `Unavailable`; anything else it raises is its own defect and becomes a `Failure`."""
        ...


@dataclass(frozen=True, slots=True)
class FollowUp:
    """An event that a slower stage is to score next. `role`: of the topic that it goes to, one of `Suite.hands_on`; `record`: the event, as JSON types."""

    role: str
    record: Mapping[str, Any]


@runtime_checkable
class HandsOn(Protocol):
    """A scorer that hands cases on to a slower stage, by an event on that stage's topic."""

    async def follow_up(self, case: Any, event_id: str, card: Scorecard) -> FollowUp | Sequence[FollowUp] | None:
        """The event for the next stage, or one for each of several; None if the case ends here. The same for a replay of the same event.

        `card`: the scorecard that `score` returned. The source's offset is committed only after the broker has these events; an event sent twice
        has the same id.
        """
        ...


@dataclass(frozen=True, slots=True)
class Reading:
    """One number that a scorer's engine counts, as Prometheus defines it but without its library.

    `name`: without prefix and without `_total`, unit last. `buckets`: for a histogram, (upper bound, how many up to it) in
    ascending order, the last bound infinite; `value` is then the sum of what was observed.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    value: float
    labels: tuple[tuple[str, str], ...] = ()
    buckets: tuple[tuple[float, int], ...] = ()


@runtime_checkable
class Measured(Protocol):
    """A scorer that has readings of its own."""

    def readings(self) -> Iterable[Reading]:
        """Its current readings; called from any thread."""
        ...


@runtime_checkable
class Warmed(Protocol):
    """A scorer that loads something on first use, so that it can be loaded before the first case of a stream."""

    def warm(self) -> None:
        """Load it now."""
        ...


@runtime_checkable
class Closeable(Protocol):
    """A scorer that holds resources."""

    async def close(self) -> None:
        """Finish what is in flight and release the resources."""
        ...


class NoSettings(BaseModel):
    """Settings of a suite that has nothing to configure."""


@dataclass(frozen=True, slots=True)
class Document:
    """A file whose content is not case JSON, for a suite to read. `named`: on the command line, not found in a folder.

    `data`: the whole file, unpacked, within the bounds of input. `file`: its name as it was given; `-` for standard input. `is_cut`: the file is
    beyond the bounds, and `data` its beginning; the `kind` and `format` of the first problem then identify it, and it yields no case.
    """

    file: str
    data: bytes
    named: bool = True
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """A case inside a document, as an event would carry it. `place`: inside the document; empty if the document is the case."""

    record: Mapping[str, Any]
    place: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """The names of a case's folder and file, which fill in what the case itself does not name."""

    folder: str | None = None
    name: str | None = None
    #: The folder is the concern by rule (`--data`), so a case that names another is an error.
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """One finding of `touchstone doctor`. `bad` must be fixed; `note` is information, and nothing fails for it. `fix`: what to do."""

    area: str
    state: Literal["good", "note", "bad"]
    what: str
    fix: str = ""


class Lacking(str):
    """A line of a suite's `notes` about something that results lack with these settings, such as a judge without a key."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Samples:
    """Cases written for the suite, to try it with.

    `paths`: files or folders, as a producer would send them. `env`: settings that show more of them (they are invented). `unexpected(results)`:
    which results are not what the samples were written for, a line each. `tolerance`: how far a value may differ between two runs.
    `requires`: module → extra, that these samples need although the suite runs without it.
    """

    paths: tuple[Path, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    unexpected: Callable[[Sequence[ScoreResult]], list[str]] = lambda _: []
    tolerance: float = 0.0
    requires: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AsksJudge:
    """How a suite asks a language model, and how that can be tried without one.

    `is_on(settings)`: whether it asks under these settings. `env`: variables with which it does; `env_of_all`: those that, besides, take away its cascade, so
    that it asks about every case and every part of one. `samples()`: cases to try it with. `answer(said)`: what a careful reader would answer to the user's
    part of a request about one of these, in the form of the verdict. `per_minute(settings)`: requests that it may send in a minute; 0: no limit.
    """

    is_on: Callable[[Any], bool]
    env: Mapping[str, str]
    env_of_all: Mapping[str, str]
    samples: Callable[[], Samples]
    answer: Callable[[str], Mapping[str, Any]]
    per_minute: Callable[[Any], float] = attrgetter("judge.requests_per_minute")
