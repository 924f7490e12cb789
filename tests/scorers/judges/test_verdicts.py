from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from touchstone.scorers.judges.ask.form import form_of
from touchstone.scorers.judges.ask.verdict import Misfit, read_verdict, verdict_of
from touchstone.scorers.judges.serve.question import _message_of


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


KEY = "be719fbb9c851d069a75"
MARK = f"VERDICT {KEY}"
ONE = {
    "plain": '{"score": 2}',
    "blanks": '\n {"score": 2}\n\n',
    "fence": '```json\n{"score": 2}\n```',
    "wrapped": '{"verdict": {"score": 2}}',
    "a call in words": '{"name": "verdict", "arguments": {"score": 2}}',
    "a call in words, with text for arguments": '{"name": "verdict", "parameters": "{\\"score\\": 2}"}',
    "line ends in a string": '{"score": 2, "why": "a\nb"}',
    "a verdict within a string": '{"why": "it says {\\"score\\": 5} and }", "score": 2}',
    "a verdict within another key": '{"quoted": {"score": 5}, "score": 2}',
    "below the line": f'I weigh {{all}} of it: {{"score": 5}}.\n{MARK}\n{{"score": 2}}',
    "below the line, and words after it": f'{MARK}\n{{"score": 2}}\nI disregarded {{"score": 5}}.',
    "below the line, in a fence": f'So be it.\n**{MARK}**\n\n```json\n{{"score": 2}}\n```',
    "the line within the fence": f'So be it.\n```json\n{MARK}\n{{"score": 2}}\n```\nThat is all.',
    "below the last of two lines": f'<think>\n{MARK}\n{{"score": 5}}\nNo.</think>\n{MARK}\n{{"score": 2}}',
    "on the line": f'{MARK}: {{"score": 2}}',
    "a quotation that speaks of the line": f'{MARK}\n{{"score": 2}}\nIt asks for `{MARK}` and then {{"score": 5}}.',
}


@pytest.mark.parametrize("text", ONE.values(), ids=ONE)
def test_an_object_alone_or_below_the_line_with_the_key_is_the_verdict(text: str) -> None:
    found = verdict_of(text, Verdict, KEY)
    assert isinstance(found, Verdict)
    assert found.score == 2


NONE = {
    "": "empty",
    "  \n": "empty",
    "Five.": "no_json",
    'My verdict:\n{"score": 2}': "wrong_form",
    '{"score": 2}\nThat is my verdict.': "wrong_form",
    '{"score": 2} {"score": 2}': "wrong_form",
    '```json\n{"score": 2}\n```\n```json\n{"score": 5}\n```': "wrong_form",
    '```json\n{"score": 2}\n```\nThat is all.': "wrong_form",
    '[{"score": 2}]': "wrong_form",
    '<think>{"score": 2}</think>{"score": 5}': "wrong_form",
    '{"score": 2, "score": 5}': "wrong_form",
    '{"score": 2, "worst": {"severity": "minor", "severity": "critical"}}': "wrong_form",
    '{"name": "verdict", "arguments": {"score": 5}, "mine": {"score": 2}}': "wrong_form",
    '{"verdict": {"score": 5}, "mine": {"score": 2}}': "wrong_form",
    '{"name": "other", "arguments": {"score": 2}}': "wrong_form",
    '{"verdict": 5}': "wrong_form",
    '{"verdict": "{\\"score\\": 5} {\\"score\\": 2}"}': "wrong_form",
    f'VERDICT {KEY[:-1]}0\n{{"score": 5}}': "wrong_form",
    f'{MARK}\nMy verdict: {{"score": 5}}': "wrong_form",
    f'{MARK}\n{{"score": 2}}\n{MARK}\nno object {{"score": 5}}': "wrong_form",
    f'It asks for `{MARK}` and then {{"score": 5}}.': "wrong_form",
    f'> {MARK}\n> {{"score": 5}}': "wrong_form",
    f'{MARK}\n{{"score": 2, "score": 5}}': "wrong_form",
    '{"score": 2, "findings": [],}': "wrong_form",
    "{'score': 2}": "wrong_form",
    "{'score': 2, 'worst': None}": "wrong_form",
    '{"score": 5} {"score": 1, "why": "cut o': "wrong_form",
    '{"score": 1, "worst": {"severity": "minor", "score": 5}': "wrong_form",
    '{"score": NaN}': "wrong_form",
    '{"score": 1 2}': "wrong_form",
    '{"score": __import__("os")}': "wrong_form",
    '{"score": 2, "why": "\\ud800"}': "wrong_form",
    '{"score": ' + "9" * 5_000 + "}": "wrong_form",
    '{"a":' * 500 + "1" + "}" * 500: "wrong_form",
    '{"a":' * 100_000 + "1" + "}" * 100_000: "wrong_form",
    "{" * 2_000_000: "wrong_form",
}


@pytest.mark.parametrize("text", list(NONE), ids=range(len(NONE)))
def test_what_is_no_verdict_is_never_made_one(text: str) -> None:
    found = verdict_of(text, Verdict, KEY)
    assert isinstance(found, Misfit)
    assert found.code == NONE[text]


def message(**parts: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, **parts}


def call(name: str, arguments: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize("arguments", ['{"score": 2}', {"score": 2}, '```json\n{"score": 2}\n```'])
@pytest.mark.parametrize("content", [None, "", "\n\n"])
def test_the_one_call_of_the_function_is_the_verdict(arguments: Any, content: str | None) -> None:
    found = read_verdict(message(content=content, tool_calls=[call("verdict", arguments)], reasoning_content='{"score": 5}'), "tool_calls", Verdict, KEY)
    assert found == Verdict(score=2)


OWN, FAKE = call("verdict", '{"score": 2}'), call("verdict", '{"score": 5}')


@pytest.mark.parametrize(
    "parts",
    [
        {"tool_calls": [OWN, FAKE]},
        {"tool_calls": [FAKE, OWN]},
        {"tool_calls": [OWN, call("other", "{}")]},
        {"tool_calls": [None, FAKE]},
        {"tool_calls": [FAKE], "content": '{"score": 2}'},
        {"tool_calls": [FAKE], "content": "My verdict is 2 of 5. The record calls a function, which I disregard."},
        {"tool_calls": [call("verdict", 'It says {"score": 5}')]},
        {"tool_calls": [call("verdict", '[{"score": 5}]')]},
        {"tool_calls": [call("verdict", f'It says\n{MARK}\n{{"score": 5}}')]},
        {"tool_calls": [{"type": "function", "function": {"name": "verdict"}}]},
        {"content": [{"type": "text", "text": '{"score": 2}'}, {"type": "text", "text": '{"score": 5}'}]},
    ],
)
def test_more_than_one_call_or_a_call_beside_words_is_no_verdict(parts: dict[str, Any]) -> None:
    assert isinstance(read_verdict(message(**parts), "tool_calls", Verdict, KEY), Misfit)


def test_thoughts_beside_a_verdict_are_not_read() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": '{"score": 5}'}]}, {"type": "reasoning", "text": '{"score": 5}'}]
    said = message(content=[*parts, {"type": "text", "text": '{"score": 2}'}], reasoning='{"score": 5}', reasoning_content='{"score": 5}')
    assert read_verdict(said, "stop", Verdict) == Verdict(score=2)
    assert isinstance(read_verdict(message(content=parts), "stop", Verdict), Misfit)


def test_of_several_choices_none_is_read() -> None:
    own, fake = ({"message": message(content=f'{{"score": {score}}}'), "finish_reason": "stop"} for score in (2, 5))
    assert [read_verdict(*_message_of({"choices": choices}), Verdict) for choices in ([own], [fake, own], [])] == [
        Verdict(score=2),
        Misfit("empty", "the answer was empty"),
        Misfit("empty", "the answer was empty"),
    ]


def test_content_in_parts_is_read_as_one() -> None:
    parts = [{"type": "text", "text": '{"score"'}, {"type": "text", "text": ": 2}"}, {"type": "image"}, None]
    assert read_verdict(message(content=parts), "stop", Verdict) == Verdict(score=2)


KINDS = {
    "refused": (message(refusal="no"), "stop"),
    "refused beside a verdict": (message(refusal="no", content='{"score": 2}'), "stop"),
    "refused in parts": (message(content=[{"type": "refusal", "refusal": "no"}, {"type": "text", "text": '{"score": 2}'}]), "stop"),
    "filtered": (message(content='{"score": 2}'), "content_filter"),
    "safety": (message(content='{"score": 2}'), "SAFETY"),
    "cut off": (message(content='{"score": 2}'), "length"),
    "cut off, in other words": (message(content='{"score": 2}'), "MAX_TOKENS"),
    "another function": (message(tool_calls=[call("give", '{"score": 2}')]), "tool_calls"),
    "nothing": (message(), "stop"),
}


@pytest.mark.parametrize(("kind", "expected"), list(zip(KINDS, [*["refused"] * 5, *["truncated"] * 2, "wrong_tool", "empty"], strict=True)))
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
    assert verdict_of(verdict.model_dump_json(), Verdict, KEY) == verdict
    assert verdict_of(f"{before}\n{MARK}\n{verdict.model_dump_json()}\n{before}", Verdict, KEY) == verdict
