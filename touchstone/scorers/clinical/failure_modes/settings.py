"""The settings of the suite `failure_modes`, and how they are merged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from touchstone.schemas.settings.house import Section
from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.failure_modes.judge_folders import check_name, judge_folders
from touchstone.scorers.clinical.failure_modes.questions import QUESTIONS
from touchstone.scorers.clinical.settings import Chars, _a_list
from touchstone.scorers.judges.ask.judge import OnBudget
from touchstone.scorers.judges.settings import JudgeSettings, Share, resolver
from touchstone.scorers.settings import Key, variables

NAME = "failure_modes"
VERSION = "0.1"
DOCUMENT_NAME = "failure_modes.config.json"
ENV_PREFIX = "FAILURE_MODES_"
#: Shared by all commands that read judges' folders.
FOLDER_VARIABLE = "TOUCHSTONE_JUDGES_FOLDER"


class ModeJudgesSettings(Section):
    """The judges of the user's own questions, which are folders, and what they are shown of a trace."""

    folder: Path = Field(Path("judges"), description="of judges: each is a folder in it with prompt.md and judge.toml; without any, code alone is asked")
    only: Annotated[tuple[str, ...], BeforeValidator(_a_list)] = Field((), description="names of the judges that are asked; none: all of them")
    sample_rate: Share = Field(1.0, description="share of the traces that judges are asked about, chosen by a hash of the event's id: always the same ones")
    prompt_chars_max: Chars = Field(4_000, description="characters of the trace's prompt that a judge is shown")
    persona_chars_max: Chars = Field(12_000, description="characters of the persona")
    outputs_chars_max: Chars = Field(40_000, description="characters of all documents together")
    on_budget: OnBudget = Field("wait", description="live, with the budget spent: wait until its next period, or give the event the outcome shed(budget)")


class FailureModeSettings(Section):
    """All settings. Names are those of the modes and of the judges."""

    shadow: Annotated[tuple[str, ...], BeforeValidator(_a_list)] = Field((), description="modes that are asked and counted, and never decide a label")
    judges: ModeJudgesSettings = ModeJudgesSettings()
    judge: JudgeSettings = JudgeSettings()
    quote: bool = Field(False, description="findings say what was expected, and judges' words are kept, which tell of the patient")

    @model_validator(mode="after")
    def _known(self) -> Self:
        if unknown := sorted(set(self.shadow) - set(QUESTIONS)):
            unknown = sorted(set(unknown) - set(judge_names(self)))
        if unknown:
            known = [*QUESTIONS, *judge_names(self)]
            raise ValueError(f"shadow: there is no failure mode {', '.join(unknown)}; there are {', '.join(known)}")
        return self


def judge_names(settings: FailureModeSettings) -> tuple[str, ...]:
    """The names of the judges in the folder; none if it cannot be read, which `build` reports."""
    try:
        paths = list(judge_folders(settings.judges.folder))
        for path in paths:
            check_name(path.name, frozenset(QUESTIONS), str(path))
    except ConfigError:
        return ()
    only = settings.judges.only
    return tuple(path.name for path in paths if not only or path.name in only)


def _variables() -> dict[str, Key]:
    return {FOLDER_VARIABLE: ("judges", "folder"), **variables(FailureModeSettings, ENV_PREFIX)}


resolve = resolver(FailureModeSettings, ENV_PREFIX, DOCUMENT_NAME, _variables(), asks=lambda settings: bool(judge_names(settings)))
