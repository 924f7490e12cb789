"""Chooses what groups notes on this machine: a judge, embeddings, or words."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from pydantic import Field

from touchstone.ops.reviews.proposing import Grouping, by_embeddings, by_judge, by_words
from touchstone.schemas.settings.engines import EngineSettings
from touchstone.schemas.settings.house import Section
from touchstone.scorers.base import ConfigError
from touchstone.scorers.judges.settings import PREFIX, JudgeSettings, resolver

if TYPE_CHECKING:
    from touchstone.ops.reviews.asking import Grouped, Known

#: As whose budget and name the judge is asked.
ASKED_AS: Final = "errors"


class _JudgeSection(Section):
    """The connection to the model, from the environment alone."""

    judge: JudgeSettings = Field(default_factory=JudgeSettings)


def grouping_for(by: str, similarity: float | None, tell: Callable[[str], None]) -> Grouping:
    """What groups the notes. `by`: judge, embeddings, words, or auto. `tell`: says in a line what is used. Raises `ConfigError` if it cannot be used."""
    if by in {"judge", "auto"}:
        settings = resolver(_JudgeSection, PREFIX, "the environment", {})(os.environ, None).judge
        if by == "judge" and (why := settings.why_unusable):
            raise ConfigError(f"{why}; or group without a judge: --by embeddings")
        if settings.is_usable:
            return _judging(settings, tell)
    if by == "words":
        return by_words(similarity)
    embedding = by_embeddings(EngineSettings(), similarity)
    return embedding if by == "embeddings" else _else_words(embedding, similarity, tell)


def _judging(settings: JudgeSettings, tell: Callable[[str], None]) -> Grouping:
    from touchstone.scorers.judges.serve import open_judge

    def grouped(notes: Sequence[str], known: Mapping[str, Known]) -> tuple[Grouped, str]:
        judge = open_judge(settings, suite=ASKED_AS)
        tell(f"{len(notes)} notes go to {settings.model} at {urlsplit(settings.base_url).hostname}; --by embeddings keeps them on this machine")
        return by_judge(judge)(notes, known)

    return grouped


def _else_words(embedding: Grouping, similarity: float | None, tell: Callable[[str], None]) -> Grouping:
    """By embeddings, or, where their model is not installed, by words."""

    def grouped(notes: Sequence[str], known: Mapping[str, Known]) -> tuple[Grouped, str]:
        try:
            return embedding(notes, known)
        except ConfigError as error:
            tell(f"grouped by shared words, which is coarser: {error}")
            return by_words(similarity)(notes, known)

    return grouped
