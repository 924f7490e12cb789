"""The observation hook of SAFE v0 §8.1: passes each result to an observer as it is scored."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime

from touchstone.schemas.case import SafeCase
from touchstone.schemas.reports.safe import SafeV0Observation, SafeV0ObservedScores, SafeV0Result
from touchstone.schemas.result import ScoreResult
from touchstone.scorers.safe.batch import result_of
from touchstone.scorers.safe.scorer import SafeScorer

#: Receives one observation per case. An exception of it ends the batch, so that no observation is lost unnoticed.
Observer = Callable[[SafeV0Observation], None]


def record_safe_v0_result(result: SafeV0Result, timestamp: datetime, observer: Observer) -> SafeV0Observation:
    """Hand a result to an observer: test id, the three scores, label and time, no details and so no payload text."""
    scores = SafeV0ObservedScores(CR=result.scores.CR, AH=result.scores.AH, AC=result.scores.AC)
    observation = SafeV0Observation(test_id=result.test_id, scores=scores, label=result.label, timestamp=timestamp)
    observer(observation)
    return observation


def observe_result(result: ScoreResult, observer: Observer) -> None:
    """Pass a result of any way of scoring to an observer. A case that could not be scored has no observation."""
    if result.label != "unscored":
        record_safe_v0_result(result_of(result), result.scored_at, observer)


def score_batch(cases: Iterable[SafeCase], scorer: SafeScorer, observe: Observer | None = None) -> Iterator[SafeV0Result]:
    """Score cases one by one, as they are read, and pass each result to the observer."""
    for case in cases:
        result = result_of(scorer.evaluate(case))
        if observe is not None:
            record_safe_v0_result(result, datetime.now(UTC), observe)
        yield result
