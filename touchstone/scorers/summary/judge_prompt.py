"""The judge's instructions for summaries."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from touchstone.scorers.judges.ask.prompt import load_prompt

if TYPE_CHECKING:
    from touchstone.scorers.judges.ask.judge import Prompt


@cache
def prompt() -> Prompt:
    """The judge's instructions. Raises `ConfigError` where the installation is damaged."""
    return load_prompt("touchstone.scorers.summary.judging", "statements")
