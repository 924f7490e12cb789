import os
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import pytest

from touchstone.ops.local.demo_parts import FromFiles, Part, choose_parts, compare_results, score_files, settings_shown
from touchstone.schemas.result import FileRef, Problem, ScoreResult
from touchstone.scorers.base import Samples
from touchstone.scorers.installing import install_extras
from touchstone.scorers.registry import load_suite, suite_entry_points


def without(monkeypatch: pytest.MonkeyPatch, *missing: str) -> None:
    monkeypatch.setattr("touchstone.scorers.registry.find_spec", lambda name: None if name in missing else find_spec(name))


@pytest.fixture(scope="module")
def safe() -> tuple[Part, FromFiles]:
    """A suite that needs nothing, with the results of its files."""
    part = next(part for part in choose_parts(os.environ)[0] if part.suite.name == "safe_v0")
    return part, score_files(part)


def test_what_needs_least_is_shown_first() -> None:
    parts, left_out = choose_parts({})
    needs = [len({**part.suite.requires, **part.samples.requires}) for part in parts]
    assert needs == sorted(needs)
    assert {part.suite.name for part in parts} | {line.partition(":")[0] for line in left_out} == set(suite_entry_points())


def test_what_cannot_run_here_is_left_out_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "ucumvert", "onnxruntime", "torch", "pysbd", "openai")
    parts, left_out = choose_parts({})
    of_specifications = ("clinical", "safe_v0", "summary_loss")
    assert [part.suite.name for part in parts if part.suite.name.startswith(of_specifications)] == ["safe_v0"]
    assert [line for line in left_out if line.startswith(of_specifications)] == [
        f"clinical: its libraries are missing; {install_extras('clinical')}",
        "clinical_conformance: it brings no samples",
        f"clinical_judge: its libraries are missing; {install_extras('judge')}",
        f"summary_loss: its libraries are missing; {install_extras('nli-onnx', 'summary')}",
    ]


def test_a_suite_without_samples_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchstone.ops.local.demo_parts.load_suite", lambda name: replace(load_suite(name), samples=None))
    monkeypatch.setattr("touchstone.ops.local.demo_parts.suite_entry_points", lambda: {"safe_v0": None})
    assert choose_parts({}) == ([], ["safe_v0: it brings no samples"])


def test_the_samples_own_settings_win_over_the_environment() -> None:
    part = next(part for part in choose_parts({"SAFE_V0_QUOTE": "false", "SAFE_V0_CR_PASS": "0.9"})[0] if part.suite.name == "safe_v0")
    shown = part.settings.model_dump(by_alias=True)
    assert (shown["quote"], shown["thresholds"]["CR"]["pass"]) == (True, 0.9)


def test_equal_results_have_no_differences(safe: tuple[Part, FromFiles]) -> None:
    part, files = safe
    assert len(files.results) == 44
    assert compare_results(part, files.results, files) == []


def test_a_live_result_that_differs_is_told(safe: tuple[Part, FromFiles]) -> None:
    part, files = safe
    first, *rest = files.results
    changed = first.model_copy(update={"label": "unscored"})
    assert compare_results(part, [changed, *rest], files) == [f"{first.event_id}: label (unscored live, {first.label} from files)"]


def test_a_file_that_was_not_read_and_a_sample_that_missed_its_purpose_are_told(safe: tuple[Part, FromFiles]) -> None:
    part, files = safe
    unread = FromFiles([Problem(source=FileRef(file="a.json"), what="is empty")], files.facts)

    def unexpected(results: Any) -> list[str]:
        assert all(isinstance(result, ScoreResult) for result in results)
        return ["s1: no result"]

    purposeful = replace(part, samples=Samples((), unexpected=unexpected))
    assert compare_results(purposeful, [], unread) == ["a.json: is empty", "s1: no result"]


def test_of_many_differences_the_rest_is_counted(safe: tuple[Part, FromFiles]) -> None:
    part, files = safe
    told = compare_results(part, [], files)
    assert len(told) == 9
    assert told[-1] == "and 36 more"


def test_settings_are_shown_without_the_way_to_a_file() -> None:
    assert settings_shown(Samples((), env={"A_GOLD": "/somewhere/golds.jsonl", "A_DTYPE": "float32"})) == "A_GOLD=golds.jsonl, A_DTYPE=float32"
