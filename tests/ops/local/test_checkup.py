from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from touchstone.ops.local.checkup import check_suite, check_suites
from touchstone.scorers.base import Check
from touchstone.scorers.installing import install_extras
from touchstone.scorers.registry import load_suite
from touchstone.scorers.suite import unknown_suite

CANARY = "zanzibar-canary"
TOY = unknown_suite("toy", "1.0")


def test_a_suite_s_own_checks_are_told() -> None:
    found = Check("toy", "note", "no model; scores are of the small one")
    assert list(check_suite(replace(TOY, doctor=lambda _: [found]))) == [found]


def test_what_a_suite_notes_of_its_settings_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchstone.scorers.registry.why_not_here", lambda _: None)
    assert list(check_suite(replace(TOY, notes=lambda _: ["the small model"]))) == [Check("suites", "good", "toy: the small model")]


@pytest.mark.parametrize("name", ["clinical_judge", "safe_v0", "summary_loss"])
def test_a_judge_without_a_key_is_a_note_and_one_with_a_key_is_in_order(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "TOUCHSTONE_JUDGE_API_KEY", "TOUCHSTONE_JUDGE_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("SAFE_V0_AH_JUDGE", "on")
    monkeypatch.setenv("SUMMARY_LOSS_SUPPORT", "judge")
    suite = replace(load_suite(name), doctor=None)
    (lacking,) = [check for check in check_suite(suite) if "judge" in check.what and "no key" in check.what]
    assert lacking.state == "note"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    (usable,) = [check for check in check_suite(suite) if "judge: " in check.what]
    assert usable.state == "good"


def test_a_suite_without_checks_says_nothing() -> None:
    assert list(check_suite(TOY)) == []


def test_a_suite_s_check_that_fails_to_run_is_one_finding_and_quotes_nothing() -> None:
    def broken(_: Any) -> Iterator[Check]:
        yield Check("toy", "good", "so far")
        raise ValueError(CANARY)

    first, second = check_suite(replace(TOY, doctor=broken))
    assert first.state == "good"
    assert (second.state, second.what) == ("bad", "toy: its own check failed with ValueError")
    assert CANARY not in second.fix


def test_a_suite_whose_libraries_are_missing_is_a_note_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchstone.scorers.registry.find_spec", lambda name: None if name in {"onnxruntime", "torch"} else name)
    notes = [check.what for check in check_suites([]) if check.state == "note"]
    version = load_suite("summary_loss").version
    assert notes == [f"summary_loss {version}, reads generations; cannot run here: its libraries are missing; {install_extras('nli-onnx')}"]
