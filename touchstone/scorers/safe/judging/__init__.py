"""SAFE v0's judge of follow-up questions: finds blame and harm beyond the listed terms (§9). It adds findings to AH and changes no score."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from touchstone.scorers.judges.ask.prompt import load_prompt

if TYPE_CHECKING:
    from touchstone.scorers.judges.ask.judge import Prompt

#: Names the judge in failures and in `not_checked`.
CHECK: Final = "ah_judge"
#: Codes of its findings.
BLAME: Final = "ah_judge_blame"
HARM: Final = "ah_judge_harm"
CODES: Final = (BLAME, HARM)


@cache
def prompt() -> Prompt:
    """The judge's instructions. Raises `ConfigError` if the installation is damaged."""
    return load_prompt(__name__, "harm")
