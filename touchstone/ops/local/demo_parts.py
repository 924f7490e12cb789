"""Parts of the demo: a suite with its samples, their results from files, and their results from the store."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from touchstone.ops.batch.run import Run
from touchstone.ops.batch.sources import find_sources
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.reports import Chosen, StoredEntries, Wanted, choose
from touchstone.ops.store.results import ResultStore
from touchstone.schemas.result import Problem, ScoreResult
from touchstone.scorers.base import Samples
from touchstone.scorers.registry import load_suite, missing_libraries, suite_entry_points, why_not_here
from touchstone.scorers.reporting import CaseView, RunFacts, View
from touchstone.scorers.reporting.equality import differences
from touchstone.scorers.suite import Suite
from touchstone.scorers.suite_settings import suite_settings

#: Differences listed per suite.
TOLD_MAX = 8
KEPT_TIMEOUT_S = 15.0
KEPT_POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class Part:
    """A suite that can run here, with its samples, and its settings for them."""

    suite: Suite
    samples: Samples
    settings: BaseModel


@dataclass(frozen=True, slots=True)
class FromFiles:
    """Results of the samples' files, scored in this process."""

    entries: Sequence[ScoreResult | Problem]
    facts: RunFacts

    @property
    def results(self) -> list[ScoreResult]:
        """The results alone."""
        return [entry for entry in self.entries if isinstance(entry, ScoreResult)]


@dataclass(frozen=True, slots=True)
class Reported:
    """A stored report. `concern`: its concern; None if the suite reports all results together."""

    concern: str | None
    report: Any
    view: View


def choose_parts(env: Mapping[str, str]) -> tuple[list[Part], list[str]]:
    """The installed suites that can score their samples here, those with the fewest needs first; and the reason for each of the others.

    `env`: what each suite's settings are made of, with its samples' own over it. Raises `ConfigError` for settings that cannot be used.
    """
    parts: list[Part] = []
    left_out: list[str] = []
    for name in sorted(suite_entry_points()):
        reason = why_not_here(name)
        suite = load_suite(name) if reason is None else None
        samples = suite.samples() if suite is not None and suite.samples is not None else None
        if reason is None and samples is None:
            reason = "it brings no samples"
        if samples is not None:
            reason = missing_libraries(samples.requires)
        if reason is not None or suite is None or samples is None:
            left_out.append(f"{name}: {reason}")
        else:
            parts.append(Part(suite, samples, suite_settings(suite, env={**env, **samples.env})))
    return sorted(parts, key=_needs), left_out


def _needs(part: Part) -> int:
    return len({**part.suite.requires, **part.samples.requires})


def score_files(part: Part) -> FromFiles:
    """Score the samples' files, as `touchstone score` does. Blocks; raises `ConfigError`."""
    run = Run(part.suite, part.settings)
    facts = run.score(find_sources(part.samples.paths, any_file=part.suite.read is not None))
    return FromFiles(list(run.entries), facts)


def read_stored(part: Part, store_url: str, digest: str) -> list[ScoreResult]:
    """The results that the projector has stored. Raises `ConfigError`."""
    store = ResultStore.open(store_url)
    try:
        return list(StoredEntries(store, Chosen(part.suite.name, part.suite.version, digest, None)))
    finally:
        store.close()


def failed_case(results: Iterable[ScoreResult]) -> ScoreResult | None:
    """A failed case to begin with: of those that say why, the one with the fewest reasons."""
    return min((one for one in results if one.label == "Fail" and one.findings), key=lambda one: len(one.findings), default=None)


async def kept_by_archive(event_id: str, store_url: str) -> bool:
    """Wait, within a bound, until the archive has an event."""
    store = await asyncio.to_thread(ResultStore.open, store_url)
    try:
        index = CaseIndex(store.engine)
        with suppress(TimeoutError):
            async with asyncio.timeout(KEPT_TIMEOUT_S):
                while await asyncio.to_thread(index.row, event_id) is None:  # noqa: ASYNC110 -- a row in a database has no event
                    await asyncio.sleep(KEPT_POLL_S)
                return True
        return False
    finally:
        store.close()


def compare_results(part: Part, live: Sequence[ScoreResult], files: FromFiles) -> list[str]:
    """Differences between live results, results of the files, and the samples' expected results."""
    unread = [f"{entry.where}: {entry.what}" for entry in files.entries if isinstance(entry, Problem)]
    return _told([*unread, *differences(live, files.results, part.samples.tolerance), *part.samples.unexpected(live)])


def compare_reports(part: Part, store_url: str, files: FromFiles) -> tuple[list[Reported], list[str]]:
    """The reports from the store, largest first, and their differences from the files' reports. Raises `ConfigError`."""
    suite = part.suite
    found: list[Reported] = []
    problems: list[str] = []
    store = ResultStore.open(store_url)
    try:
        for concern, entries in _by_concern(suite, files.entries):
            wanted = Wanted(suite.name, concern, None, suite.version, files.facts.config_digest, one_concern=not suite.mixes_concerns)
            facts = replace(files.facts, asked={"concern_id": concern, "batch_id": "*"})
            # A suite that shares a topic has scored other suites' samples too.
            ids = {entry.event_id for entry in entries if isinstance(entry, ScoreResult)}
            report = suite.report([one for one in StoredEntries(store, choose(store, wanted)) if one.event_id in ids], facts)
            of_files = suite.report(entries, facts)
            found.append(Reported(concern, report, suite.view(report)))
            if _shown(suite, report, part.samples.tolerance) != _shown(suite, of_files, part.samples.tolerance):
                problems.append(f"the stored report{f' of {concern}' if concern else ''} is not that of the files")
    finally:
        store.close()
    return sorted(found, key=lambda one: -one.view.total), _told(problems)


def _by_concern(suite: Suite, entries: Sequence[ScoreResult | Problem]) -> Iterator[tuple[str | None, Sequence[ScoreResult | Problem]]]:
    """The entries of each report."""
    if suite.mixes_concerns:
        yield None, entries
        return
    groups: dict[str, list[ScoreResult | Problem]] = {}
    for entry in entries:
        if isinstance(entry, ScoreResult) and (group := suite.group_of(entry)) is not None:
            groups.setdefault(group.concern_id, []).append(entry)
    yield from sorted(groups.items())


def _shown(suite: Suite, report: Any, tolerance: float) -> tuple[Any, ...]:
    """A report's content, independent of the order of its cases. If values may differ, only labels and verdict count."""
    view = suite.view(report)
    same = (suite.verdict(report, None).exit_code, view.total, dict(view.labels))
    if tolerance:
        return same
    return (*same, list(view.figures), list(view.tables), sorted(_case(case) for case in view.cases))


def _case(case: CaseView) -> tuple[str, str, str, int]:
    return (case.label, case.summary, case.why, len(case.findings))


def _told(lines: Iterable[str]) -> list[str]:
    """The first few lines, and how many more there are."""
    every = list(lines)
    rest = len(every) - TOLD_MAX
    return [*every[:TOLD_MAX], *([f"and {rest} more"] if rest > 0 else [])]


def settings_shown(samples: Samples) -> str:
    """The samples' settings as text; a path is shown by its last part."""
    return ", ".join(f"{name}={Path(value).name if '/' in value else value}" for name, value in samples.env.items())
