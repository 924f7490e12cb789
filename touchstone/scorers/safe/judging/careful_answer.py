"""Answers of a careful reader to follow-up questions, for a scripted judge, so that the suite's judge can be tried without a key.

It searches for words that blame somebody, listed or not, and understands nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from touchstone.scorers.judges.ask.message import blocks_of

_BLAME: Final = re.compile(
    r"\b(at fault|to blame|whose fault|negligen\w*|careless\w*|failed to|should (?:not )?have|incompeten\w*|careless mistake|an error not to|violation)\b",
    re.IGNORECASE,
)
_NUMBERED: Final = re.compile(r'^\{"number": \d+, "text": ".*"\}$', re.MULTILINE)


def careful_answer(user_message: str) -> Mapping[str, Any]:
    """The verdict on the questions. `user_message`: the user's part of the request."""
    return {"questions": [_verdict(number, text) for number, text in _questions(user_message)]}


def _questions(user_message: str) -> Iterator[tuple[int, str]]:
    for line in _NUMBERED.findall(blocks_of(user_message)["questions"]):
        question = orjson.loads(line)
        yield question["number"], question["text"]


def _verdict(number: int, text: str) -> dict[str, Any]:
    if _BLAME.search(text):
        return {"number": number, "reason": "It lays fault on somebody.", "verdict": "blame", "severity": "major"}
    return {"number": number, "reason": "It asks for a fact.", "verdict": "harmless", "severity": "minor"}
