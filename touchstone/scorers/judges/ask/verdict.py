"""Finds the verdict in a judge's answer.

The last verdict of a text counts, and it must be the judge's own. A judge may quote the material, and the material may contain a verdict. Therefore the
verdict of an answer in words is below a line with the case's key, which no material can contain. An object that the material contains does not count.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from pydantic import ValidationError

from touchstone.scorers.judges.ask.form import MARK, NAME
from touchstone.scorers.judges.ask.json_objects import Found, object_at, objects
from touchstone.scorers.judges.ask.judge import VerdictT

#: Between the line with the key and the object: blanks, a code fence, emphasis.
_BELOW_MARK: Final = re.compile(r"[\s:`*]*(?:json\s*)?")
#: So many verdicts of one answer are compared with its last.
_COMPARED_MAX: Final = 20
_FENCED: Final = re.compile(r"```\w*\s*(\{.*\})\s*```", re.DOTALL)
#: A quotation may differ from the original in these.
_BLANKS_AND_ESCAPES: Final = re.compile(r"[\s\\]+")
_ANSWER_CHARS_MAX: Final = 1_000_000
#: Prose is searched character by character, and no other case is served meanwhile.
_PROSE_CHARS_MAX: Final = 100_000
_PLACES_MAX: Final = 8


@dataclass(frozen=True, slots=True)
class Case:
    """What distinguishes a judge's own verdict from one that it quotes. `key`: of the case. `material`: what the judge was shown.

    `is_in_words`: the answer was asked for in words, with a line that has the key.
    """

    key: str = ""
    material: str = ""
    is_in_words: bool = False


NO_CASE: Final = Case()


@dataclass(frozen=True, slots=True)
class Misfit:
    """An answer without a usable verdict. `code`: as of `Unanswered`. `places`: where in the verdict which mistake is, without text of the answer."""

    code: str
    places: str = ""


def read_verdict(message: Mapping[str, Any], finish: Any, verdict: type[VerdictT], case: Case = NO_CASE) -> VerdictT | Misfit:
    """The verdict of a chat message, from its tool call or its text. `finish`: the server's reason why the answer ended."""
    if finish == "content_filter" or _text(message.get("refusal")):
        return Misfit("refused")
    if finish == "length":
        return Misfit("truncated")
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls:
        functions = [call["function"] for call in calls if isinstance(call, Mapping) and isinstance(call.get("function"), Mapping)]
        last = next((function for function in reversed(functions) if function.get("name") == NAME), None)
        if last is None:
            return Misfit("wrong_tool", f"the function called was not `{NAME}`")
        arguments = last.get("arguments")
        return verdict_of(json.dumps(arguments) if isinstance(arguments, Mapping) else _text(arguments), verdict, case)
    return verdict_of(_text(message.get("content")), verdict, case)


def verdict_of(text: str, verdict: type[VerdictT], case: Case = NO_CASE) -> VerdictT | Misfit:
    """The verdict at the end of a text: the object below its last line with the key, else its last JSON object. Only that object can be the verdict."""
    if not text.strip():
        return Misfit("empty", "the answer was empty")
    if len(text) > _ANSWER_CHARS_MAX:
        return Misfit("wrong_form", "the answer is longer than any verdict")
    whole = fenced[1] if (fenced := _FENCED.fullmatch(text.strip())) is not None else text
    if whole[:1] == "{" and _is_object(whole):
        return _validated(whole, verdict)
    if len(text) > _PROSE_CHARS_MAX:
        return Misfit("wrong_form", "the answer is longer than any verdict")
    if case.key and (marked := _marked(text, case.key)) is not None:
        return marked if isinstance(marked, Misfit) else _validated(marked, verdict)
    return _last_object(text, verdict, case)


def _last_object(text: str, verdict: type[VerdictT], case: Case) -> VerdictT | Misfit:
    """The verdict that the last object of a text is, if the judge wrote it itself."""
    found = list(objects(text))
    if not found:
        return Misfit("no_json", "the answer held no JSON object")
    last = found[-1].text
    if last is None:
        return Misfit("wrong_form", "the last JSON object does not end")
    own = _not_quoted(found, text, case.material)
    if own[-1:] != [last]:
        return Misfit("wrong_form", "the last JSON object stands in the material")
    read = _validated(last, verdict)
    if isinstance(read, Misfit):
        return read
    if case.is_in_words and any(other != read for other in _verdicts(own[-_COMPARED_MAX:], verdict)):
        return Misfit("wrong_form", f"there are several verdicts, and none below a line `{MARK}` with the key")
    return read


def _marked(text: str, key: str) -> str | Misfit | None:
    """The object below the last line with the key; None without such a line. A mark inside an object is part of that object's text."""
    mark = re.compile(rf"{MARK}[\s:`*]{{1,8}}{re.escape(key)}")
    last: str | Misfit | None = None
    at = 0
    while (line := mark.search(text, at)) is not None:
        below = _BELOW_MARK.match(text, line.end())
        at = line.end() if below is None else below.end()
        found = object_at(text, at) if text[at : at + 1] == "{" else None
        last = Misfit("wrong_form", f"below the line `{MARK}` with the key stands no JSON object") if found is None or found.text is None else found.text
        at = at if found is None else found.end
    return last


def _not_quoted(found: Sequence[Found], text: str, material: str) -> list[str]:
    """The objects of an answer that the material does not contain word for word."""
    bare = _BLANKS_AND_ESCAPES.sub("", material)
    return [one.text for one in found if one.text is not None and not (bare and _BLANKS_AND_ESCAPES.sub("", text[one.begin : one.end]) in bare)]


def _verdicts(texts: Iterable[str], verdict: type[VerdictT]) -> Iterator[VerdictT]:
    """The verdicts among some objects."""
    for text in texts:
        if not isinstance(read := _validated(text, verdict), Misfit):
            yield read


def _is_object(text: str) -> bool:
    """True if a text is one JSON object and nothing else, as most answers are. orjson is strict."""
    try:
        return isinstance(orjson.loads(text), dict)
    except ValueError:
        return False


def _validated(text: str, verdict: type[VerdictT]) -> VerdictT | Misfit:
    """The verdict that an object is, or that it wraps as models wrap the arguments of a function."""
    try:
        found = json.loads(text, strict=False, parse_constant=_no_number)
        plain = json.dumps(found)
    except (ValueError, RecursionError):
        return Misfit("wrong_form", "the last JSON object is not valid JSON")
    try:
        return verdict.model_validate_json(plain)
    except ValidationError as error:
        misfit = Misfit("wrong_form", _places(error))
    wrapped = _wrapped(found)
    if wrapped is None:
        return misfit
    try:
        return verdict.model_validate_json(json.dumps(wrapped))
    except ValidationError as error:
        return Misfit("wrong_form", _places(error))


def _wrapped(found: Any) -> dict[str, Any] | None:
    """The object inside `{"name": "verdict", "arguments": …}` or `{"verdict": …}`, which may be JSON text itself."""
    inner = found.get("arguments", found.get("parameters")) if found.get("name") == NAME else found.get(NAME) if len(found) == 1 else None
    if isinstance(inner, str):
        try:
            inner = json.loads(inner, strict=False, parse_constant=_no_number)
        except (ValueError, RecursionError):
            return None
    return inner if isinstance(inner, dict) else None


def _places(error: ValidationError) -> str:
    """Where the mistakes are and of which kind, without the values. Unknown keys are left out, because they may contain patient text."""
    places = []
    for item in error.errors(include_url=False, include_context=False, include_input=False)[:_PLACES_MAX]:
        steps = item["loc"][:-1] if item["type"] == "extra_forbidden" else item["loc"]
        places.append(f"{'.'.join(map(str, steps)) or 'the object'}: {item['type']}")
    return "; ".join(places)


def _no_number(_: str) -> float:
    raise ValueError("not a number of JSON")


def _text(value: Any) -> str:
    """The text of a message; some servers send it in parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(part["text"] for part in value if isinstance(part, Mapping) and isinstance(part.get("text"), str))
    return ""
