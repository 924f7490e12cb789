"""Clinical files as JSON: an array with an entry per file."""

from typing import Any

import orjson

from touchstone.ops.reports.verdict import Verdict
from touchstone.schemas.reports.clinical import ClinicalEntry, ClinicalSummary, JudgedFile


class JsonReporter:
    """Writes the array, two spaces deep; numbers are not rounded."""

    def __init__(self) -> None:
        self._written = 0

    def begin(self) -> str:
        """The array's beginning."""
        return "["

    def add(self, judged: JudgedFile) -> str:
        """One entry."""
        self._written += 1
        # Line ends inside strings are escaped, so each one here is the layout's.
        text = orjson.dumps(entry_document(judged.entry), option=orjson.OPT_INDENT_2).decode().replace("\n", "\n  ")
        return f"{',' if self._written > 1 else ''}\n  {text}"

    def end(self, summary: ClinicalSummary, verdict: Verdict) -> str:
        """The array's end."""
        return "\n]\n" if self._written else "]\n"


def entry_document(entry: ClinicalEntry) -> dict[str, Any]:
    """An entry as JSON types. A finding without a suggestion has no such key."""
    document = entry.model_dump(mode="json")
    document["findings"] = [finding.model_dump(mode="json", exclude_none=True) for finding in entry.findings]
    return document
