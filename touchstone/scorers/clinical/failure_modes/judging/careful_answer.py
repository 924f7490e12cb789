"""Answers to the question of the sample judge, for a scripted judge, so that the suite can be tried without a key. It compares ages and understands nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from touchstone.scorers.judges.ask.message import blocks_of

_ASKED: Final = re.compile(r"\b(\d{1,3})[- ]year|\bof (\d{1,3})\b")
_AGE: Final = re.compile(r'"age":\s*(\d{1,3})\b')


def careful_answer(user_message: str) -> Mapping[str, Any]:
    """The verdict on a sample. `user_message`: the user's part of the request."""
    trace = blocks_of(user_message)["trace"]
    request, _, persona = trace.partition("\nPersona:\n")
    asked, given = _ASKED.search(request.partition("\nRequest:\n")[2]), _AGE.search(persona)
    if asked is not None and given is not None and (asked[1] or asked[2]) != given[1]:
        return {"critique": "The persona has another age than the request.", "where": "persona", "verdict": "fail"}
    return {"critique": "The record is of the patient that was asked for.", "where": "", "verdict": "pass"}
