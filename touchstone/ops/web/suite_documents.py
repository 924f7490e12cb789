"""Descriptions of suites for the page, which knows no suite itself."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from touchstone.scorers.suite import Suite, unknown_suite

#: The direction of a value whose suite does not give one.
DEFAULT_BETTER = "higher"


def components(suite: Suite, seen: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """A suite's values in its own order: name, heading, scale, direction (None: neither), decimal places, and whether listings show them.

    `seen`: further values that its results have.
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
    """The id that names a case; None if its name is made in another way."""
    with suppress(Exception):
        return {"event": "event_id", "case": "case_id"}.get(suite.call("event", "case"))
    return None


def suite_document(suite: Suite, concerns: list[str], *, installed: bool = True) -> dict[str, Any]:
    """The entry of a suite in `/v1/suites`."""
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


def suite_or_placeholder(suites: Mapping[str, Suite], name: str) -> Suite:
    """The suite; a placeholder for one that is not installed here."""
    return suites.get(name) or unknown_suite(name, "")
