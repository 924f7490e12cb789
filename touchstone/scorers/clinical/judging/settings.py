"""Settings of the clinical judge: the model, the validators, and what to do when the budget is spent."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import Field

from touchstone.schemas.settings.house import Section
from touchstone.scorers.clinical import settings as clinical
from touchstone.scorers.judges.ask.judge import OnBudget, Prompt
from touchstone.scorers.judges.ask.prompt import load_prompt
from touchstone.scorers.judges.settings import JudgeSettings, resolver
from touchstone.scorers.judges.settings import fingerprint as judge_fingerprint
from touchstone.scorers.settings import Key, variables

DOCUMENT_NAME = "clinical-judge.config.json"
#: Not CLINICAL_JUDGE_, which the validators would read as theirs.
ENV_PREFIX = "COHERENCE_"


class CoherenceSettings(Section):
    """All settings. `validators`: as in clinical.config.json; their variables are those of the suite `clinical`."""

    judge: JudgeSettings = JudgeSettings()
    validators: clinical.ClinicalSettings = clinical.ClinicalSettings()
    on_budget: OnBudget = Field("wait", description="live, with the budget spent: wait until its next period, or give the request the outcome shed(budget)")
    quote: bool = Field(False, description="results hold the judge's own words, which quote the patient")


def _variables() -> dict[str, Key]:
    """The suite's own variables, and those of the validators under their usual names."""
    own = {name: key for name, key in variables(CoherenceSettings, ENV_PREFIX).items() if key[0] != "validators"}
    return {**{name: ("validators", *key) for name, key in clinical.VARIABLES.items()}, **own}


resolve = resolver(CoherenceSettings, ENV_PREFIX, DOCUMENT_NAME, _variables())


@cache
def prompt() -> Prompt:
    """The judge's instructions and rubric. Raises `ConfigError` if the installation is damaged."""
    return load_prompt("touchstone.scorers.clinical.judging", "coherence")


def fingerprint(settings: CoherenceSettings) -> dict[str, Any]:
    """The settings that change scores: the validators', the choice of traces and what is shown of them, the model, and the prompt."""
    return {
        "validators": clinical.fingerprint(settings.validators),
        "asks": settings.validators.judge.model_dump(mode="json", exclude={"requests"}),
        "judge": judge_fingerprint(settings.judge, [prompt()]) if settings.judge.is_usable else None,
    }
