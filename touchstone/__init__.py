"""Touchstone: an event-driven scorer for what language models generate.

What a program imports: `Case`, `Scorecard` and `Suite` to write a suite, `score` and `ascore` to score with one. See docs/python.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from touchstone.ops.batch.call import ascore, open_suite, score
    from touchstone.ops.batch.results import Report, Results
    from touchstone.schemas.case import Case
    from touchstone.schemas.result import Failure, Finding, Scorecard, ScoreResult
    from touchstone.scorers.base import ConfigError, NoSettings, Unavailable
    from touchstone.scorers.reporting import Column, Group
    from touchstone.scorers.suite import Suite

#: Public name → the module that has it; loaded when it is asked for, so that importing the package costs nothing.
_HOMES = {
    "Case": "touchstone.schemas.case",
    "Column": "touchstone.scorers.reporting",
    "ConfigError": "touchstone.scorers.base",
    "Failure": "touchstone.schemas.result",
    "Finding": "touchstone.schemas.result",
    "Group": "touchstone.scorers.reporting",
    "NoSettings": "touchstone.scorers.base",
    "Report": "touchstone.ops.batch.results",
    "Results": "touchstone.ops.batch.results",
    "ScoreResult": "touchstone.schemas.result",
    "Scorecard": "touchstone.schemas.result",
    "Suite": "touchstone.scorers.suite",
    "Unavailable": "touchstone.scorers.base",
    "ascore": "touchstone.ops.batch.call",
    "open_suite": "touchstone.ops.batch.call",
    "score": "touchstone.ops.batch.call",
}

__all__ = [
    "Case",
    "Column",
    "ConfigError",
    "Failure",
    "Finding",
    "Group",
    "NoSettings",
    "Report",
    "Results",
    "ScoreResult",
    "Scorecard",
    "Suite",
    "Unavailable",
    "ascore",
    "open_suite",
    "score",
]


def __getattr__(name: str) -> Any:
    """A public name, from its home."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """The public names."""
    return sorted([*globals(), *__all__])
