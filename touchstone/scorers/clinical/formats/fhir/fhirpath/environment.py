"""The environment of an expression: the resources around the item in focus, and a bound on the visited items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from touchstone.scorers.clinical.formats.fhir.fhirpath.values import Undecided

#: Items that one evaluation may visit: `all()` inside `all()` is quadratic.
STEPS_MAX = 2_000_000


@dataclass(slots=True)
class Environment:
    """The values of variables while one invariant is evaluated.

    `resolve`: (value, reference) → resource, None if it is not in the document. `member`: (value, URL of a value set) → True if it is in it, None if
    unknown. `kind`: the type of the context, if its choice element names it. `steps`: visited items.
    """

    resource: Any
    root: Any
    context: Any
    resolve: Callable[[Any, str], Any] | None = None
    kind: str | None = None
    member: Callable[[Any, str], bool | None] | None = None
    steps: int = 0

    def count(self, items: list[Any]) -> list[Any]:
        """Count visited items; Undecided beyond the bound."""
        self.steps += len(items)
        if self.steps > STEPS_MAX:
            raise Undecided
        return items


Compiled = Callable[[Any, Environment], list[Any]]
