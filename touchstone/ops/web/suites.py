"""What each suite says of itself, for a page that has never heard of it."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from touchstone.scorers.suite import Suite, unknown_suite

#: A suite's value when it says nothing of its direction.
DEFAULT_BETTER = "higher"


def components(suite: Suite, seen: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """A suite's values in its own order: name, heading, scale, direction (None: neither), decimal places, and whether listings show them.

    `seen`: values that its results have besides.
    """
    columns = {column.value: column for column in suite.columns}
    names = list(dict.fromkeys([*suite.metrics, *columns, *sorted(seen or {})]))
    found = []
    for name in names:
        column = columns.get(name)
        found.append(
            {
                "name": name,
                "heading": column.heading if column is not None else name,
                "better": column.better if column is not None else DEFAULT_BETTER,
                "low": 0.0,
                "high": suite.value_max,
                "places": column.places if column is not None else 2,
                "listed": column is not None,
            }
        )
    return found


def named_by(suite: Suite) -> str | None:
    """Which id of a case people call it by; None where its name is made of them in another way."""
    with suppress(Exception):
        return {"event": "event_id", "case": "case_id"}.get(suite.call("event", "case"))
    return None


def told(suite: Suite, concerns: list[str], *, installed: bool = True) -> dict[str, Any]:
    """What `/v1/suites` says of one suite."""
    return {
        "name": suite.name,
        "version": suite.version,
        "title": suite.title or suite.name,
        "installed": installed,
        "kinds": sorted(suite.cases),
        "report_type": suite.report_type,
        "named_by": named_by(suite),
        "components": components(suite),
        "concerns": concerns,
    }


def suite_or_stand_in(suites: Mapping[str, Suite], name: str) -> Suite:
    """The suite, or a stand-in for one that is not installed here."""
    return suites.get(name) or unknown_suite(name, "")
