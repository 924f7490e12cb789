"""A case by an id, for commands that show it: its result from the store, its event from the archive or from its place on the topic."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from touchstone.scorers.base import ConfigError

if TYPE_CHECKING:
    from touchstone.ops.store.archive.archive import Archive
    from touchstone.ops.web.api.sources import Opened
    from touchstone.schemas.case import Case
    from touchstone.schemas.result import ScoreResult
    from touchstone.schemas.settings.house import Settings
    from touchstone.scorers.suite import Suite


@dataclass(frozen=True, slots=True)
class KeptCase:
    """A result, its suite, and the case; the case is None if its event is not at hand, and `why` says why. `others`: further results of the event."""

    suite: "Suite"
    result: "ScoreResult"
    case: "Case | None"
    why: str
    others: int


def kept_case(identifier: str, settings: "Settings", suite: str | None, bootstrap: str | None) -> KeptCase:
    """The case with an event id, trace id or result id. `suite`: whose result; without it the result named, else the newest. Raises `ConfigError`."""
    from touchstone.ops.web.api.api import open_sources
    from touchstone.ops.web.suite_documents import suite_or_placeholder
    from touchstone.scorers.registry import usable_suites
    from touchstone.streams.account.projection import restore

    opened = open_sources(settings)
    found = opened.history.case(identifier)
    if found is None:
        raise ConfigError(f"{identifier}: no such file, and no such event, trace or result in the store; check the id, or --store")
    results = [restore(row) for row in found.results]
    fitting = [one for one in results if one.suite == suite] if suite is not None else sorted(results, key=lambda one: one.result_id != identifier)
    if not fitting:
        known = ", ".join(sorted({one.suite for one in results})) or "none"
        raise ConfigError(f"{identifier}: the store has no result of {suite or 'any suite'} for it (of: {known})")
    result = fitting[0]
    suites = usable_suites()
    case, why = _event(opened, found.event_id, result, found.kept.kind if found.kept is not None else "", suites, bootstrap)
    return KeptCase(suite_or_placeholder(suites, result.suite), result, case, why, len(results) - 1)


def _event(
    opened: "Opened", event_id: str, result: "ScoreResult", kind: str, suites: "Mapping[str, Suite]", bootstrap: str | None
) -> "tuple[Case | None, str]":
    """The case of an event: as it was kept, else from its topic if a broker is named; without both, why."""
    from touchstone.ops.store.archive.objects import Missing, NoArchive

    try:
        case, why = archived_case(opened.open_archive(), event_id, result, kind, suites)
    except NoArchive as error:
        case, why = None, str(error)
    except Missing:
        case, why = None, "the event is not in the archive"
    # An object that cannot be opened (no key, too large) may still be on its topic.
    return (case, "") if case is not None else _from_topic(result, suites, bootstrap, why)


def archived_case(archive: "Archive", event_id: str, result: "ScoreResult", kind: str, suites: "Mapping[str, Suite]") -> "tuple[Case | None, str]":
    """The case of an event as the archive keeps it; None if it cannot be read, and why. `kind`: of the case, where it is known. Raises `Missing`."""
    from touchstone.ops.store.archive.encryption import Undecipherable
    from touchstone.ops.store.archive.objects import ArchiveAway, TooLarge
    from touchstone.ops.web.api.reading import case_of

    try:
        document = archive.document(event_id)
    except Undecipherable as error:
        return None, f"the archive cannot give the event: {error}"
    except (ArchiveAway, TooLarge) as error:
        return None, f"the archive cannot give the event ({type(error).__name__})"
    kinds = dict.fromkeys((kind, result.kind))
    read = (case_of(document, one, suites, result.suite) for one in kinds if one)
    case = next((one for one in read if one is not None), None)
    return case, "" if case is not None else "the suite cannot read the kept event"


def _from_topic(result: "ScoreResult", suites: "Mapping[str, Suite]", bootstrap: str | None, why: str) -> "tuple[Case | None, str]":
    """The case from the event's place on its topic; None if that cannot be read either, and why. `why`: the archive does not give it."""
    import typer

    from touchstone.ops.batch.cases import BatchCase
    from touchstone.ops.cli.common.from_topic import case_at
    from touchstone.schemas.result import SourceRef

    source, suite = result.source, suites.get(result.suite)
    if not isinstance(source, SourceRef) or suite is None:
        return None, why
    if bootstrap is None and not os.environ.get("KAFKA_BOOTSTRAP_SERVERS"):
        return None, f"{why}; name the brokers with --bootstrap to read it from its topic"
    place = f"{source.topic}[{source.partition}]@{source.offset}" + (f"#{source.topic_id}" if source.topic_id else "")
    try:
        read = case_at(place, suite, bootstrap)
    except ConfigError as error:
        return None, f"{why}; {error}"
    except typer.Exit:  # the line that says why is printed already; what the result says is shown all the same
        return None, f"{why}, and its topic could not be read"
    return (read.case, "") if isinstance(read, BatchCase) else (None, f"{why}; its record {read.what}")
