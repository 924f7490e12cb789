"""The settings of the suite `failure_modes` that are part of a configuration's digest, with what its judges' folders hold."""

from __future__ import annotations

from typing import Any

from touchstone.scorers.clinical.failure_modes.judge_folders import load_judges
from touchstone.scorers.clinical.failure_modes.judging.standing import demoted, settings_of, shown_fingerprint, standings
from touchstone.scorers.clinical.failure_modes.questions import QUESTIONS
from touchstone.scorers.clinical.failure_modes.settings import FailureModeSettings
from touchstone.scorers.judges.settings import fingerprint as judge_fingerprint


def fingerprint(settings: FailureModeSettings) -> dict[str, Any]:
    """The settings that change scores and labels, every judge with prompt, examples and model, and whether each may decide. Raises `ConfigError`."""
    root = settings.judges.folder
    own: dict[str, Any] = {"shadow": sorted({*settings.shadow, *demoted(QUESTIONS, root)})}
    judges = standings(load_judges(root, frozenset(QUESTIONS), settings.judges.only), settings)
    if not judges:
        return own
    asked = {
        one.judge.name: {"prompt": one.judge.digest, "model": settings_of(one.judge, settings.judge).model, "decides": one.status().decides} for one in judges
    }
    judge = judge_fingerprint(settings.judge) if settings.judge.is_usable else None
    return {**own, "judges": asked, "judge": judge, "sampleRate": settings.judges.sample_rate, "shown": dict(shown_fingerprint(settings))}
