"""The form of a judge's answer to one question of failure."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from touchstone.scorers.judges.ask.verdict_fields import LOWER, RATIONALE_CHARS_MAX, WORDS_CHARS_MAX, VerdictPart, cut_text


class ModeVerdict(VerdictPart):
    """The verdict on one trace."""

    critique: Annotated[str, cut_text(RATIONALE_CHARS_MAX)] = Field(
        "", description="what the verdict rests on, in one to three sentences about what is in the record; written before the verdict"
    )
    where: Annotated[str, cut_text(WORDS_CHARS_MAX)] = Field("", description="where it shows: prompt, persona or the name of the document; empty for a pass")
    verdict: Annotated[Literal["pass", "fail"], LOWER] = Field(description="fail: the record has the fault that is asked about; pass: it does not")
