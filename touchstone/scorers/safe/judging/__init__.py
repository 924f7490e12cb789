"""The judge of SAFE v0, which adds findings to AH and changes no score: whether follow-up questions blame or harm beyond the listed terms (§9)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from touchstone.scorers.judges.ask.prompt import load_prompt

if TYPE_CHECKING:
    from touchstone.scorers.judges.ask.judge import Prompt

#: The component of a failure, and the check of what was not judged.
CHECK: Final = "ah_judge"
#: Codes of its findings.
BLAME: Final = "ah_judge_blame"
HARM: Final = "ah_judge_harm"
CODES: Final = (BLAME, HARM)


@cache
def prompt() -> Prompt:
    """The judge's instructions. Raises `ConfigError` where the installation is damaged."""
    return load_prompt(__name__, "harm")
