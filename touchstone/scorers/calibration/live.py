"""The live rate of failures of a subject, from counts of a window and its calibration."""

from collections.abc import Mapping
from typing import Any

from touchstone.schemas.calibration import Calibration
from touchstone.schemas.prevalence import LivePrevalence, Seen, Window
from touchstone.scorers.calibration.folder import DECIDING, recalls_of, suite_judge
from touchstone.scorers.calibration.prevalence import UncorrectableError, corrected
from touchstone.scorers.reporting.intervals import Rate


def suite_and_value(subject: str) -> tuple[str, str | None]:
    """The suite that a subject belongs to, and the value of its results that is the subject's answer; None: their label is."""
    suite, _, value = subject.partition("/")
    return suite, value or None


def answered_by(subject: str, way: tuple[str, str], details: Mapping[str, Any]) -> dict[str, str | None]:
    """Who answered for a subject in a result: the parts of its basis that the result tells. For a suite's label, that is its version and configuration.

    `way`: version and configuration digest of its suite.
    """
    _, value = suite_and_value(subject)
    judges = details.get("judges")
    told = judges.get(value) if value is not None and isinstance(judges, Mapping) else None
    if not isinstance(told, Mapping) or not isinstance(told.get("judge"), str):
        code = details.get("code_digest")
        return {"judge": code if value is not None and isinstance(code, str) else suite_judge(*way)}
    return {name: said for name in DECIDING if isinstance(said := told.get(name), str)}


def live_prevalence(calibration: Calibration, seen: Rate, window: Window, *, others: int = 0, stale: tuple[str, ...] = ()) -> LivePrevalence:
    """The corrected rate; or the reason why there is none."""
    known = {
        "subject": calibration.subject,
        "window": window,
        "seen": Seen(count=seen.count, total=seen.total),
        "others": others,
        "calibration_at": calibration.at,
        "stale": stale,
    }
    if not seen.total:
        why = "in this window no result is of the judge that was measured" if others else "the judge has judged no case in this window"
        return LivePrevalence(**known, refused=why)
    if calibration.test is None:
        return LivePrevalence(**known, refused="the test set was never read; run touchstone judges calibrate")
    try:
        rate = corrected(seen, recalls_of(calibration.test))
    except UncorrectableError as error:
        return LivePrevalence(**known, refused=str(error))
    return LivePrevalence(**known, corrected=rate.corrected, low=rate.interval.low, high=rate.interval.high)
