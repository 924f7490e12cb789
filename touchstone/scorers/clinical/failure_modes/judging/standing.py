"""What each judge may do: whether it decides labels or runs in the shadow, by its folder, the settings, and the model that answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from touchstone.schemas.calibration import Basis, Calibration, Decision
from touchstone.scorers.calibration.folder import Status, read_calibration, read_history, status
from touchstone.scorers.clinical.failure_modes.judge_folders import ModeJudge
from touchstone.scorers.clinical.failure_modes.judging.verdicts import ModeVerdict
from touchstone.scorers.clinical.failure_modes.knowledge import table
from touchstone.scorers.clinical.failure_modes.settings import NAME, VERSION, FailureModeSettings
from touchstone.scorers.identity import config_digest
from touchstone.scorers.judges.settings import JudgeSettings
from touchstone.scorers.judges.settings import fingerprint as judge_fingerprint

#: Labels and the guideline are not known while a trace is scored; a basis with an empty part is not compared in it.
_UNKNOWN = ""


@dataclass(frozen=True, slots=True)
class Standing:
    """A judge with what is known of it. `judge_digest`: of the settings that change its verdicts, without prompt and model."""

    judge: ModeJudge
    judge_digest: str
    calibration: Calibration | None
    history: tuple[Decision, ...]
    is_shadowed: bool

    def status(self, model: str | None = None) -> Status:
        """What it may do. `model`: the one that answered, as the server names it; without it the model is not compared."""
        if self.is_shadowed:
            return Status("shadow", decides=False, reasons=("the settings put it in the shadow",))
        return status(self.calibration, self.history, Basis(judge=self.judge_digest, prompt=self.judge.digest, model=model, labels=_UNKNOWN))


def standings(judges: Iterable[ModeJudge], settings: FailureModeSettings) -> tuple[Standing, ...]:
    """The standing of each judge. Raises `ConfigError` for a folder that is damaged."""
    root = settings.judges.folder
    return tuple(
        Standing(one, judge_digest(settings), read_calibration(root, subject(one.name)), read_history(root, subject(one.name)), one.name in settings.shadow)
        for one in judges
    )


def demoted(names: Iterable[str], root: Path) -> tuple[str, ...]:
    """The modes answered by code that people have put in the shadow. Raises `ConfigError`."""
    unknown = Basis(judge=_UNKNOWN, labels=_UNKNOWN)
    return tuple(name for name in names if not status(read_calibration(root, subject(name)), read_history(root, subject(name)), unknown).decides)


def subject(name: str) -> str:
    """How calibrations name a mode."""
    return f"{NAME}/{name}"


def settings_of(judge: ModeJudge, settings: JudgeSettings) -> JudgeSettings:
    """The settings that a judge is asked with. The price of the settings' model is not that of another."""
    model = judge.about.model
    return settings if model is None or model == settings.model else settings.model_copy(update={"model": model, "price": None})


def judge_digest(settings: FailureModeSettings) -> str:
    """A digest of what changes verdicts besides prompt and model: how the model is asked, in which form, and how much it is shown."""
    asked: dict[str, Any] = {name: value for name, value in judge_fingerprint(settings.judge).items() if name not in {"model", "prompts"}}
    return config_digest({"judge": asked, "form": ModeVerdict.model_json_schema(), "shown": shown_fingerprint(settings)})


@cache
def code_digest() -> str:
    """A digest of what the modes of code decide by: their version, and the table."""
    return config_digest({"version": VERSION, "table": table()})


def shown_fingerprint(settings: FailureModeSettings) -> Mapping[str, int]:
    """How much a judge is shown of a trace."""
    bounds = settings.judges
    return {"prompt": bounds.prompt_chars_max, "persona": bounds.persona_chars_max, "outputs": bounds.outputs_chars_max}
