import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from touchstone.scorers.selftest.system_settings import CommandSystem, RequestSystem
from touchstone.scorers.selftest.template import Path, filled, found_at, path_of

DOCUMENT = {"choices": [{"message": {"content": "x"}}], "odd name": {"a.b": [1, 2]}}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("choices[0].message.content", "x"),
        ("$.choices[-1].message.content", "x"),
        ("$['odd name']['a.b'][1]", 2),
        ('["odd name"]', {"a.b": [1, 2]}),
        ("$", DOCUMENT),
    ],
)
def test_a_path_names_one_place(path: str, found: Any) -> None:
    assert found_at(DOCUMENT, path_of(path)) == found


@pytest.mark.parametrize("path", ["choices[1]", "choices.message", "choices[0][0]", "nothing", "choices[0].message.content.x"])
def test_a_path_to_nothing_is_told(path: str) -> None:
    with pytest.raises(LookupError):
        found_at(DOCUMENT, path_of(path))


@pytest.mark.parametrize("path", ["a..b", "a[", "a[x]", "a[*]", "$..a", "a b", "[0]a", "a."])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="is no path"):
        path_of(path)


@given(st.lists(st.text(st.characters(blacklist_characters="\"'", blacklist_categories=["Cs"]), min_size=1) | st.integers(0, 9), max_size=4))
def test_any_names_and_indices_can_be_written(steps: list[str | int]) -> None:
    text = "$" + "".join(f"[{step}]" if isinstance(step, int) else f'["{step}"]' for step in steps)
    expected: Path = tuple(steps)
    assert path_of(text) == expected


@given(st.text(), st.text())
def test_no_text_in_a_place_changes_the_request_around_it(prompt: str, answer: str) -> None:
    template = {"a": "{{prompt}}", "b": ["before {{prompt}}|{{answer}}"], "n": 1}
    document = json.loads(json.dumps(filled(template, {"prompt": prompt, "answer": answer})))
    assert document == {"a": prompt, "b": [f"before {prompt}|{answer}"], "n": 1}


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"body": {"q": "{{question}}"}}, "{{question}} is no place"),
        ({"body": {"q": "hello"}}, "sent nowhere"),
        ({"method": "GET"}, "sent nowhere"),
        ({"method": "GET", "url": "http://h/?q={{prompt}}", "body": {"q": "{{prompt}}"}}, "a GET has no body"),
        ({"url": "http://{{prompt}}.example/"}, "a place in the host"),
        ({"url": "http://me:pw@h/"}, "holds a user or password"),
        ({"headers": {"X-Api-Key": "abc"}}, "is a credential"),
        ({"headers": {"X y": "abc"}}, "cannot be sent"),
        ({"carry": {"thread": "id"}}, "give the answer's path too"),
        ({"answer": "$", "carry": {"prompt": "id"}}, "has a meaning of its own"),
        ({"answer": "a..b"}, "is no path"),
    ],
)
def test_a_template_that_cannot_work_is_refused_without_quoting_secrets(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError) as raised:
        RequestSystem.model_validate({"adapter": "request", "url": "http://127.0.0.1:1/", **fields})
    assert told in str(raised.value)
    assert "abc" not in str(raised.value)


@pytest.mark.parametrize(("fields", "told"), [({"command": ["{{prompt}}"]}, "is the program"), ({"command": ["cat"], "input": None}, "sent nowhere")])
def test_a_command_that_is_not_asked_is_refused(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        CommandSystem.model_validate({"adapter": "command", **fields})
