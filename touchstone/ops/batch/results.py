"""The results of a Python call on many cases: a sequence, with a table for notebooks, rows for data frames, and the suite's report."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, overload

from touchstone.schemas.html import table, titled
from touchstone.schemas.result import ScoreResult
from touchstone.scorers.reporting.concerns import has_several
from touchstone.scorers.reporting.notebook import html_of
from touchstone.scorers.reporting.report import RunFacts
from touchstone.scorers.reporting.verdict import Verdict
from touchstone.scorers.reporting.view import View
from touchstone.scorers.reporting.words import counted
from touchstone.scorers.scoring import Scoring
from touchstone.scorers.suite import Suite


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """A report. `content`: the suite's own, which differs between suites; `view`: what every format shows of it."""

    suite: Suite
    content: Any

    @property
    def view(self) -> View:
        """The report's contents for display."""
        return self.suite.view(self.content)

    @property
    def verdict(self) -> Verdict:
        """The verdict by labels, as that of the commands on files without a gate."""
        return self.suite.verdict(self.content, None)

    def __repr__(self) -> str:
        """One line."""
        return f"<{self.view.title}: {self.verdict}>"

    def _repr_html_(self) -> str:
        """Figures, tables and the first cases."""
        return html_of(self.view)


class Results(Sequence[ScoreResult]):
    """Results in the order of their cases."""

    def __init__(self, scoring: Scoring, results: Sequence[ScoreResult]) -> None:
        self._suite, self._settings = scoring.suite, scoring.settings
        self._digest, self._configuration = scoring.digest, scoring.configuration
        self._results = tuple(results)

    @overload
    def __getitem__(self, place: int) -> ScoreResult: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[ScoreResult, ...]: ...
    def __getitem__(self, place: int | slice) -> ScoreResult | tuple[ScoreResult, ...]:
        """One result, or some."""
        return self._results[place]

    def __len__(self) -> int:
        """How many there are."""
        return len(self._results)

    def __iter__(self) -> Iterator[ScoreResult]:
        """Each result."""
        return iter(self._results)

    @property
    def labels(self) -> dict[str, int]:
        """Label → cases, the most frequent first."""
        return dict(Counter(result.label for result in self._results).most_common())

    def rows(self) -> list[dict[str, Any]]:
        """A flat dict for each result, all with the same keys: `pandas.DataFrame(results.rows())`. A value that a result lacks is None."""
        names = list(dict.fromkeys(name for result in self._results for name in result.values))
        return [
            {
                "case": self._suite.case_name(result),
                "label": result.label,
                **{name: result.values.get(name) for name in names},
                "findings": ", ".join(dict.fromkeys(one.code for one in result.findings if one.severity != "info")),
                "failures": ", ".join(dict.fromkeys(one.code for one in result.failures)),
                "event_id": result.event_id,
            }
            for result in self._results
        ]

    def report(self) -> Report:
        """The suite's report, as the commands on files make it."""
        suite = self._suite if self._suite.mixes_concerns or not has_several(self._results) else self._suite.over_concerns()
        facts = RunFacts(suite, self._settings, self._digest, datetime.now(UTC), configuration=self._configuration)
        return Report(suite, suite.report(self._results, facts))

    def __repr__(self) -> str:
        """One line."""
        counts = ", ".join(f"{label} {count}" for label, count in self.labels.items()) or "none"
        return f"<{counted(len(self), 'result')} of {self._suite.name}: {counts}>"

    def _repr_html_(self) -> str:
        """A table with a row for each result."""
        rows = self.rows()
        shown = [name for name in (rows[0] if rows else {}) if name != "event_id"]
        return titled(repr(self)[1:-1]) + (table(shown, ([row[name] for name in shown] for row in rows)) if rows else "")
