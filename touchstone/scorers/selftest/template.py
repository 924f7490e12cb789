"""Templates of what a system under test is sent, and paths into what it answers.

A template is any JSON value with places `{{name}}` in its texts. A text that is nothing but one place becomes the value itself (a list, a number, null);
inside a longer text it becomes text. A path names one place in a JSON answer: `choices[0].message.content`, also written `$.choices[0]["message"].content`
(RFC 9535's singular queries, with names and indices alone).
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

Path = tuple[str | int, ...]

#: Places that every template may have; the names in `carry` come besides.
NAMES: Final = ("prompt", "messages", "conversation", "answer", "turn", "session_id", "task_group_id")
#: Places that hold what is asked now; a template without one would ask nothing.
ASKING: Final = frozenset({"prompt", "messages", "conversation"})
_PLACE: Final = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
_STEP: Final = re.compile(r"""\.?(?P<name>[^.\[\]'"\s]+)|\[(?P<index>-?\d{1,6})\]|\[(?P<mark>['"])(?P<quoted>[^'"]*)(?P=mark)\]""")


def places(template: Any) -> Iterator[str]:
    """The names of all places of a template."""
    if isinstance(template, str):
        yield from _PLACE.findall(template)
    elif isinstance(template, Mapping):
        for value in template.values():
            yield from places(value)
    elif isinstance(template, list):
        for value in template:
            yield from places(value)


def filled(template: Any, values: Mapping[str, Any], quoted: Callable[[str], str] = str) -> Any:
    """The template with its places filled, in one pass: a place inside a value stays text. `quoted`: applied to each value inside a longer text."""
    if isinstance(template, Mapping):
        return {name: filled(value, values, quoted) for name, value in template.items()}
    if isinstance(template, list):
        return [filled(value, values, quoted) for value in template]
    if not isinstance(template, str):
        return template
    if quoted is str and (whole := _PLACE.fullmatch(template)) is not None:
        return values[whole[1]]
    return _PLACE.sub(lambda place: quoted(as_text(values[place[1]])), template)


def as_text(value: Any) -> str:
    """A value inside a text: a text as it is, nothing for null, anything else as JSON."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def path_of(text: str) -> Path:
    """The steps of a path; none for `$`, the whole answer. Raises `ValueError`."""
    steps: list[str | int] = []
    at = 1 if text.startswith("$") else 0
    while at < len(text):
        step = _STEP.match(text, at)
        if step is None or (step["name"] and text[at] != "." and at > 0):
            raise ValueError("is no path; write names and indices: choices[0].message.content")
        steps.append(int(step["index"]) if step["index"] else step["name"] or step["quoted"] or "")
        at = step.end()
    return tuple(steps)


def found_at(document: Any, path: Path) -> Any:
    """The value at a path. Raises `LookupError`."""
    for step in path:
        known: Any = document if isinstance(document, list if isinstance(step, int) else dict) else {}
        document = known[step]
    return document
