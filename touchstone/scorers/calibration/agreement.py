"""How far two people agree: Cohen's kappa (Educational and Psychological Measurement 20, 1960), with a bootstrap interval."""

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from random import Random
from typing import Final

from touchstone.schemas.reports.intervals import Interval
from touchstone.scorers.reporting.intervals import LEVEL, Rate

DRAWS: Final = 2_000
SEED: Final = 1960


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two reviewers on the same cases. `kappa`: None where both gave one and the same verdict to every case, so that agreeing says nothing."""

    same: Rate
    kappa: float | None
    interval: Interval | None


def agreement(pairs: Iterable[tuple[Hashable, Hashable]], seed: int = SEED) -> Agreement:
    """Compare both reviewers' verdicts on each case that both reviewed."""
    cells = Counter(pairs)
    total = cells.total()
    same = Rate(sum(count for (one, other), count in cells.items() if one == other), total)
    kappa = _kappa(dict(cells))
    if kappa is None:
        return Agreement(same, None, None)
    verdicts = sorted({verdict for pair in cells for verdict in pair}, key=repr)
    table = [(one, other) for one in verdicts for other in verdicts]
    draw = Random(seed)  # noqa: S311  # no secret is drawn
    # Cells are drawn from their Dirichlet distribution: gamma variates, which need no sum of 1 here.
    drawn = sorted(found for _ in range(DRAWS) if (found := _kappa({cell: draw.gammavariate(cells[cell] + 1 / len(table), 1.0) for cell in table})) is not None)
    tail = (1 - LEVEL) / 2
    return Agreement(same, kappa, Interval(low=drawn[int(tail * len(drawn))], high=drawn[int((1 - tail) * len(drawn))]))


def _kappa(cells: dict[tuple[Hashable, Hashable], int] | dict[tuple[Hashable, Hashable], float]) -> float | None:
    total = sum(cells.values())
    rows: Counter[Hashable] = Counter()
    columns: Counter[Hashable] = Counter()
    same = 0.0
    for (one, other), weight in cells.items():
        rows[one] += weight  # type: ignore[assignment]  # a Counter of floats
        columns[other] += weight  # type: ignore[assignment]
        same += weight if one == other else 0.0
    if not total:
        return None
    chance = sum(rows[verdict] * columns[verdict] for verdict in rows) / total**2
    return (same / total - chance) / (1 - chance) if chance < 1 else None
