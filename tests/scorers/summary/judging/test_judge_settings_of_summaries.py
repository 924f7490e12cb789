from typing import Any

import pytest

from touchstone.scorers.base import ConfigError
from touchstone.scorers.identity import config_digest
from touchstone.scorers.summary.settings import OF_JUDGE, fingerprint, resolve


def digest(document: dict[str, Any], env: dict[str, str] | None = None) -> str:
    return config_digest(fingerprint(resolve(env or {}, document)))


def test_without_a_judge_nothing_of_it_is_in_the_fingerprint() -> None:
    told = fingerprint(resolve({}, {}))
    assert not OF_JUDGE & told.keys()
    assert told["support"] == "calibrated"
    plain = digest({})
    for document in ({"judge": {"model": "other"}}, {"judge_band_low": 0.3}, {"judge_facts_max": 1}, {"on_budget": "shed"}):
        assert digest(document) == plain, document


def test_with_a_judge_what_changes_verdicts_or_what_is_asked_is_in_the_digest_and_nothing_else() -> None:
    env = {"TOUCHSTONE_JUDGE_API_KEY": "key-of-a-test"}
    judged = digest({"support": "judge"}, env)
    assert judged != digest({}, env)
    changing: list[dict[str, Any]] = [{"judge": {"model": "other"}}, {"judge_band_low": 0.3}, {"judge_band_high": 0.6}, {"judge_facts_max": 1}]
    changing += [{"judge_sentences_max": 1}, {"judge_source_chars_max": 1}]
    for document in changing:
        assert digest({"support": "judge", **document}, env) != judged, document
    same: list[dict[str, Any]] = [{"on_budget": "shed"}, {"judge": {"concurrency": 3}}, {"judge": {"base_url": "http://127.0.0.1:9/v1"}}]
    for document in same:
        assert digest({"support": "judge", **document}, env) == judged, document


def test_without_a_key_the_digest_says_that_nobody_is_asked() -> None:
    assert digest({"support": "judge"}) != digest({"support": "judge"}, {"OPENAI_API_KEY": "key-of-a-test"})


def test_shared_variables_that_cannot_be_used_matter_only_where_a_judge_is_asked() -> None:
    env = {"OPENAI_BASE_URL": "http://elsewhere.example:4000/v1", "OPENAI_API_KEY": "key-of-a-test"}
    assert not resolve(env, {}).asks_judge
    with pytest.raises(ConfigError, match="plain http"):
        resolve(env | {"SUMMARY_LOSS_SUPPORT": "judge"}, {})


@pytest.mark.parametrize(
    ("document", "named"),
    [
        ({"support": "judge", "precision": "summac"}, "needs precision nearest or ratio"),
        ({"judge_band_low": 0.9, "judge_band_high": 0.1}, "judge_band_low is above"),
    ],
)
def test_a_setting_that_a_judge_cannot_work_with_is_refused(document: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        resolve({}, document)


def test_the_models_beneath_a_judge_are_those_of_auto() -> None:
    assert resolve({}, {"support": "judge"}).supported_by == resolve({}, {}).supported_by == "calibrated"
    assert resolve({}, {"support": "judge", "engines": {"nli_model": "a/b"}}).supported_by == "nli"
