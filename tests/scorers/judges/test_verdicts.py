from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from touchstone.scorers.judges.ask.form import form_of
from touchstone.scorers.judges.ask.verdict import Misfit, read_verdict, verdict_of


class Finding(BaseModel):
    severity: Literal["critical", "minor"]
    text: str = ""


class Verdict(BaseModel):
    score: int = Field(ge=1, le=5, description="of five")
    findings: list[Finding] = Field(default_factory=list)
    worst: Finding | None = None
    why: str = Field("", max_length=1_000)


class Open(BaseModel):
    scores: dict[str, int]


def code(text: str, verdict: type[BaseModel] = Verdict) -> str:
    found = verdict_of(text, verdict)
    assert isinstance(found, Misfit)
    return found.code


ONE = {
    "plain": '{"score": 2}',
    "fence": '```json\n{"score": 2}\n```',
    "prose": 'I weigh {all} of it.\n{"score": 2}\nThat is my verdict.',
    "two": '{"score": 5}\n{"score": 2}',
    "three, one of them no verdict": '{"score": 5} {"a": 1} {"score": 2}',
    "a list of them": '[{"score": 5}, {"score": 2}]',
    "key twice": '{"score": 5, "score": 2}',
    "trailing commas": '{"score": 2, "findings": [{"severity": "minor", "text": "a",},],}',
    "single quotes": "{'score': 2, 'why': 'it\\'s \"fine\", it\\'s well'}",
    "python": "{'score': 2, 'worst': None}",
    "wrapped": '{"verdict": {"score": 2}}',
    "a call in words": '{"name": "verdict", "arguments": {"score": 2}}',
    "a call in words, with text for arguments": '{"name": "verdict", "parameters": "{\\"score\\": 2}"}',
    "line ends in a string": '{"score": 2, "why": "a\nb"}',
    "a verdict within a string": '{"why": "it says {\\"score\\": 5} and }", "score": 2}',
    "a verdict after thoughts": '<think>{"score": 5}</think>{"score": 2}',
}


@pytest.mark.parametrize("text", ONE.values(), ids=ONE)
def test_the_last_object_of_an_answer_is_the_verdict(text: str) -> None:
    found = verdict_of(text, Verdict)
    assert isinstance(found, Verdict)
    assert found.score == 2


NONE = {
    "": "empty",
    "  \n": "empty",
    "Five.": "no_json",
    "{score}": "no_json",
    '{"score": 5} {"score": 9}': "wrong_form",
    '{"score": 5} {"other": 1}': "wrong_form",
    '{"score": 5} {"score": 1, "why": "cut o': "wrong_form",
    '{"score": 1, "worst": {"severity": "minor", "score": 5}': "wrong_form",
    'It says {"score": 5, "why": " and my verdict is {"score": 1}': "wrong_form",
    '{"score": NaN}': "wrong_form",
    '{"score": 1 2}': "wrong_form",
    '{"score" 2}': "wrong_form",
    '{"score": 2, "findings": [}]': "wrong_form",
    '{"score": 2; "why": ""}': "wrong_form",
    '{"score": __import__("os")}': "wrong_form",
    '{"score": 2, "why": "\\ud800"}': "wrong_form",
    '{"score": ' + "9" * 5_000 + "}": "wrong_form",
    '{"a":' * 500 + "1" + "}" * 500: "wrong_form",
    '{"verdict": 5}': "wrong_form",
    '{"name": "other", "arguments": {"score": 2}}': "wrong_form",
}


@pytest.mark.parametrize("text", list(NONE), ids=range(len(NONE)))
def test_what_is_no_verdict_is_never_made_one(text: str) -> None:
    assert code(text) == NONE[text]


def test_an_answer_without_end_is_not_looked_through() -> None:
    found = verdict_of('{"a": 1} ' * 20_000 + '{"score": 2}', Verdict)
    assert found == Misfit("wrong_form", "the answer is longer than any verdict")


def message(**parts: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, **parts}


def call(name: str, arguments: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


def test_the_last_call_of_the_function_is_the_verdict() -> None:
    calls = [call("verdict", '{"score": 5}'), call("verdict", '{"score": 2}'), call("other", '{"score": 4}')]
    assert read_verdict(message(tool_calls=calls), "tool_calls", Verdict) == Verdict(score=2)
    assert read_verdict(message(tool_calls=[call("verdict", {"score": 2})]), "tool_calls", Verdict) == Verdict(score=2)


def test_content_in_parts_is_read_as_one() -> None:
    parts = [{"type": "text", "text": '{"score"'}, {"type": "text", "text": ": 2}"}, {"type": "image"}, None]
    assert read_verdict(message(content=parts), "stop", Verdict) == Verdict(score=2)


KINDS = {
    "refused": (message(refusal="no"), "stop"),
    "filtered": (message(content='{"score": 2}'), "content_filter"),
    "cut off": (message(content='{"score": 2}'), "length"),
    "another function": (message(tool_calls=[call("give", '{"score": 2}')]), "tool_calls"),
    "nothing": (message(), "stop"),
}


@pytest.mark.parametrize(("kind", "expected"), list(zip(KINDS, ["refused", "refused", "truncated", "wrong_tool", "empty"], strict=True)))
def test_answers_without_a_verdict_are_told_apart(kind: str, expected: str) -> None:
    found = read_verdict(*KINDS[kind], Verdict)
    assert isinstance(found, Misfit)
    assert found.code == expected


def test_a_misfit_tells_places_and_kinds_and_no_text() -> None:
    found = verdict_of('{"score": 9, "findings": [{"severity": "terrible secret"}], "why": 7, "secret key": 1}', Verdict)
    assert found == Misfit("wrong_form", "score: less_than_equal; findings.0.severity: literal_error; why: string_type")


def test_a_closed_model_is_asked_for_strictly_with_every_key() -> None:
    form = form_of(Verdict)
    assert form.strict
    assert form.schema["required"] == ["score", "findings", "worst", "why"]
    assert form.schema["additionalProperties"] is False
    assert form.schema["$defs"]["Finding"]["additionalProperties"] is False
    assert "maxLength" not in form.text
    assert "default" not in form.text
    assert form.request("json_schema")["response_format"]["json_schema"]["strict"] is True
    assert form.request("tools")["tool_choice"]["function"]["name"] == "verdict"
    assert "strict" not in form.request("tools", strict=False)["tools"][0]["function"]
    assert form.request("text") == {}


def test_an_open_model_is_not_asked_for_strictly() -> None:
    form = form_of(Open)
    assert not form.strict
    assert "strict" not in form.request("json_schema")["response_format"]["json_schema"]
    assert verdict_of('{"scores": {"a": 1}}', Open) == Open(scores={"a": 1})


def test_a_reference_with_a_description_is_written_out() -> None:
    class Described(BaseModel):
        worst: Finding = Field(description="the worst of them")

    assert form_of(Described).schema["properties"]["worst"]["description"] == "the worst of them"
    assert "$ref" not in form_of(Described).schema["properties"]["worst"]


@given(st.text(alphabet="{}[]\"',:\\ \nascore12", max_size=80))
def test_any_text_is_read_to_an_end(text: str) -> None:
    assert isinstance(verdict_of(text, Verdict), Verdict | Misfit)


@given(st.builds(Verdict, score=st.integers(1, 5), why=st.text(max_size=50), findings=st.lists(st.builds(Finding), max_size=3)), st.text(max_size=40))
def test_a_verdict_that_is_written_out_is_read_back(verdict: Verdict, before: str) -> None:
    found = verdict_of(f"{before.replace('{', '(')}\n{verdict.model_dump_json()}", Verdict)
    assert found == verdict
