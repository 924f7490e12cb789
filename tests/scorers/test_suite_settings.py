from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import pytest

from touchstone.schemas.settings.house import Settings
from touchstone.scorers import registry
from touchstone.scorers.base import ConfigError
from touchstone.scorers.installing import install_extras
from touchstone.scorers.registry import load_suite, missing_libraries, suite_entry_points, why_not_here
from touchstone.scorers.suite import unknown_suite
from touchstone.scorers.suite_settings import suite_settings, suite_settings_for_files
from touchstone.streams.process import suites

HOUSE = tuple(load_suite(name) for name, point in sorted(suite_entry_points().items()) if point.module.startswith("touchstone."))


def without(monkeypatch: pytest.MonkeyPatch, *missing: str) -> None:
    def find(name: str) -> Any:
        return None if name in missing else find_spec("json")

    monkeypatch.setattr(registry, "find_spec", find)


def test_a_suite_without_its_libraries_names_the_extras_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "onnxruntime", "torch", "pysbd")
    assert why_not_here("summary_loss") == f"its libraries are missing; {install_extras('nli-onnx', 'summary')}"
    assert why_not_here("safe_v0") is None


@pytest.mark.parametrize("missing", ["onnxruntime", "torch"])
def test_one_of_two_libraries_that_do_the_same_is_enough(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    without(monkeypatch, missing)
    assert missing_libraries({"onnxruntime|torch": "nli-onnx"}) is None
    assert missing_libraries({"onnxruntime|torch": "nli-onnx", missing: "other"}) == f"its libraries are missing; {install_extras('other')}"


def test_a_suite_with_its_libraries_can_run(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch)
    assert why_not_here("summary_loss") is None


def test_a_suite_that_is_not_installed_cannot_run() -> None:
    assert "is not installed" in (why_not_here("nonsense") or "")


def test_what_a_suite_notes_reaches_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    suite = replace(load_suite("safe_v0"), notes=lambda settings: [f"{type(settings).__name__} as given"])
    monkeypatch.setattr(suites, "load_suite", lambda _: suite)
    assert suites.planned_suite("safe_v0", Settings()).build().notes == ("SafeSettings as given",)


@pytest.mark.parametrize(("env", "topics"), [({}, ()), ({"CLINICAL_JUDGE_REQUESTS": "true"}, ("judge",))])
def test_a_suite_hands_cases_on_where_its_settings_say_so(monkeypatch: pytest.MonkeyPatch, env: dict[str, str], topics: tuple[str, ...]) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert suites.planned_suite("clinical", Settings()).hands_on == topics


@pytest.mark.parametrize("quote", [True, False])
def test_every_suite_that_can_quote_can_be_told_for_one_run_whether_to(quote: bool) -> None:
    quoting = [suite for suite in HOUSE if hasattr(suite_settings(suite), "quote")]
    assert {"clinical", "safe_v0", "summary_loss"} <= {suite.name for suite in quoting}
    for suite in quoting:
        settings: Any = suite_settings_for_files(suite, None, {"quote": quote})
        assert settings.quote is quote
    assert suite_settings_for_files(HOUSE[0]) == suite_settings(HOUSE[0])


def test_a_suite_that_cannot_quote_says_so() -> None:
    with pytest.raises(ConfigError, match=r"^--quote: the suite toy has no setting quote; leave the option out$"):
        suite_settings_for_files(unknown_suite("toy", "1"), None, {"quote": True})
