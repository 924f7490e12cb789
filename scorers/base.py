"""What a scorer is, and how a suite describes itself to the rest of the house."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel

from touchstone.schemas.case import Case
from touchstone.schemas.result import Scorecard


class Unavailable(Exception):
    """The world's fault (a model, a service): nothing is acknowledged, the caller backs off and asks again.

    `code` is a stable short name, fit for a metric label; the exception never carries payload text.
    """

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Lost(Unavailable):
    """Unavailable for good in this process (an inference thread that keeps dying, a failed device): the worker ends, and its successor replays."""


class ConfigError(Exception):
    """The user's configuration cannot be used; the message says what, where and how to mend it."""


CaseT_contra = TypeVar("CaseT_contra", bound=Case, contravariant=True)


class Scorer(Protocol[CaseT_contra]):
    """One specification, asked of one case."""

    @property
    def name(self) -> str:
        """Stable id: results, metrics, entry point."""
        ...

    @property
    def version(self) -> str:
        """Raised when old and new scores stop being comparable."""
        ...

    async def score(self, case: CaseT_contra) -> Scorecard:
        """Score one case. Raises `Unavailable`; anything else it raises is its own defect and becomes a `Failure`."""
        ...


@dataclass(frozen=True, slots=True)
class Reading:
    """One number that a scorer's engine counts, in the terms of Prometheus but without its library.

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
    """A scorer that has more to tell than its results."""

    def readings(self) -> Iterable[Reading]:
        """What it counts, at this moment; called from any thread."""
        ...


@runtime_checkable
class Closeable(Protocol):
    """A scorer that holds something to give back."""

    async def close(self) -> None:
        """Finish what is in flight and let go."""
        ...


class NoSettings(BaseModel):
    """For a suite that has nothing to configure."""


@dataclass(frozen=True, slots=True)
class Suite:
    """How a suite is found, configured and built. Importing it must stay cheap: heavy imports belong in `build`.

    `topics`: roles of the input topics (`generations`, `traces`), resolved to names by the settings.
    `cases`: kind → model; records of another kind are skipped.
    `resolve(env, document)`: settings from the process environment and the parsed optional document
    (`document_name`, looked up in the working directory); raises `ConfigError`.
    `fingerprint(settings)`: the part of the settings that changes scores, as JSON types.
    `inline`: scoring one case is pure CPU work below a millisecond, so a slice of cases is scored in a row
    instead of in a task each.
    `value_max`: what a component's value is divided by to be a share of 1 in the metrics: 100 for scores of 0 to 100.
    `window_cases`: how many cases a worker takes up at a time where its settings do not say; for cases that take long.
    """

    name: str
    version: str
    topics: tuple[str, ...]
    cases: Mapping[str, type[Case]]
    resolve: Callable[[Mapping[str, str], Mapping[str, Any] | None], BaseModel]
    build: Callable[[Any], Scorer[Any]]
    fingerprint: Callable[[Any], Mapping[str, Any]]
    document_name: str | None = None
    env_prefix: str | None = None
    inline: bool = False
    metrics: tuple[str, ...] = field(default=())
    window_cases: int | None = None
    value_max: float = 1.0


def config_digest(fingerprint: Mapping[str, Any]) -> str:
    """Name a configuration: the first 16 hex digits of SHA-256 over its canonical JSON."""
    canonical = json.dumps(fingerprint, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]
