"""`--max-drop`: the verdict, and how it writes the change with its sign and its decimal places."""

from types import SimpleNamespace
from typing import cast

import pytest

from touchstone.schemas.reports.changes import Comparison
from touchstone.scorers.reporting.verdict import Verdict, with_drop


def verdict(difference: float, max_drop: float) -> Verdict:
    comparison = SimpleNamespace(pass_rate=SimpleNamespace(difference=difference), drop=max(0.0, -difference))
    return with_drop(Verdict("PASS", "all passed", 0), None, cast("Comparison", comparison), max_drop)


@pytest.mark.parametrize(
    ("difference", "max_drop", "reason", "code"),
    [
        (-0.0512, 0.05, "pass rate -5.1 points since the earlier batch, a drop of at most 5 points asked", 1),
        (-0.05001, 0.05, "pass rate -5.001 points since the earlier batch, a drop of at most 5 points asked", 1),
        (-0.05, 0.05, "pass rate -5.0 points since the earlier batch, a drop of at most 5 points asked", 0),
        (0.25, 0.05, "pass rate +25.0 points since the earlier batch, a drop of at most 5 points asked", 0),
        (0.0, 0.0, "pass rate as in the earlier batch, a drop of at most 0 points asked", 0),
        (-0.001, 0.0, "pass rate -0.1 points since the earlier batch, a drop of at most 0 points asked", 1),
        (-0.0001, 0.0, "pass rate -0.01 points since the earlier batch, a drop of at most 0 points asked", 1),
        (-0.01, 0.125, "pass rate -1.0 points since the earlier batch, a drop of at most 12.5 points asked", 0),
    ],
)
def test_a_drop_is_written_with_its_sign_and_so_many_places_that_it_shows_on_which_side_of_the_bound_it_is(
    difference: float, max_drop: float, reason: str, code: int
) -> None:
    found = verdict(difference, max_drop)
    assert (found.reason, found.exit_code) == (reason, code)
