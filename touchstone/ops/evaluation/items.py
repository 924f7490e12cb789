"""The tests of an evaluation run, and the field-specific functions that it needs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from touchstone.schemas.reports.evaluation import AddedCode, Expectations
from touchstone.schemas.trace import ProductionTrace


@dataclass(frozen=True, slots=True)
class Item:
    """One test. `id`: unique in its run, and usable as a file name. `place`: its source, for people. `minimum`: score → the least that passes.

    `modes`: failure modes that the outcome must not have, each with the name of the value that tells (1: absent, 0: there). Such a test also fails where it
    does not meet an expectation.
    """

    id: str
    prompt: str
    place: str
    category: str | None = None
    minimum: Mapping[str, float] = field(default_factory=dict)
    modes: Mapping[str, str] = field(default_factory=dict)


def _as_it_is(persona: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[AddedCode, ...]]:
    return dict(persona), ()


def _nothing_expected(_item: Item, _trace: ProductionTrace) -> Expectations | None:
    return None


@dataclass(frozen=True, slots=True)
class Field:
    """Functions of the field that is evaluated.

    `enrich`: a persona with codes added, and which. `expect`: a test's expectations of its trace, None if it has none. `parts`: the scores that the overall
    one is made of, with their headings. `judged`: the one of them that a judge gives.
    """

    enrich: Callable[[Mapping[str, Any]], tuple[dict[str, Any], tuple[AddedCode, ...]]] = _as_it_is
    expect: Callable[[Item, ProductionTrace], Expectations | None] = _nothing_expected
    parts: tuple[tuple[str, str], ...] = (("format", "Format"), ("terminology", "Terminology"))
    judged: str | None = None
