"""The NLI benchmark: its arithmetic, its workload, and that a quick run on a tiny model reports every figure. No figure of time is judged."""

import json
import math
import os
import subprocess
import sys
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from touchstone.ops.lab.bench.nli.gpu import Shape, ceiling, timed
from touchstone.ops.lab.bench.nli.load import arrivals
from touchstone.ops.lab.bench.nli.rates import ENGINE, ONE_CALL, Rates
from touchstone.ops.lab.bench.nli.report import aims, report
from touchstone.ops.lab.bench.nli.workload import SENTENCE_ENDS, note_events, summary_events
from touchstone.schemas.case import validate_case
from touchstone.schemas.summary import SummaryCase

MINILM = Shape(layers=6, hidden=384, intermediate=1536)


def test_flops_of_minilm_follow_the_published_formula() -> None:
    for tokens in (32, 128, 256, 512):
        assert MINILM.flops(tokens) == pytest.approx((21_233_664 + 9_216 * tokens) * tokens)


def test_flops_of_a_base_model_count_all_of_its_layers() -> None:
    assert Shape(layers=12, hidden=768, intermediate=3072).flops(128) == pytest.approx((169_869_312 + 36_864 * 128) * 128)


def test_ceiling_is_peak_over_work() -> None:
    assert ceiling(790e12, MINILM, 128) == pytest.approx(275_000, rel=0.01)


def test_timed_leaves_the_first_calls_out_and_waits_for_each() -> None:
    calls: list[str] = []
    assert timed(lambda: calls.append("work"), lambda: calls.append("wait"), repeats=2) >= 0
    assert calls == ["work", "wait"] * 5


def test_gpu_part_says_in_one_line_that_it_was_not_run() -> None:
    env = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, "-m", "touchstone.ops.lab", "bench", "nli-gpu"], check=False, capture_output=True, text=True, env=env, timeout=500)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 1
    assert "not run" in done.stdout


def test_events_are_valid_and_the_same_for_the_same_seed() -> None:
    events = summary_events(14, "a")
    assert events == summary_events(14, "a")
    assert all(validate_case(SummaryCase, event).datum is not None for event in [*events, *note_events(14, "a")])


def test_no_generated_sentence_occurs_twice() -> None:
    sentences = [sentence for event in summary_events(40, "a") for sentence in SENTENCE_ENDS.split(event["generated"])]
    assert len(set(sentences)) > 0.98 * len(sentences)


def test_names_in_a_perturbed_case_still_match_its_entities() -> None:
    event = summary_events(1, "a")[0]
    assert event["datum"]["summary"]["entity_list"][0] in event["datum"]["summary"]["summary"]


def test_arrivals_offer_the_rate_that_was_asked_for() -> None:
    due = arrivals(50, 5.0, "seed")
    assert due[-1] == pytest.approx(10.0)
    assert all(before <= after for before, after in pairwise(due))


def test_ratio_is_the_median_of_what_each_repeat_gave() -> None:
    rates = Rates(events=1, pairs=[100, 100, 100], seconds={ENGINE: [1, 1, 4], ONE_CALL: [2, 3, 4]}, counted={ENGINE: [100] * 3, ONE_CALL: [100] * 3})
    assert rates.ratios(ENGINE, ONE_CALL) == [2, 3, 1]
    assert rates.ratio(ENGINE, ONE_CALL) == 2
    assert rates.ratio(ENGINE, "nobody") is None


def tiny_model(folder: Path) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch
        from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

        from touchstone.scorers.engines.encoders import default_base

        torch.manual_seed(7)
        labels = {0: "entailment", 1: "neutral", 2: "contradiction"}
        config = BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, id2label=labels, num_labels=3)
        BertForSequenceClassification(config).save_pretrained(folder)
        AutoTokenizer.from_pretrained(default_base(), local_files_only=True).save_pretrained(folder)
    return folder


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for each in value.values() for leaf in leaves(each)]
    return [leaf for each in value for leaf in leaves(each)] if isinstance(value, list) else [value]


@pytest.mark.slow(30)
@pytest.mark.bench
@pytest.mark.timeout(1200)
def test_quick_run_reports_every_figure(tmp_path: Path) -> None:
    model = tiny_model(tmp_path / "tiny")
    command = [
        sys.executable,
        "-m",
        "touchstone.ops.lab",
        "bench",
        "nli",
        "--quick",
        "--json",
        "--model",
        str(model),
        "--pairs",
        "142",
        "--repeats",
        "1",
        "--seconds",
        "1",
        "--threads",
        "1",
        "--output",
        str(tmp_path / "bench.md"),
    ]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=1100)
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout)
    assert {"machine", "engine", "whole", "notes", "agreement", "batches", "cold_start", "latency", "prefilter", "aims", "load_before"} <= told.keys()
    assert all(math.isfinite(leaf) for leaf in leaves(told) if isinstance(leaf, float))
    assert {"suite over engine", "engine over per event", "engine over one call"} <= told["whole"]["ratios"].keys()
    # The suite asked the model exactly the pairs that the others were given.
    assert told["whole"]["pairs_counted"] == {}
    assert told["agreement"]["same type, one call"]["difference_max"] < 0.02
    # Batches of a quick run are small, and each may hold a few padding tokens whatever its size.
    assert told["batches"]["padding_share"] <= 0.12
    assert {"total_s", "libraries_s", "load_s", "warm_up_s", "first_score_s"} <= told["cold_start"].keys()
    assert all(each["p50_ms"] <= each["p99_ms"] <= each["max_ms"] for each in told["latency"])
    assert 0 < told["prefilter"]["pairs_share"] < 1
    assert len(told["aims"]) == len(aims(told)) == 6
    assert (tmp_path / "bench.md").read_text(encoding="utf-8") == report(told)
