"""The settings of SAFE v0 that are part of a configuration's digest."""

from typing import Any

from touchstone.scorers.judges.settings import fingerprint as judge_fingerprint
from touchstone.scorers.safe.judging import prompt
from touchstone.scorers.safe.settings import SafeSettings


def fingerprint(settings: SafeSettings) -> dict[str, Any]:
    """The settings that change scores, labels and findings: no report directory, format or quoting, and no judge while it is off."""
    own = settings.model_dump(mode="json", by_alias=True, include={"thresholds", "weights", "strict_ah", "archetypes"})
    if not settings.ah_judge:
        return own
    judge = {
        "sampleRate": settings.ah_judge_sample_rate,
        "charsMax": settings.ah_judge_chars_max,
        "judge": judge_fingerprint(settings.judge, [prompt()]) if settings.judge.is_usable else None,
    }
    return {**own, "ahJudge": judge}
