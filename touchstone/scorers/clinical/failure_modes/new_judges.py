"""What a new judge begins with: the prompt, and how an example shows a trace."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from touchstone.schemas.case import Case
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.clinical.failure_modes.judge_folders import check_name
from touchstone.scorers.clinical.failure_modes.judging.shown import text_of
from touchstone.scorers.clinical.failure_modes.questions import QUESTIONS
from touchstone.scorers.clinical.failure_modes.settings import ModeJudgesSettings

#: An example is shorter than the record that is judged: a prompt has several.
EXAMPLE_BOUNDS: Final = ModeJudgesSettings(prompt_chars_max=1_000, persona_chars_max=3_000, outputs_chars_max=4_000)


def prompt_text() -> str:
    """The prompt that every new judge gets."""
    return files("touchstone.scorers.clinical.failure_modes.judging").joinpath("prompts", "mode.md").read_text(encoding="utf-8")


def example_text(case: Case) -> str | None:
    """A case as an example shows it; None for one that is no trace."""
    return text_of(case, EXAMPLE_BOUNDS) if isinstance(case, ProductionTrace) else None


def check_new_name(name: str) -> None:
    """Refuse a name that no judge can have. Raises `ConfigError`."""
    check_name(name, frozenset(QUESTIONS), name)


def question_of(category: str, description: str) -> str:
    """The question about a category: its description, if that is one, else by its name."""
    words = " ".join(description.split())
    first = words.partition("?")[0]
    return f"{first}?" if "?" in words and len(first) < 300 else f"Does the record have this fault: {category.replace('_', ' ')}?"
