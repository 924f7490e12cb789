"""What an evaluation run asks for, and what it needs of the field that it evaluates."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from touchstone.schemas.reports.evaluation import AddedCode, Expectations
from touchstone.schemas.trace import ProductionTrace


@dataclass(frozen=True, slots=True)
class Item:
    """One test. `id`: fit for a file name, and the only one of its run. `place`: where it comes from, for people. `minimum`: score → the least that passes."""

    id: str
    prompt: str
    place: str
    category: str | None = None
    minimum: Mapping[str, float] = field(default_factory=dict)


def _as_it_is(persona: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[AddedCode, ...]]:
    return dict(persona), ()


def _nothing_expected(_item: Item, _trace: ProductionTrace) -> Expectations | None:
    return None


@dataclass(frozen=True, slots=True)
class Field:
    """What is known of the field.

    `enrich`: a persona with codes added, and which. `expect`: a test's expectations of its trace, None if it has none. `parts`: the scores that the overall
    one is made of, with their headings. `judged`: the one of them that a judge gives.
    """

    enrich: Callable[[Mapping[str, Any]], tuple[dict[str, Any], tuple[AddedCode, ...]]] = _as_it_is
    expect: Callable[[Item, ProductionTrace], Expectations | None] = _nothing_expected
    parts: tuple[tuple[str, str], ...] = (("format", "Format"), ("terminology", "Terminology"))
    judged: str | None = None
