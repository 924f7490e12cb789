"""One run, whatever the suite: sources → cases → results → report. Every command that scores files uses it."""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from touchstone.ops.batch.cases import Admit, BatchCase, cases_of
from touchstone.ops.batch.entries import Entries
from touchstone.ops.batch.executor import scored
from touchstone.ops.batch.packing import Packed, packed, unpacked
from touchstone.ops.batch.reading import BOUNDS
from touchstone.ops.batch.sources import Source
from touchstone.ops.batch.worst import WorstCases
from touchstone.schemas.reading import CaseReading
from touchstone.schemas.result import Problem, ScoreResult, place_of
from touchstone.schemas.settings.house import FilesSettings
from touchstone.scorers.process import calm_collector
from touchstone.scorers.reporting.report import RunFacts
from touchstone.scorers.reporting.view import Reiterable
from touchstone.scorers.scoring import SCORE_TIMEOUT_S, Scoring
from touchstone.scorers.suite import Suite


@dataclass(slots=True)
class Run:
    """One run. `asked`: what the caller chose by name, for the report. `on_result`: called with each result, in order; an exception of it ends the run.

    `on_source`: called with the number of sources that were begun, and `on_case` with the number of cases that were scored. `admit`: which
    records are wanted. `files`: bounds on one file; `score_timeout_s`: on one case. `given`: cases that come from elsewhere than from files.
    `worst`: keeps the worst cases, to be read.
    """

    suite: Suite
    settings: Any
    jobs: int = 1
    asked: dict[str, Any] = field(default_factory=dict)
    admit: Admit | None = None
    files: FilesSettings = BOUNDS
    score_timeout_s: float = SCORE_TIMEOUT_S
    given: Iterable[BatchCase | Problem] = ()
    worst: WorstCases | None = None
    on_result: Callable[[ScoreResult], None] | None = None
    on_source: Callable[[int], None] = lambda _: None
    on_case: Callable[[int], None] = lambda _: None
    entries: Entries = field(default_factory=Entries)
    repeated: list[str] = field(default_factory=list)
    passed_over: int = 0
    _seen: set[str] = field(default_factory=set)
    _scored: int = 0

    def score(self, sources: Iterable[Source]) -> RunFacts:
        """Score every case of the sources into `entries`, each event id once, in order. Raises `ConfigError` if the scorer cannot be built."""
        begun = time.perf_counter()
        # Here too with several processes, so that a wrong setting is one clear line.
        scoring = Scoring(self.suite, self.settings, timeout_s=self.score_timeout_s)
        counted = self._counted(sources)
        if self.jobs > 1:
            most = self.worst.most if self.worst is not None else 0
            from touchstone.ops.batch.pool import Work, in_processes

            work = Work(self.suite.name, self.settings, self.admit, self.files, self.score_timeout_s, most)
            for entry in in_processes(counted, scoring, work, self.jobs):
                self._take(entry)
        else:
            calm_collector()
            asyncio.run(self._here(counted, scoring))
        return RunFacts(
            suite=self.suite,
            settings=self.settings,
            config_digest=scoring.digest,
            configuration=scoring.configuration,
            generated_at=datetime.now(UTC),
            asked={**self.asked, "passed_over": self.passed_over},
            repeated=len(self.repeated),
            duration_s=time.perf_counter() - begun,
        )

    def readings(self) -> Iterable[CaseReading]:
        """How the worst cases read, made anew each time they are read; none if they were not kept."""
        return () if self.worst is None else Reiterable(self.worst.readings)

    def _counted(self, sources: Iterable[Source]) -> Iterator[Source]:
        for number, source in enumerate(sources, 1):
            self.on_source(number)
            yield source

    async def _here(self, sources: Iterable[Source], scoring: Scoring) -> None:
        try:
            async for entry in scored(self._noted(sources), scoring):
                self._keep(packed(entry), entry)
                if self.worst is not None:
                    self.worst.add(entry)
        finally:
            await scoring.close()

    def _noted(self, sources: Iterable[Source]) -> Iterator[BatchCase | Problem]:
        """The cases, noted for those who read the worst."""
        for case in self._cases(sources):
            if self.worst is not None and isinstance(case, BatchCase):
                self.worst.given(case)
            yield case

    def _cases(self, sources: Iterable[Source]) -> Iterator[BatchCase | Problem]:
        """The cases of all sources, each event id once."""
        yield from self.given
        for source in sources:
            for case in cases_of(source, self.suite, self.settings, self.admit, self.files):
                if case is None:
                    self.passed_over += 1
                elif isinstance(case, Problem) or self._is_new(case.event_id):
                    yield case
                else:
                    self.repeated.append(place_of(case.source))

    def _take(self, entry: Packed | None) -> None:
        """An entry of another process, which does not know the events of the others."""
        if entry is None:
            self.passed_over += 1
        elif entry.event_id is None or self._is_new(entry.event_id):
            self._keep(entry, None)
            if self.worst is not None and entry.kept is not None:
                self.worst.keep(entry.kept)
        else:
            self.repeated.append(place_of(unpacked(entry.line).source))

    def _is_new(self, event_id: str) -> bool:
        """Note an event; False if it was met before, unless the suite reports every file."""
        if self.suite.by_file:
            return True
        if event_id in self._seen:
            return False
        self._seen.add(event_id)
        return True

    def _keep(self, entry: Packed, result: ScoreResult | Problem | None) -> None:
        """Keep an entry. `result`: what was packed, if it is at hand."""
        self.entries.add_packed(entry.line)
        if entry.event_id is not None:
            if self.on_result is not None:
                whole = unpacked(entry.line) if result is None else result
                assert isinstance(whole, ScoreResult)
                self.on_result(whole)
            self._scored += 1
            self.on_case(self._scored)
