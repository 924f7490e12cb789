"""Requests written by a model: one per scenario, read from `PROMPT:` and `HINTS:`, and screened before they are used."""

import json
import random
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from touchstone.scorers.judges.ask.judge import Judge, Prompt, Unanswered
from touchstone.scorers.selftest.safety import danger
from touchstone.scorers.selftest.settings import Scenario
from touchstone.scorers.selftest.system import writable

PROMPT_CHARS_MAX: Final = 4_000
HINTS_CHARS_MAX: Final = 4_000
#: The parts of an answer: a label, alone or with markdown around it, at the start of a line.
_LABEL: Final = re.compile(
    r"^[^\S\n]*(?:[>#*_`-]+[^\S\n]*)*(?:\d+[.)][^\S\n]*)?[*_`]*(?P<label>prompt|hints?)[*_`]*[^\S\n]*[:：](?:[*_`]+(?=\s|$))?[^\S\n]*",
    re.IGNORECASE | re.MULTILINE,
)
#: The blanks before a part in the middle of a line, where its label must be in capitals. A list mark or number does not count as text before it.
_INSIDE: Final = re.compile(r"(?<=[^\s>#*_`-])(?<!^\d[.)])[^\S\n]+(?=[*_`]*(?:PROMPT|HINTS)[*_`]*:)", re.MULTILINE)
_FENCE: Final = re.compile(r"^[^\S\n]*(?:```|~~~)[\w-]*[^\S\n]*$", re.MULTILINE)
_QUOTES: Final = {'"': '"', "'": "'", "“": "”", "«": "»", "`": "`"}
#: Instructions to the generator for the specification's scenarios; the first two are the specification's words.
INSTRUCTIONS: Final[dict[str, str]] = {
    "ambiguous_request": (
        "- Is intentionally vague about requirements\n- Could be interpreted multiple ways\n- Should trigger clarifying questions from the system\n"
        "- Is safe (no file modifications, no external calls)"
    ),
    "clear_summary": (
        '- Asks for a specific, bounded summary\n- Has clear format requirements (e.g., "3 lines")\n- Should be answerable without clarification\n'
        "- Is safe (read-only operation)"
    ),
    "evidence_restriction": (
        "- Names the only evidence that may be used (for example one document or one section)\n- Asks for an answer with the passage that it rests on\n"
        "- Says what to answer where the evidence does not tell\n- Is safe (read-only operation)"
    ),
    "docs_reorganization": (
        "- Asks for a proposal of how documentation could be reorganized\n"
        "- Leaves one decision to the user, such as flat or nested structure, so that the system should ask\n"
        "- Says that nothing may be changed\n- Is safe (proposal only, no file modifications)"
    ),
    "contradiction_detect": (
        "- Gives two or three short statements in its own text, which contradict each other or do not\n- Asks which of them contradict each other, and why\n"
        "- Should be answerable from the statements alone\n- Is safe (read-only operation)"
    ),
}
_GENERIC: Final = (
    "- Fits the kind of request\n- Should make the system end with the status named below\n"
    "- Is safe (read-only: no file modifications, no commands, no external calls)"
)
TOPICS: Final = (
    "documentation organization", "code review criteria", "project structure", "release notes", "an onboarding guide", "naming conventions",
    "a testing approach", "a glossary", "meeting notes", "a style guide", "a list of frequently asked questions",
    "error messages", "an architecture overview", "a roadmap",
)  # fmt: skip


class Written(BaseModel):
    """The generator's answer: both parts in one text."""

    model_config = ConfigDict(extra="ignore")

    text: str = Field(description="Two parts. PROMPT: <the request> and, on a new line, HINTS: <what a judge should look for>", max_length=20_000)


@dataclass(frozen=True, slots=True)
class Request:
    """A request that may be sent. `hints`: what the judge should look for. `refused`: why each request before it was refused."""

    prompt: str
    hints: str
    refused: tuple[str, ...] = ()
    attempts: int = 0


class NoRequest(Exception):
    """The generator gave no request that may be sent.

    `code`: `generator_unsafe` (the last one was dangerous), `generator_unreadable` (no PROMPT and HINTS), or `generator_` and the reason of `Unanswered`.
    `refused`: why each attempt was refused.
    """

    def __init__(self, code: str, refused: tuple[str, ...]) -> None:
        super().__init__(code)
        self.code = code
        self.refused = refused


class Generator:
    """Asks a model for requests, and again if one is refused. The same seed asks the same questions."""

    def __init__(self, model: Judge, prompt: Prompt, *, attempts_max: int, seed: int) -> None:
        self._model, self._prompt, self._attempts_max, self._seed = model, prompt, attempts_max, seed

    async def write(self, scenario: Scenario) -> Request:
        """A request for a scenario. Raises `NoRequest`, `Unavailable` and `OverBudget`."""
        refused: list[str] = []
        code = "generator_unreadable"
        for attempt in range(1, self._attempts_max + 1):
            try:
                answer = await self._model.ask(self._prompt, self._fields(scenario, attempt, refused), Written)
            except Unanswered as error:
                code = f"generator_{error.code}"
                refused.append(error.code)
                continue
            request = parsed(answer.verdict.text)
            if request is None:
                code = "generator_unreadable"
                refused.append("unreadable: PROMPT: or HINTS: was missing, empty or too long")
            elif (rule := danger(request.prompt)) is not None:
                code = "generator_unsafe"
                refused.append(f"unsafe: {rule}")
            else:
                return Request(request.prompt, request.hints, tuple(refused), attempt)
        raise NoRequest(code, tuple(refused))

    def _fields(self, scenario: Scenario, attempt: int, refused: list[str]) -> dict[str, str]:
        """The fields of the prompt. The variation differs between attempts; otherwise a cache would give the same answer again."""
        chance = random.Random(f"{self._seed}:{scenario.id}:{attempt}")  # noqa: S311  # a choice of topics, no secret
        return {
            "description": scenario.description,
            "instructions": scenario.instructions or INSTRUCTIONS.get(scenario.id, _GENERIC),
            "expected_status": scenario.expected_status,
            "topic": chance.choice(TOPICS),
            "variation": f"{self._seed}.{attempt}",
            "refused": "\n".join(f"- {why}" for why in refused) or "none",
        }


def parsed(said: str) -> Request | None:
    """The last request of an answer that has both parts; None if there is none. Markdown around the labels and quotes around a part are dropped."""
    text = writable(said)
    if (request := _of_json(text)) is not None:
        return request
    plain = _INSIDE.sub("\n", _FENCE.sub("", text))
    labels = list(_LABEL.finditer(plain))
    ends = [label.start() for label in labels[1:]] + [len(plain)]
    parts = [(label["label"].casefold().rstrip("s"), _bare(plain[label.end() : end])) for label, end in zip(labels, ends, strict=False)]
    found = None
    for (first, prompt), (second, hints) in pairwise(parts):
        if (first, second) == ("prompt", "hint"):
            found = _request(prompt, hints) or found
    return found


def _of_json(text: str) -> Request | None:
    """A request from a model that answers in JSON although it was asked for text."""
    inner = _FENCE.sub("", text).strip()
    if not inner.startswith("{"):
        return None
    try:
        document = json.loads(inner)
    except (ValueError, RecursionError):
        return None
    by_name = {str(name).casefold(): value for name, value in document.items()} if isinstance(document, dict) else {}
    prompt, hints = by_name.get("prompt"), by_name.get("hints", by_name.get("hint"))
    if isinstance(hints, list):
        hints = "\n".join(str(hint) for hint in hints)
    return _request(prompt, hints) if isinstance(prompt, str) and isinstance(hints, str) else None


def _request(prompt: str, hints: str) -> Request | None:
    """A request from its two parts; None if one is empty, too long, or the example of the instructions."""
    prompt, hints = _bare(prompt), _bare(hints)
    usable = 0 < len(prompt) <= PROMPT_CHARS_MAX and 0 < len(hints) <= HINTS_CHARS_MAX
    return Request(prompt, hints) if usable and not re.fullmatch(r"<[^<>]*>", prompt) else None


def _bare(part: str) -> str:
    """A part without surrounding blanks, emphasis and quotes."""
    part = part.strip()
    part = re.sub(r"\n[^\S\n]*(?:[-*_]{3,}|#+)[^\S\n]*$", "", part).strip()
    for mark in ("**", "__"):
        if part.startswith(mark) and part.endswith(mark) and len(part) > 2 * len(mark):
            part = part[len(mark) : -len(mark)].strip()
    if len(part) > 2 and _QUOTES.get(part[0]) == part[-1] and part[0] not in part[1:-1]:
        part = part[1:-1].strip()
    return part
