"""Scoring generated summaries from files: many at a time, so that the engines' batchers see them together, in the order of the files."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel

from touchstone.ops.batch.batches import BatchFile
from touchstone.ops.batch.loss_batches import SummaryEntry, SummarySelection
from touchstone.schemas.reports.summary import LossCase, LossComponent, LossError, LossLabels, LossReport, LossResult, LossSpread
from touchstone.schemas.result import Failure, Scorecard
from touchstone.scorers.base import Closeable, Scorer, Suite, Unavailable
from touchstone.scorers.identity import config_digest

#: Cases in flight: enough to fill the batches of the fastest device, few enough to hold in memory.
WINDOW_CASES = 64
#: How long the engines may take to let go when all is scored.
CLOSE_S = 10.0
LOSS = "loss"


@dataclass(frozen=True, slots=True)
class Scored:
    """One case with what the scorer said of it."""

    entry: SummaryEntry
    card: Scorecard


def score_files(
    suite: Suite,
    settings: BaseModel,
    files: Sequence[BatchFile],
    selection: SummarySelection,
    *,
    worst: int = 0,
    on_step: Callable[[int], None] = lambda _: None,
) -> LossReport:
    """Score the summaries of the files and report them. Raises `ConfigError` where the scorer cannot be built."""
    scorer = suite.build(settings)

    async def scored() -> list[Scored]:
        try:
            return await score_entries(scorer, selection.entries(files), on_step=on_step)
        finally:
            await close(scorer)

    results = asyncio.run(scored())
    fingerprint = dict(suite.fingerprint(settings))
    origin = Origin(suite.version, config_digest(fingerprint), fingerprint, suite.metrics)
    return build_report(results, origin, errors=selection.errors, repeated=len(selection.repeated), worst=worst, generated_at=datetime.now(UTC))


async def score_entries(
    scorer: Scorer[Any], entries: Iterable[SummaryEntry], *, window: int = WINDOW_CASES, on_step: Callable[[int], None] = lambda _: None
) -> list[Scored]:
    """Every case scored, in the order in which they came, at most `window` in flight; a scorer's own defect is a named failure.

    `on_step`: called with the number of cases scored so far. Ends early only by cancellation.
    """
    scored: list[Scored | None] = []
    running: dict[asyncio.Task[Scorecard], tuple[int, SummaryEntry]] = {}
    done_count = 0

    async def collect() -> None:
        nonlocal done_count
        done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            place, entry = running.pop(task)
            scored[place] = Scored(entry, task.result())
            done_count += 1
            on_step(done_count)

    try:
        for place, entry in enumerate(entries):
            while len(running) >= window:
                await collect()
            scored.append(None)
            running[asyncio.create_task(_score(scorer, entry))] = (place, entry)
        while running:
            await collect()
    finally:
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=CLOSE_S)
    return [each for each in scored if each is not None]


async def _score(scorer: Scorer[Any], entry: SummaryEntry) -> Scorecard:
    """One case; what the scorer raises is data, as it is in a worker."""
    try:
        return await scorer.score(entry.case)
    except Unavailable as error:
        failure = Failure(component=scorer.name, kind="unavailable", code=error.code)
    except Exception as error:  # noqa: BLE001 -- a defect in one case must not cost the others
        failure = Failure(component=scorer.name, kind="scorer_error", code=type(error).__name__)
    return Scorecard(label="unscored", values={}, failures=(failure,), components_missing=(scorer.name,))


async def close(scorer: Scorer[Any]) -> None:
    """Let the scorer let go of its engines, within a bound."""
    if isinstance(scorer, Closeable):
        closing = asyncio.ensure_future(scorer.close())
        await asyncio.wait({closing}, timeout=CLOSE_S)
        if not closing.done():
            closing.cancel()
        elif not closing.cancelled():
            closing.exception()  # seen: there is nobody left to tell


@dataclass(frozen=True, slots=True)
class Origin:
    """By what the cases were scored. `components`: the order in which reports name them."""

    suite_version: str
    config_digest: str
    configuration: Mapping[str, Any]
    components: Sequence[str]


def build_report(
    scored: Sequence[Scored], origin: Origin, *, errors: Sequence[LossError] = (), repeated: int = 0, worst: int = 0, generated_at: datetime
) -> LossReport:
    """The report of a batch. `worst`: how many of the highest losses to list, ties in the order of the files."""
    results = tuple(_result(each) for each in scored)
    rated = [result for result in results if LOSS in result.values]
    by_name: defaultdict[str, list[float]] = defaultdict(list)
    models: dict[str, str] = {}
    for each in scored:
        models.update(each.card.models)
        for name, value in each.card.values.items():
            by_name[name].append(value)
    names = [name for name in origin.components if name in by_name and name != LOSS]
    names += sorted(by_name.keys() - {*names, LOSS})
    labels = Counter(result.label for result in results)
    return LossReport(
        generated_at=generated_at,
        suite_version=origin.suite_version,
        config_digest=origin.config_digest,
        configuration=dict(origin.configuration),
        models=models,
        total_cases=len(results),
        scored_cases=len(rated),
        repeated_cases=repeated,
        label_distribution=LossLabels(**{name: labels[name] for name in LossLabels.model_fields}),  # type: ignore[index]  # the fields are labels
        loss=spread(by_name[LOSS]),
        components={name: LossComponent(cases=len(by_name[name]), mean=_mean(by_name[name])) for name in names},
        hard_fails=_counts(code for result in rated for code in result.rules),
        unscored=_counts(code for result in results if result.label == "unscored" for code in result.codes),
        worst=tuple(LossCase(**{name: getattr(result, name) for name in LossCase.model_fields}) for result in _worst(rated, worst)),
        results=results,
        errors=tuple(errors),
    )


def spread(losses: Sequence[float]) -> LossSpread | None:
    """Mean, bounds and percentiles; None of nothing."""
    if not losses:
        return None
    ordered = sorted(losses)
    p50, p90, p99 = (percentile(ordered, share) for share in (0.5, 0.9, 0.99))
    return LossSpread(mean=_mean(ordered), min=ordered[0], p50=p50, p90=p90, p99=p99, max=ordered[-1])


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which a share of the ascending values lies, interpolated linearly between its neighbours."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _mean(values: Sequence[float]) -> float:
    """The arithmetic mean."""
    return sum(values) / len(values)


def _counts(codes: Iterable[str]) -> dict[str, int]:
    """Codes with how often they occur, most frequent first."""
    counts = Counter(codes)
    return {code: counts[code] for code in sorted(counts, key=lambda code: (-counts[code], code))}


def _worst(rated: Sequence[LossResult], count: int) -> list[LossResult]:
    """The highest losses; sorting keeps the order of equals."""
    return sorted(rated, key=lambda result: -result.values[LOSS])[:count]


def _result(scored: Scored) -> LossResult:
    """One case as the report has it."""
    case, card = scored.entry.case, scored.card
    return LossResult(
        where=scored.entry.where,
        event_id=scored.entry.event_id,
        case_id=case.case_id,
        category=_text(card.attributes.get("category")) or (case.datum.entry.category if case.datum else None),
        model=case.model,
        label=card.label,
        values=card.values,
        findings=card.findings,
        failures=card.failures,
        components_missing=card.components_missing,
        not_checked=card.not_checked,
        details=card.details,
    )


def _text(value: object) -> str | None:
    """An attribute that is a text."""
    return value if isinstance(value, str) else None
