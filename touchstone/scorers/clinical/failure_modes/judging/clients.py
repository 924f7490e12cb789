"""The clients of the judges: one for each model that is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.failure_modes.judge_folders import ModeJudge
from touchstone.scorers.clinical.failure_modes.judging.standing import settings_of
from touchstone.scorers.clinical.failure_modes.settings import NAME
from touchstone.scorers.judges.settings import JudgeSettings

if TYPE_CHECKING:
    from touchstone.scorers.judges.ask.judge import Judge


def open_clients(judges: Sequence[ModeJudge], settings: JudgeSettings) -> Mapping[str, Judge]:
    """Name of the judge → client; empty if the settings ask no judge. Raises `ConfigError`."""
    if not settings.is_usable:
        return {}
    by_judge = {one.name: settings_of(one, settings) for one in judges}
    if (
        settings.budget_usd is not None
        and settings.budget_period == "run"
        and settings.budget_file is None
        and len({one.model for one in by_judge.values()}) > 1
    ):
        raise ConfigError(f"{NAME}: judges name several models, which share a budget of a run only through judge.budget_file; set it, or another budget_period")
    from touchstone.scorers.judges.serve import open_judge

    clients: dict[str, Judge] = {}
    for one in by_judge.values():
        if one.model not in clients:
            clients[one.model] = open_judge(one, suite=NAME)
    return {name: clients[one.model] for name, one in by_judge.items()}
