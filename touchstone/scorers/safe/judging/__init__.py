"""The judge of SAFE v0, which adds findings to AH and changes no score: whether follow-up questions blame or harm beyond the listed terms (§9)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from touchstone.scorers.judges.ask.prompt import load_prompt
from touchstone.scorers.judges.settings import fingerprint as judge_fingerprint

if TYPE_CHECKING:
    from touchstone.scorers.judges.ask.judge import Prompt
    from touchstone.scorers.safe.settings import SafeSettings

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


def fingerprint(settings: SafeSettings) -> dict[str, Any]:
    """The part of the settings that changes what the judge finds."""
    return {
        "sampleRate": settings.ah_judge_sample_rate,
        "charsMax": settings.ah_judge_chars_max,
        "judge": judge_fingerprint(settings.judge, [prompt()]) if settings.judge.is_usable else None,
    }


def notes(settings: SafeSettings) -> Iterator[str]:
    """Whether there is a judge, and which."""
    if settings.ah_judge:
        yield f"judge: {settings.judge.model}" if settings.judge.is_usable else f"no follow-up question is judged: {settings.judge.why_unusable}"
