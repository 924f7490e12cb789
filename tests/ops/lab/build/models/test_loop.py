import math
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lazily import lazily
from tests.ops.lab.laboratory import Laboratory
from touchstone.ops.lab.build.models.pairs import NOT_ENTAILMENT, Pair

with lazily():
    import torch
    from safetensors.torch import load_file

    from touchstone.ops.lab.build.models.loop import Recipe, Run, adapted_model, batches, loss_of, rate

pytestmark = pytest.mark.xdist_group("models")


def test_two_way_rows_are_asked_only_whether_they_entail() -> None:
    logits = torch.log(torch.tensor([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]]))
    loss = loss_of(logits, torch.tensor([0, NOT_ENTAILMENT]), 0.0)
    assert float(loss) == pytest.approx((-math.log(0.5) - math.log(0.3 + 0.2)) / 2)


def test_smoothing_leaves_the_uniform_answer_where_it_is() -> None:
    logits = torch.zeros(1, 3)
    assert float(loss_of(logits, torch.tensor([1]), 0.3)) == pytest.approx(math.log(3))


@given(st.lists(st.integers(1, 160), min_size=1, max_size=300), st.integers(160, 2_000))
def test_every_pair_is_in_one_batch_and_no_batch_is_above_the_budget(lengths: list[int], budget: int) -> None:
    made = batches(lengths, budget=budget, window=64, chance=random.Random(1))
    assert sorted(index for batch in made for index in batch) == list(range(len(lengths)))
    assert all(max(lengths[index] for index in batch) * len(batch) <= budget for batch in made)


def test_the_first_phase_is_over_before_the_second_begins() -> None:
    made = batches([10] * 200, budget=100, window=100, chance=random.Random(1))
    assert max(index for batch in made[: len(made) // 2] for index in batch) < 100


def test_the_rate_rises_and_falls() -> None:
    recipe = Recipe()
    shares = [rate(step, 1_000, recipe) for step in range(1_000)]
    assert max(shares) == pytest.approx(1, abs=1e-3)
    assert shares.index(max(shares)) <= 1_000 * recipe.warmup_share
    assert shares[-1] == pytest.approx(recipe.floor_share, abs=1e-3)


@pytest.mark.parametrize(("arguments", "code"), [(("--set", "speed=1"), 2), (("--terms", "any"), 2), ((), 3)])
def test_a_wrong_choice_and_missing_data_are_one_line(capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path, arguments: tuple[str, ...], code: int) -> None:
    ran = Laboratory(capfdbinary)("build", "nli-model", "--data", tmp_path, "--out", tmp_path, *arguments)
    assert ran.code == code
    assert ran.one_line


@pytest.mark.slow
def test_a_stopped_run_goes_on_to_the_same_adapter(tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    from touchstone.scorers.engines.encoders import default_base

    base = str(default_base())
    tokenizer = AutoTokenizer.from_pretrained(base)
    recipe = Recipe(rank=2, alpha=2, batch_tokens=128, dropout=0.0)
    pairs = [Pair(f"Room {number} is open.", f"Room {number} is {'open' if number % 2 else 'shut'}.", 0 if number % 2 else 2) for number in range(40)]

    def run(out: Path, recipe: Recipe = recipe) -> Run:
        return Run(adapted_model(base, recipe), tokenizer, recipe, out, say=lambda _: None)

    run(tmp_path / "whole").train(pairs, pairs, save_every=100, steps_max=6)
    whole = load_file(tmp_path / "whole" / "adapter_model.safetensors")
    stop_after(run(tmp_path / "stopped"), 3, pairs)
    run(tmp_path / "stopped").train(pairs, pairs, save_every=100, steps_max=6)
    resumed = load_file(tmp_path / "stopped" / "adapter_model.safetensors")
    assert resumed.keys() == whole.keys()
    assert all(torch.allclose(resumed[name].float(), whole[name].float(), atol=1e-3) for name in whole)
    with pytest.raises(ValueError, match="another recipe"):
        run(tmp_path / "stopped", replace(recipe, seed=1)).train(pairs, pairs, save_every=1)


def stop_after(run: Run, steps: int, pairs: list[Pair]) -> None:
    """Stop as a killed process does: right after a checkpoint."""

    class Killed(Exception):
        pass

    checkpoint = run._checkpoint

    def and_die() -> None:
        checkpoint()
        raise Killed

    run._checkpoint = and_die  # type: ignore[method-assign]
    with pytest.raises(Killed):
        run.train(pairs, pairs, save_every=steps, steps_max=6)


@pytest.mark.slow
def test_a_run_can_begin_with_another_runs_adapter(tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    from touchstone.scorers.engines.encoders import default_base

    base = str(default_base())
    tokenizer = AutoTokenizer.from_pretrained(base)
    recipe = Recipe(rank=2, alpha=2, batch_tokens=128, dropout=0.0)
    pairs = [Pair(f"Room {number} is open.", "A room is open.", 0) for number in range(20)]
    first = Run(adapted_model(base, recipe), tokenizer, recipe, tmp_path / "first", say=lambda _: None)
    first.train(pairs, [], save_every=10, steps_max=3)
    second = Run(adapted_model(base, replace(recipe, seed=2)), tokenizer, recipe, tmp_path / "second", say=lambda _: None)
    second.start_from(tmp_path / "first")
    assert all(torch.allclose(second.trained[name], first.average[name], atol=1e-3) for name in first.trained)
    wider = replace(recipe, rank=3)
    with pytest.raises(ValueError, match="rank"):
        Run(adapted_model(base, wider), tokenizer, wider, tmp_path / "wider", say=lambda _: None).start_from(tmp_path / "first")


def test_what_a_teacher_doubts_is_learned_as_doubt() -> None:
    logits = torch.log(torch.tensor([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]]))
    targets = torch.tensor([0, 0])
    told = torch.tensor([[0.5, 0.3, 0.2], [float("nan")] * 3])
    entropy = -(0.5 * math.log(0.5) + 0.3 * math.log(0.3) + 0.2 * math.log(0.2))
    assert loss_of(logits, targets, 0.0, told).item() == pytest.approx((entropy - math.log(0.5)) / 2)
    assert loss_of(logits, targets, 0.0).item() == pytest.approx(-math.log(0.5))
