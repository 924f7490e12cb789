"""Reads the verdict in a judge's answer.

A judge may quote the material, and the material may contain a verdict, written in any way. Therefore nothing is searched for: an answer is a verdict only if it
is one JSON object and nothing else, or if the object is below a line with the case's key, which no material can contain.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from touchstone.scorers.judges.ask.form import MARK, NAME
from touchstone.scorers.judges.ask.judge import VerdictT

#: The line above a verdict in words, and what may be between it and the object: blanks, a code fence, emphasis.
_MARK_LINE: Final = rf"^[ \t`*#]*{MARK}[ \t:`*]{{1,8}}%s[\s:`*]*(?:json\s*)?"
_FENCED: Final = re.compile(r"```\w*\s*(\{.*\})\s*```", re.DOTALL)
_ANSWER_CHARS_MAX: Final = 1_000_000
_PLACES_MAX: Final = 8
#: Reasons of servers why an answer ended.
_REFUSED: Final = frozenset({"content_filter", "refusal", "safety"})
_CUT_OFF: Final = frozenset({"length", "max_tokens", "model_length"})
#: Parts of a content in parts that are the answer; others are thoughts.
_TEXT_PARTS: Final = (None, "text", "output_text")


@dataclass(frozen=True, slots=True)
class Misfit:
    """An answer without a usable verdict. `code`: as of `Unanswered`. `places`: where in the verdict which mistake is, without text of the answer."""

    code: str
    places: str = ""


def read_verdict(message: Mapping[str, Any], finish: Any, verdict: type[VerdictT], key: str = "") -> VerdictT | Misfit:
    """The verdict of a chat message: its one function call, or else its text. `finish`: the server's reason why the answer ended. `key`: of the case."""
    reason = finish.casefold() if isinstance(finish, str) else ""
    if reason in _REFUSED or _text(message.get("refusal")) or _is_refusal(message.get("content")):
        return Misfit("refused")
    if reason in _CUT_OFF:
        return Misfit("truncated")
    said, calls = _text(message.get("content")), message.get("tool_calls")
    if not isinstance(calls, list) or not calls:
        return verdict_of(said, verdict, key)
    functions = [call["function"] for call in calls if isinstance(call, Mapping) and isinstance(call.get("function"), Mapping)]
    if not any(function.get("name") == NAME for function in functions):
        return Misfit("wrong_tool", f"the function called was not `{NAME}`")
    if len(calls) > 1:
        return Misfit("wrong_form", "there was more than one function call")
    if said.strip():
        return Misfit("wrong_form", "there was text beside the function call")
    arguments = functions[0].get("arguments")
    return verdict_of(json.dumps(arguments) if isinstance(arguments, Mapping) else _text(arguments), verdict)


def verdict_of(text: str, verdict: type[VerdictT], key: str = "") -> VerdictT | Misfit:
    """The verdict that a text is as a whole, with or without a code fence, or that is below its last line with the key. An object elsewhere is never read."""
    bare = text.strip()
    if not bare:
        return Misfit("empty", "the answer was empty")
    if len(bare) > _ANSWER_CHARS_MAX:
        return Misfit("wrong_form", "the answer is longer than any verdict")
    fenced = _FENCED.fullmatch(bare)
    whole = fenced[1] if fenced is not None else bare
    if isinstance(read := _object_at(whole, 0), tuple) and read[1] == len(whole):
        return _validated(read[0], verdict)
    marks = list(re.finditer(_MARK_LINE % re.escape(key), bare, re.MULTILINE | re.IGNORECASE)) if key else []
    if marks:
        below = _object_at(bare, marks[-1].end())
        return _validated(below[0], verdict) if isinstance(below, tuple) else Misfit("wrong_form", f"below the line `{MARK}` with the key: {below}")
    if "{" not in bare:
        return Misfit("no_json", "the answer held no JSON object")
    return Misfit("wrong_form", read if isinstance(read, str) and whole[0] == "{" else "the answer was not one JSON object and nothing else")


def _object_at(text: str, begin: int) -> tuple[dict[str, Any], int] | str:
    """The JSON object that begins at an index, and where it ends; in words why there is none."""
    if text[begin : begin + 1] != "{":
        return "there is no JSON object"
    try:
        return _DECODER.raw_decode(text, begin)
    except _Twice:
        return "the JSON object has a key twice"
    except (ValueError, RecursionError):
        return "the JSON object is not valid JSON"


class _Twice(Exception):
    """An object has a key twice, so it says two things."""


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Twice
    return found


def _no_number(_: str) -> float:
    raise ValueError("not a number of JSON")


_DECODER: Final = json.JSONDecoder(strict=False, parse_constant=_no_number, object_pairs_hook=_once)


def _validated(found: Mapping[str, Any], verdict: type[VerdictT]) -> VerdictT | Misfit:
    """The verdict that an object is, or that it wraps as models wrap the arguments of a function."""
    wrapped = _wrapped(found)
    try:
        return verdict.model_validate_json(json.dumps(found if wrapped is None else wrapped))
    except ValidationError as error:
        return Misfit("wrong_form", _places(error))


def _wrapped(found: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The object inside `{"name": "verdict", "arguments": …}` or `{"verdict": …}`, which may be JSON text itself; None with any other key beside it."""
    inner: Any = None
    if found.keys() in ({"name", "arguments"}, {"name", "parameters"}) and found["name"] == NAME:
        inner = found.get("arguments", found.get("parameters"))
    elif found.keys() == {NAME}:
        inner = found[NAME]
    if isinstance(inner, str):
        read = _object_at(inner, 0)
        return read[0] if isinstance(read, tuple) and read[1] == len(inner) else None
    return inner if isinstance(inner, Mapping) else None


def _places(error: ValidationError) -> str:
    """Where the mistakes are and of which kind, without the values. Unknown keys are left out, because they may contain patient text."""
    places = []
    for item in error.errors(include_url=False, include_context=False, include_input=False)[:_PLACES_MAX]:
        steps = item["loc"][:-1] if item["type"] == "extra_forbidden" else item["loc"]
        what = item["msg"] if item["type"] == "value_error" else item["type"]  # the first are our own words
        places.append(f"{'.'.join(map(str, steps)) or 'the object'}: {what}")
    return "; ".join(places)


def _is_refusal(content: Any) -> bool:
    """True if a content in parts has a refusal."""
    return isinstance(content, list) and any(isinstance(part, Mapping) and part.get("type") == "refusal" for part in content)


def _text(value: Any) -> str:
    """The text of a message; some servers send it in parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        parts = (part for part in value if isinstance(part, Mapping) and part.get("type") in _TEXT_PARTS)
        return "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    return ""
