"""The filter of a list of cases: what an address says after its question mark, and back."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal, Self, get_args
from urllib.parse import urlencode

Sort = Literal["-time", "time", "overall", "-overall", "label", "-label", "findings", "-findings"]
SORTS: Final[tuple[Sort, ...]] = get_args(Sort)
NEWEST: Final[Sort] = "-time"
LABELS: Final = ("Pass", "Review", "Warn", "Fail", "unscored")
SEVERITIES: Final = ("critical", "major", "minor", "info")
SOURCES: Final = ("production", "eval", "other")
#: Field → the values that it may have.
_CHOICES: Final = {"label": LABELS, "severity": SEVERITIES, "feedback": ("up", "down", "none"), "kept": ("yes", "no"), "sort": SORTS, "source": SOURCES}
#: Fields that may be named several times; of most, any of the values fits.
_SEVERAL: Final = ("suite", "label", "code", "concern", "batch", "model", "kind", "source", "severity", "value")
#: Those of them of which all must fit.
_ALL_OF: Final = ("code", "value")
_MOMENTS: Final = ("since", "until")
_VALUES_MAX: Final = 50
_CHARS_MAX: Final = 512
#: A value that a result must have, and a bound that it must keep: `loss`, `loss>=0.2`.
_VALUE: Final = re.compile(r'(?P<name>[^"\\<>=]+)(?:(?P<sign><=|>=|<|>)(?P<number>[^<>=]+))?')


class FilterError(ValueError):
    """A filter that cannot be used. The message names the field and never its value, which may be anything."""


@dataclass(frozen=True, slots=True)
class CaseFilter:
    """Which results a list shows. Empty: no restriction.

    `q`: part of an event id, a case id or a code, whatever the case of its letters. `since` is included, `until` is not. `digest`: of the configuration.
    `sort`: a leading `-` begins with the largest; `overall` and `label` begin with the worst, and what has the same is newest first.
    `kept`: `yes` if the archive holds the event. `value`: names of values that a result must have, each alone or with a bound (`loss>=0.2`); all must be so.
    `scope`: suites that the reader may see; it comes from the reader's token and never from an address.
    """

    suite: tuple[str, ...] = ()
    label: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    concern: tuple[str, ...] = ()
    batch: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    severity: tuple[str, ...] = ()
    value: tuple[str, ...] = ()
    version: str = ""
    digest: str = ""
    feedback: str = ""
    kept: str = ""
    since: datetime | None = None
    until: datetime | None = None
    q: str = ""
    sort: Sort = NEWEST
    scope: frozenset[str] | None = field(default=None)

    @classmethod
    def parse(cls, query: Mapping[str, str] | Iterable[tuple[str, str]], scope: frozenset[str] | None = None) -> Self:
        """A filter from query parameters; empty ones count as absent. Raises `FilterError`, also for unknown parameters."""
        given: dict[str, Any] = {}
        for name, value in query.items() if isinstance(query, Mapping) else query:
            if name not in NAMES:
                raise FilterError(f"the filter has a parameter that does not exist; use {', '.join(NAMES)}")
            if not value:
                continue
            if len(value) > _CHARS_MAX or not value.isprintable():
                raise FilterError(f"{name}: give at most {_CHARS_MAX} printable characters")
            if name in _CHOICES and value not in _CHOICES[name]:
                raise FilterError(f"{name}: must be one of {', '.join(_CHOICES[name])}")
            if name == "value":
                read_bound(value)
            if name in _SEVERAL:
                given[name] = tuple(dict.fromkeys((*given.get(name, ()), value)))
                if len(given[name]) > _VALUES_MAX:
                    raise FilterError(f"{name}: give at most {_VALUES_MAX} values")
            elif name in given:
                raise FilterError(f"{name}: give it once")
            else:
                given[name] = _moment(name, value) if name in _MOMENTS else value
        return cls(**given, scope=scope)

    def parameters(self) -> list[tuple[str, str]]:
        """The query parameters: `parse` makes the same filter of them."""
        found: list[tuple[str, str]] = []
        for name in NAMES:
            value = getattr(self, name)
            if isinstance(value, tuple):
                found += [(name, one) for one in value]
            elif isinstance(value, datetime):
                found.append((name, value.astimezone(UTC).isoformat().replace("+00:00", "Z")))
            elif value and (name, value) != ("sort", NEWEST):
                found.append((name, value))
        return found

    def query(self) -> str:
        """The query part of an address, without its question mark."""
        return urlencode(self.parameters())

    def beside(self, by: str) -> Self:
        """The same filter without that of a property, for counting by it: a reader who chose one value sees how many have each of the others.

        Codes stay: a result must have all that are chosen, so that the counts are of what another one would leave.
        """
        if by == "version":
            return replace(self, version="")
        without: dict[str, Any] = {by: ()} if by in _SEVERAL and by not in _ALL_OF else {}
        return replace(self, **without)

    def within(self, scope: frozenset[str] | None) -> Self:
        """The same filter for a reader who may see these suites."""
        return replace(self, scope=scope)


#: Names of the query parameters.
NAMES: Final = tuple(one.name for one in fields(CaseFilter) if one.name != "scope")


def read_bound(text: str) -> tuple[str, str, float]:
    """The name of a value, a sign (empty: any number will do), and the bound. Raises `FilterError`."""
    found = _VALUE.fullmatch(text)
    try:
        number = float(found["number"] or 0) if found else math.nan
    except ValueError:
        number = math.nan
    if found is None or not math.isfinite(number):
        raise FilterError("value: write a name, alone or with a bound as in loss>=0.2; signs are < <= > >=")
    return found["name"], found["sign"] or "", number


def _moment(name: str, value: str) -> datetime:
    """A moment in UTC; one without a zone is UTC."""
    try:
        moment = datetime.fromisoformat(value)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise FilterError(f"{name}: write a date and time as in 2026-01-31T12:00:00Z") from None
