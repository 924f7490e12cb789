from pathlib import Path
from typing import Any

import pytest

from touchstone.ops.selftest.config_file import load, packaged, parse, system_of
from touchstone.scorers.base import ConfigError
from touchstone.scorers.selftest.system_settings import HttpSystem, KafkaSystem, PythonSystem

#: The sample of the specification, word for word.
SPECIFIED = """
# Selftest Configuration
version: 1

# Strictness (0.0 = lenient, 1.0 = strict)
strictness: 0.7

# Minimum score to pass (0.0 - 1.0)
min_score_to_pass: 0.6

# Allow minor format deviations
allow_minor_format_deviation: true

# Maximum questions allowed in AWAITING_RESPONSE output
max_questions_allowed: 5

# Timeout for each test case (seconds)
timeout_seconds: 60

# Generator settings
generator:
  model: "gpt-4o-mini"  # or local model
  temperature: 0.7
  max_tokens: 500

# Judge settings
judge:
  model: "gpt-4o-mini"
  temperature: 0.0      # Deterministic judging
  max_tokens: 1000

# Test scenarios
scenarios:
  - id: "ambiguous_request"
    description: "Request that needs clarification"
    expected_status: "AWAITING_RESPONSE"

  - id: "clear_summary"
    description: "Request for 3-line summary"
    expected_status: "COMPLETE"

  - id: "evidence_restriction"
    description: "Request with evidence constraints"
    expected_status: "COMPLETE"

  - id: "docs_reorganization"
    description: "Request to reorganize docs (proposal only)"
    expected_status: "AWAITING_RESPONSE"
    requires_reply: true
    reply_flow:
      - reply: "Please use flat structure"
        expected_status: "COMPLETE"
"""


def mistake(text: str) -> str:
    with pytest.raises(ConfigError) as raised:
        parse(text, "s.yaml")
    return str(raised.value)


def test_the_specification_s_sample_is_read() -> None:
    settings = parse(SPECIFIED, "s.yaml")
    assert settings.effective_threshold == 0.74
    assert [scenario.id for scenario in settings.scenarios] == ["ambiguous_request", "clear_summary", "evidence_restriction", "docs_reorganization"]
    assert settings.scenarios[3].reply_flow[0].reply == "Please use flat structure"
    assert (settings.generator.temperature, settings.judge.max_tokens) == (0.7, 1000)


def test_what_is_packaged_is_the_sample_and_the_fifth_scenario_of_its_reports() -> None:
    specified, ours = parse(SPECIFIED, "s.yaml"), parse(packaged(), "packaged")
    assert ours.model_dump(exclude={"scenarios"}) == specified.model_dump(exclude={"scenarios"})
    assert ours.scenarios[:4] == specified.scenarios
    assert [scenario.id for scenario in ours.scenarios[4:]] == ["contradiction_detect"]


def test_a_file_in_the_working_directory_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load()[1] == "the packaged configuration"
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "selftest.yaml").write_text(SPECIFIED.replace("strictness: 0.7", "strictness: 0.5"))
    settings, name = load()
    assert (settings.strictness, name) == (0.5, "config/selftest.yaml")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("strictness: 0.7", "strictnes: 0.7", "line 6: strictnes: unknown key, did you mean strictness?"),
        ("strictness: 0.7", "strictness: 1.5", "line 6: strictness: input should be less than or equal to 1"),
        ("strictness: 0.7", 'strictness: "0.7"', "line 6: strictness: input should be a valid number"),
        ("strictness: 0.7", "strictness: .nan", "line 6: strictness: "),
        ("max_tokens: 500", "max_token: 500", "line 24: generator.max_token: unknown key, did you mean max_tokens?"),
        ("version: 1", "version: 2", "line 3: version: input should be 1"),
        ("timeout_seconds: 60", "timeout_seconds: 0", "line 18: timeout_seconds: "),
        ('    expected_status: "COMPLETE"', '    expected_state: "COMPLETE"', "expected_state: unknown key, did you mean expected_status?"),
        ('id: "clear_summary"', "id: on", "line 38: scenarios.1.id: input should be a valid string"),
        ('id: "clear_summary"', 'id: "../x"', "line 38: scenarios.1.id: "),
        ('id: "clear_summary"', 'id: "ambiguous_request"', "ambiguous_request is given twice"),
        ("    requires_reply: true\n", "", "requires_reply and reply_flow go together"),
        ('"AWAITING_RESPONSE"\n    requires_reply', '"COMPLETE"\n    requires_reply', "AWAITING_RESPONSE"),
        ("min_score_to_pass: 0.6", "min_score_to_pass: 0.9", "nothing could pass"),
        ("version: 1", "version: 1\nversion: 1", "line 4: version: given twice"),
        ("version: 1", "version: 1\nsystem:\n  url: http://x", "line 4: system: names no adapter"),
        ("version: 1", "version: 1\nsystem:\n  adapter: smtp", "adapter is none of http, request, command, python, kafka"),
        ("version: 1", "version: 1\nsystem:\n  adapter: http\n  urll: http://x", "line 6: system.urll: unknown key, did you mean url?"),
        ("version: 1", "version: 1\nsystem:\n  adapter: kafka\n  request_topic: touchstone.generations",
         "line 6: system.request_topic: is no topic of a self-test"),
        ("version: 1", "version: 1\nsystem: {adapter: kafka, request_topic: selftest.a, reply_topic: selftest.a}", "are the same"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_key_and_line(old: str, new: str, told: str) -> None:
    assert old in SPECIFIED
    assert told in mistake(SPECIFIED.replace(old, new, 1))


@pytest.mark.parametrize(
    "text",
    [
        "a: &x [1]\nb: *x",
        "!!python/object/apply:os.system ['true']",
        "a: !!python/name:os.system",
        "a" * 300_000,
        "[" * 5000,
        "version: 1\n\tb: 2",
        "",
        "- 1\n- 2",
        "just text",
        "{a: 1}: 2",
        "a: 1\n<<: {b: 2}",
        "version: 1\n---\nversion: 1",
        "a: \x01",
        "x: [" + "1," * 11_000 + "1]",
        "a: 99999999999999999999-99-99",
    ],
)
def test_what_is_no_plain_document_is_refused_in_one_line(text: str) -> None:
    told = mistake(text)
    assert "\n" not in told
    assert told.startswith("s.yaml")


def test_no_value_is_quoted() -> None:
    assert "hunter2" not in mistake(SPECIFIED.replace("strictness: 0.7", "strictness: hunter2"))
    assert "hunter2" not in mistake("version: 1\nsystem: {adapter: http, url: hunter2}\n" + SPECIFIED.replace("version: 1", ""))


def test_a_temperature_may_be_left_to_the_model() -> None:
    assert parse(SPECIFIED.replace("temperature: 0.7", "temperature: null"), "s").generator.temperature is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [("http://127.0.0.1:3000", HttpSystem), ("python:a.b:c", PythonSystem), ("kafka:selftest.requests,team.selftest-replies", KafkaSystem)],
)
def test_a_system_is_named_in_one_word(text: str, kind: Any) -> None:
    assert isinstance(system_of(text), kind)


@pytest.mark.parametrize(
    "text", ["", "ftp://x", "command:", "python:a", "kafka:one", "kafka:touchstone.results,selftest.a", "kafka:notaselftestx,selftest.a", "http://a b"]
)
def test_a_word_that_names_no_system_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--system"):
        system_of(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("kafka:requests,selftest.replies", "request_topic: is no topic of a self-test"),
        ("http://", "url: is no address"),
        ("python:x", "function: is no function"),
        ("kafka:selftest.a,selftest.a", "request_topic and reply_topic are the same"),
    ],
)
def test_a_system_that_is_none_is_told_in_words(text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=f"^--system: {told}; "):
        system_of(text)
