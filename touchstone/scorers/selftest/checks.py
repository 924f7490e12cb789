"""Fixed checks of an answer: the number of its questions, and the number of lines that the request asked for. They make findings, never scores."""

import re
from typing import Final

from touchstone.schemas.reports.selftest import SelftestFinding
from touchstone.scorers.selftest.settings import SelftestSettings
from touchstone.scorers.selftest.system_settings import AWAITING

_NUMBERS: Final = {word: number for number, word in enumerate(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), 1)}
_COUNT: Final = rf"(\d{{1,2}}|{'|'.join(_NUMBERS)})"
_ASKED: Final = re.compile(
    rf"\b(?P<most>at most |up to |no more than |maximum )?(?:exactly |in |of )*{_COUNT}[ -](?:short |plain |brief |concise )?"
    r"(?P<what>lines?|bullet points?|bullets?|sentences?)\b",
    re.IGNORECASE,
)
_BULLET: Final = re.compile(r"^\s*(?:[-*•–]|\d+[.)])\s+\S")
_CODE: Final = re.compile(r"```.*?```|`[^`\n]*`|https?://\S+", re.DOTALL)


def check(settings: SelftestSettings, prompt: str, output: str, status: str) -> tuple[SelftestFinding, ...]:
    """All findings on one answer. `prompt`: the request, which may ask for a number of lines."""
    found = []
    questions = count_questions(output)
    if status == AWAITING and questions > settings.max_questions_allowed:
        told = f"asks {questions} questions; {settings.max_questions_allowed} are allowed"
        found.append(SelftestFinding(severity="major", code="too_many_questions", message=told))
    if status == AWAITING and questions == 0:
        found.append(SelftestFinding(severity="minor", code="no_question", message="waits for a reply without asking anything"))
    if status != AWAITING and (finding := _length(settings, prompt, output)) is not None:
        found.append(finding)
    return tuple(found)


def count_questions(output: str) -> int:
    """The number of questions in a text: runs of question marks, except in code and addresses."""
    return len(re.findall(r"[?？؟][?!？؟]*(?=[\s\"'”’»)\]*_]|$)", _CODE.sub(" ", output)))


def _length(settings: SelftestSettings, prompt: str, output: str) -> SelftestFinding | None:
    """A finding if the request asked for a number of lines, bullets or sentences and the answer has another."""
    asked = _ASKED.search(prompt)
    if asked is None:
        return None
    number = asked[2].lower()
    wanted = _NUMBERS.get(number) or int(number)
    kind = asked["what"].lower()
    kind = "sentence" if kind.startswith("sentence") else "bullet" if kind.startswith("bullet") else "line"
    got = _counted(kind, output)
    off = max(0, got - wanted) if asked["most"] else abs(got - wanted)
    if not off or (off == 1 and settings.allow_minor_format_deviation):
        return None
    severity = "minor" if off == 1 else "major"
    return SelftestFinding(severity=severity, code="format_deviation", message=f"{wanted} {kind}{'s' if wanted != 1 else ''} asked for, {got} given")


def _counted(kind: str, output: str) -> int:
    """The number of lines with text, list items, or sentences."""
    lines = [line for line in output.splitlines() if line.strip() and not line.strip().startswith("```")]
    if kind == "line":
        return len(lines)
    if kind == "bullet":
        return sum(1 for line in lines if _BULLET.match(line))
    return len(re.findall(r"[.!?]+(?=[\s\"'”’»)\]]|$)", _CODE.sub(" ", output))) or (1 if output.strip() else 0)


def check_format_score(settings: SelftestSettings, score: float) -> tuple[SelftestFinding, ...]:
    """A finding if the judge saw a deviation of format and the settings allow none."""
    if settings.allow_minor_format_deviation or score >= 1:
        return ()
    return (SelftestFinding(severity="minor", code="format_deviation", message=f"format_score is {score:.2f}; no deviation is allowed"),)
