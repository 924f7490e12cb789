"""The readings of the worst stored results, for a report: results from the store, their events from the archive."""

from bisect import insort
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from touchstone.ops.store.archive.archive import Archive
    from touchstone.schemas.case import Case
    from touchstone.schemas.reading import CaseReading
    from touchstone.schemas.result import ScoreResult
    from touchstone.schemas.settings.house import Settings
    from touchstone.scorers.suite import Suite


class StoredReadings:
    """How the worst of some results read, made anew each time they are read; one case is held at a time.

    `without_event`: how many had no event at hand, so that their readings say what the results say; `why`: of the first of them.
    """

    def __init__(self, suite: "Suite", results: "Iterable[ScoreResult]", settings: "Settings") -> None:
        self.without_event = 0
        self.why = ""
        self._suite = suite
        self._results = results
        self._settings = settings

    def __iter__(self) -> "Iterator[CaseReading]":
        """The readings, the worst first. Raises `ConfigError` where the archive cannot be opened."""
        from touchstone.scorers.suite_settings import reading_here

        self.without_event = 0
        suites = {self._suite.name: self._suite}
        for result in self._worst:
            case, why = self._case(result, suites)
            if case is None:
                self.without_event += 1
                self.why = self.why or why
            yield reading_here(self._suite, case, result)

    def _case(self, result: "ScoreResult", suites: "Mapping[str, Suite]") -> "tuple[Case | None, str]":
        from touchstone.ops.cli.common.kept_case import archived_case
        from touchstone.ops.store.archive.objects import Missing, NoArchive

        try:
            return archived_case(self._archive, result.event_id, result, "", suites)
        except NoArchive as error:
            return None, str(error)
        except Missing:
            return None, "the archive does not have it (archive.policy says which cases are kept)"

    @cached_property
    def _worst(self) -> "list[ScoreResult]":
        """The worst results, the worst first, in one pass."""
        from touchstone.ops.batch.worst import badness_of
        from touchstone.ops.reports.html_reading import READINGS_MAX

        worst: list[ScoreResult] = []
        for result in self._results:
            insort(worst, result, key=badness_of)
            del worst[READINGS_MAX:]
        return worst

    @cached_property
    def _archive(self) -> "Archive":
        from touchstone.ops.web.api.api import open_sources

        return open_sources(self._settings).open_archive()
