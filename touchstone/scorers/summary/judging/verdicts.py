"""The form of the judge's answer: evidence and verdict for each statement."""

from typing import Annotated, Final

from pydantic import Field

from touchstone.scorers.judges.ask.verdict_fields import LOWER, UPPER, VerdictPart, cut_list, cut_text, each_once
from touchstone.scorers.summary.components.rulings import Word

#: Bounds of an answer; the settings ask of fewer statements.
STATEMENTS_MAX: Final = 2_000
ID_CHARS_MAX: Final = 40


class StatementVerdict(VerdictPart):
    """One statement."""

    id: Annotated[str, cut_text(ID_CHARS_MAX), UPPER] = Field(description="as it is in the list of statements to judge: F3, S2")
    evidence: Annotated[str, cut_text(ID_CHARS_MAX)] = Field("", description="id of the one statement that decides; empty where there is none")
    verdict: Annotated[Word, LOWER] = Field(description="supported, contradicted or absent")


class StatementVerdicts(VerdictPart):
    """One verdict for each statement of the list, in its order."""

    statements: Annotated[tuple[StatementVerdict, ...], cut_list(STATEMENTS_MAX), each_once("id")] = Field(
        description="one for each id of the list, in its order"
    )
