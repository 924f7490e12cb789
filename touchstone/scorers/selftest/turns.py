"""One turn with a system that gets a request from a template and answers at once: the values of the template, and the outcome of the answer."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from touchstone.scorers.selftest.system import OUTPUT_CHARS_MAX, Outcome, SystemFault, Task, status_of
from touchstone.scorers.selftest.system_settings import AWAITING, COMPLETE, Templated
from touchstone.scorers.selftest.template import found_at, path_of


def values_of(settings: Templated, task: Task, text: str, before: Outcome | None) -> dict[str, Any]:
    """The values of a template's places. `text`: what the user says now; `before`: the outcome of the turn before."""
    said = before.said if before is not None else ()
    messages = [message for user, system in said for message in ({"role": "user", "content": user}, {"role": "assistant", "content": system})]
    messages.append({"role": "user", "content": text})
    return {
        "prompt": text,
        "messages": messages,
        "conversation": "\n\n".join(f"{message['role']}: {message['content']}" for message in messages),
        "answer": before.output if before is not None else None,
        "turn": len(said) + 1,
        "session_id": task.session_id,
        "task_group_id": task.task_group_id,
        **dict.fromkeys(settings.carry),
        **(before.carried if before is not None else {}),
    }


@contextmanager
def sendable() -> Iterator[None]:
    """While a turn is made: a value of the system's own that is nested too deep to be sent back is its fault. Raises `SystemFault`."""
    try:
        yield
    except RecursionError:
        raise SystemFault("unreadable", "a value of carry is nested too deep") from None


def outcome_of_answer(settings: Templated, data: bytes, task: Task, text: str, before: Outcome | None) -> Outcome:
    """The outcome of an answer, with the conversation so far. Raises `SystemFault`, which does not quote it."""
    output, status, carried = _read(settings, data)
    if len(output) > OUTPUT_CHARS_MAX:
        raise SystemFault("too_large", f"an output of more than {OUTPUT_CHARS_MAX} characters")
    if status is None:
        status = AWAITING if settings.question_awaits and output.rstrip().endswith(("?", "？", "؟")) else COMPLETE
    said = before.said if before is not None else ()
    return Outcome(task.session_id, status, output, (*said, (text, output)), carried)


def _read(settings: Templated, data: bytes) -> tuple[str, str | None, dict[str, Any]]:
    """The answer, its status if it has one, and the values for the next turn."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise SystemFault("unreadable", "no UTF-8") from None
    if settings.answer is None:
        return text.strip(), None, {}
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise SystemFault("unreadable", "no JSON") from None
    answer = _at(document, settings.answer, "answer")
    if not isinstance(answer, str):
        raise SystemFault("unreadable", "the value at answer is no text")
    status = None
    if settings.status is not None:
        word = _at(document, settings.status, "status")
        status = settings.statuses.get(word) if isinstance(word, str) else None
        status = status or status_of(word)
    return answer, status, {name: _at(document, path, f"carry.{name}") for name, path in settings.carry.items()}


def _at(document: Any, path: str, setting: str) -> Any:
    try:
        return found_at(document, path_of(path))
    except LookupError:
        raise SystemFault("unreadable", f"nothing at the path of {setting}") from None
