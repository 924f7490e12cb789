"""What an expression is evaluated in: the resources around the item in focus, and how much was visited so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from touchstone.scorers.clinical.formats.fhir.fhirpath.values import Undecided

#: Items that the evaluation of one invariant may visit: `all()` over a list inside `all()` over a list is quadratic.
STEPS_MAX = 2_000_000


@dataclass(slots=True)
class Surroundings:
    """What variables mean while one invariant is evaluated.

    `resolve`: reference string → resource, or None where it is not in the document. `member`: value, value set's URL → whether it is in it; None where
    nobody can tell. `kind`: the type of the context, where its choice element's
    name gives it. `steps`: how many items were visited so far.
    """

    resource: Any
    root: Any
    context: Any
    resolve: Callable[[Any, str], Any] | None = None
    kind: str | None = None
    member: Callable[[Any, str], bool | None] | None = None
    steps: int = 0

    def count(self, items: list[Any]) -> list[Any]:
        """Count visited items; Undecided where one evaluation visits more than the bound."""
        self.steps += len(items)
        if self.steps > STEPS_MAX:
            raise Undecided
        return items


Compiled = Callable[[Any, Surroundings], list[Any]]
