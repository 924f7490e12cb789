from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from tests.scorers.judges.helpers import PROMPT, names, settings_for
from touchstone.ops.settings import load_settings
from touchstone.schemas.settings.house import Section
from touchstone.scorers.base import ConfigError
from touchstone.scorers.judges import serve
from touchstone.scorers.judges.serve import open_judge
from touchstone.scorers.judges.settings import JudgeSettings, Price, check_names, fingerprint, resolver

KEY = "sk-very-secret"


class Mine(Section):
    judge: JudgeSettings = JudgeSettings()
    strict: bool = False


resolve = resolver(Mine, "MINE_", "mine.json")


def judge_of(env: Mapping[str, str], document: Mapping[str, Any] | None = None) -> JudgeSettings:
    return resolve(env, document).judge


def test_suites_share_the_judge_s_variables() -> None:
    settings = judge_of({"TOUCHSTONE_JUDGE_MODEL": "m", "OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "https://gateway.example.org/v1/", "MINE_STRICT": "true"})
    assert (settings.model, settings.base_url, settings.api_key) == ("m", "https://gateway.example.org/v1", SecretStr(KEY))
    assert KEY not in repr(settings)


def test_touchstone_s_own_names_win_over_customary_ones_and_a_suite_s_over_both() -> None:
    env = {"OPENAI_API_KEY": "customary", "TOUCHSTONE_JUDGE_API_KEY": "own"}
    assert judge_of(env).api_key == SecretStr("own")
    assert judge_of({**env, "MINE_JUDGE_API_KEY": "suite"}).api_key == SecretStr("suite")
    assert judge_of(env, {"judge": {"model": "m", "prices": {"m": {"input_usd": 1, "output_usd": 2}}}}).price_of_model == Price(input_usd=1, output_usd=2)


@pytest.mark.parametrize("name", ["TOUCHSTONE_JUDGE_API_KEY_FILE", "OPENAI_API_KEY_FILE"])
def test_a_key_may_be_in_a_file(tmp_path: Path, name: str) -> None:
    (tmp_path / "key").write_text(f"{KEY}\n")
    assert judge_of({name: str(tmp_path / "key")}).api_key == SecretStr(KEY)


def test_a_variable_can_say_none() -> None:
    settings = judge_of({"TOUCHSTONE_JUDGE_TEMPERATURE": "none", "TOUCHSTONE_JUDGE_SEED": "7", "TOUCHSTONE_JUDGE_BUDGET_USD": "None"})
    assert (settings.temperature, settings.seed, settings.budget_usd) == (None, 7, None)


def test_a_price_can_be_set_by_variables() -> None:
    settings = judge_of({"TOUCHSTONE_JUDGE_PRICE_INPUT_USD": "0.15", "TOUCHSTONE_JUDGE_PRICE_OUTPUT_USD": "0.6"})
    assert settings.price_of_model == Price(input_usd=0.15, output_usd=0.6)
    with pytest.raises(ConfigError, match=r"judge\.price\.output_usd"):
        judge_of({"TOUCHSTONE_JUDGE_PRICE_INPUT_USD": "0.15"})


REFUSED = {
    "plain http with a key": ({"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://models.example.org/v1"}, "use https, or set insecure_http"),
    "another scheme": ({"OPENAI_BASE_URL": "ftp://models.example.org"}, "write the server's base URL"),
    "a key in the URL": ({"OPENAI_BASE_URL": f"https://user:{KEY}@models.example.org/v1"}, "the key goes into api_key"),
    "a query": ({"OPENAI_BASE_URL": f"https://models.example.org/v1?key={KEY}"}, "the key goes into api_key"),
    "a port that is none": ({"OPENAI_BASE_URL": "https://models.example.org:99999/v1"}, "write the server's base URL"),
    "a key with a line end": ({"OPENAI_API_KEY": f"{KEY}\n{KEY}"}, "without blanks"),
    "a bound": ({"TOUCHSTONE_JUDGE_CONCURRENCY": "0"}, "TOUCHSTONE_JUDGE_CONCURRENCY"),
    "no room": ({"TOUCHSTONE_JUDGE_CONTEXT_TOKENS": "2000"}, "leaves no room for a prompt"),
    "delays": ({"TOUCHSTONE_JUDGE_RETRY_BACKOFF_MIN_S": "30"}, "retry_backoff_min_s is above"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_work_is_refused_without_showing_a_key(case: str) -> None:
    env, told = REFUSED[case]
    with pytest.raises(ConfigError, match=told) as caught:
        judge_of(env)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/v1", "http://localhost/v1", "http://[::1]:1/v1", "https://models.example.org/v1"])
def test_a_key_goes_to_this_machine_or_over_https(url: str) -> None:
    assert judge_of({"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": url}).is_usable


def test_a_server_without_a_key_needs_none() -> None:
    assert judge_of({"OPENAI_BASE_URL": "http://models.example.org/v1"}).is_usable
    assert judge_of({"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://models.example.org/v1", "TOUCHSTONE_JUDGE_INSECURE_HTTP": "yes"}).is_usable
    assert not judge_of({}).is_usable


def test_a_judge_without_a_key_says_what_to_set() -> None:
    with pytest.raises(ConfigError, match="a_suite: no key for the judge: set TOUCHSTONE_JUDGE_API_KEY or OPENAI_API_KEY"):
        open_judge(JudgeSettings(), suite="a_suite")


def test_a_judge_that_is_switched_off_is_not_asked_whatever_key_there_is() -> None:
    settings = judge_of({"OPENAI_API_KEY": KEY, "TOUCHSTONE_JUDGE_ENABLED": "false"})
    assert not settings.is_usable
    with pytest.raises(ConfigError, match="a_suite: the judge is switched off: set TOUCHSTONE_JUDGE_ENABLED"):
        open_judge(settings, suite="a_suite")


def test_a_judge_without_its_libraries_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"no module 'openai' here; install the extra judge: "):
        open_judge(JudgeSettings(), suite="a_suite")


def test_a_misspelt_variable_is_refused() -> None:
    check_names({"TOUCHSTONE_JUDGE_MODEL": "m", "TOUCHSTONE_JUDGE_API_KEY_FILE": "f", "TOUCHSTONE_OTHER": "x"})
    with pytest.raises(ConfigError, match="did you mean TOUCHSTONE_JUDGE_MODEL"):
        check_names({"TOUCHSTONE_JUDGE_MODLE": "m"})


def test_a_fingerprint_is_of_what_changes_verdicts_and_of_nothing_else() -> None:
    told = fingerprint(JudgeSettings.model_validate({"api_key": KEY, "seed": 3}), [PROMPT])
    assert told == {"model": "gpt-4o-mini", "temperature": 0.0, "seed": 3, "max_tokens": 2_000, "structured": "auto", "prompts": {"coherence": PROMPT.digest}}
    quiet = JudgeSettings(concurrency=99, base_url="http://127.0.0.1/v1", budget_usd=3, cache="off", timeout_s=3)
    assert fingerprint(quiet) == fingerprint(JudgeSettings())


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        JudgeSettings().model = "m"  # type: ignore[misc]


def test_the_readings_carry_open_telemetry_s_names() -> None:
    readings = list(open_judge(settings_for("http://127.0.0.1:9/v1"), suite="a_suite").readings())
    assert {"gen_ai_client_operation_duration_seconds", "gen_ai_client_token_usage", "judge_calls", "judge_cost_usd", "judge_up"} <= names(readings)
    assert all(("model", "touchstone-scripted") in reading.labels for reading in readings)
    tokens = [reading for reading in readings if reading.name == "gen_ai_client_token_usage"]
    assert {dict(reading.labels)["token_type"] for reading in tokens} == {"input", "output"}
    assert len({(reading.name, reading.labels) for reading in readings}) == len(readings)


PAGE = Path(__file__).parents[3] / "docs" / "judges.md"


def test_the_page_names_every_setting_and_every_metric() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in JudgeSettings.model_fields if f"`{name}`" not in page] == []
    told = names(
        open_judge(settings_for("http://127.0.0.1:9/v1", budget_usd=1, budget_period="run", price=Price(input_usd=1, output_usd=1)), suite="a_suite").readings()
    )
    assert [name for name in sorted(told) if f"`{name}" not in page] == []


def test_touchstone_s_own_settings_leave_the_judge_s_variables_alone() -> None:
    load_settings(env={"TOUCHSTONE_JUDGE_MODEL": "m", "TOUCHSTONE_JUDGE_API_KEY_FILE": "/nowhere"})
    with pytest.raises(ConfigError, match="TOUCHSTONE_JUDGE_MODLE: unknown variable; did you mean TOUCHSTONE_JUDGE_MODEL"):
        load_settings(env={"TOUCHSTONE_JUDGE_MODLE": "m"})
