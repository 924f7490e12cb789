"""The settings of the suite `failure_modes`, and how they are merged."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, field_validator

from touchstone.schemas.settings.house import Section
from touchstone.scorers.clinical.failure_modes.modes import MODES
from touchstone.scorers.clinical.settings import _a_list
from touchstone.scorers.settings import Resolver

NAME = "failure_modes"
VERSION = "0.1"
DOCUMENT_NAME = "failure_modes.config.json"
ENV_PREFIX = "FAILURE_MODES_"


class FailureModeSettings(Section):
    """All settings. Names are those of the modes."""

    shadow: Annotated[tuple[str, ...], BeforeValidator(_a_list)] = Field((), description="modes that are asked and counted, and never decide a label")
    quote: bool = Field(False, description="findings say what was expected, which tells of the patient's conditions and drugs")

    @field_validator("shadow")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := sorted(set(names) - set(MODES)):
            raise ValueError(f"there is no failure mode {', '.join(unknown)}; there are {', '.join(MODES)}")
        return tuple(sorted(set(names)))


def fingerprint(settings: FailureModeSettings) -> dict[str, Any]:
    """The settings that change scores."""
    return {"shadow": list(settings.shadow)}


resolve = Resolver(FailureModeSettings, ENV_PREFIX, DOCUMENT_NAME)
