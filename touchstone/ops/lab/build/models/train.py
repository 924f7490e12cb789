"""Train the default NLI model; a run that was stopped continues from its last checkpoint. The recipe is in the model's card."""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

from touchstone.ops.lab.build.models.mixture import Terms, added, phases
from touchstone.ops.lab.build.models.pairs import Pair
from touchstone.ops.lab.command import Arguments
from touchstone.scorers.base import ConfigError
from touchstone.scorers.installing import install_extras

if TYPE_CHECKING:
    from touchstone.ops.lab.build.models.loop import Recipe


def main(arguments: Sequence[str]) -> None:
    """Train and write."""
    parser = Arguments("build nli-model", __doc__)
    parser.data("folder of <set>.jsonl.gz files", required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder for checkpoints and the adapter")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads (0: all)")
    parser.add_argument("--steps-max", type=int, help="stop after this many steps (the schedule is then that long)")
    parser.add_argument("--save-every", type=int, default=250, help="steps between checkpoints")
    parser.add_argument("--terms", default="stated,literature,none", help="use sets whose licence is: stated, literature, none (comma-separated)")
    parser.add_argument("--start-from", type=Path, metavar="DIR", help="begin with the adapter in DIR instead of an untrained one")
    parser.add_argument("--late-only", action="store_true", help="skip the first phase: the broad sets")
    parser.add_argument("--base-folder", type=Path, metavar="DIR", help="the weights of the recipe's base (default: the package's)")
    parser.add_argument("--pairs-max", type=int, metavar="N", help="draw so many pairs of the mixture")
    parser.add_argument("--taught", type=Path, metavar="FILE", help="pairs with a teacher's answers (build nli-teacher), added to the second phase")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="another value for one choice of the recipe")
    asked = parser.parse_args(arguments)
    terms = asked.terms.split(",")
    if not set(terms) <= set(get_args(Terms)):
        parser.error(f"--terms {asked.terms}: choose from {', '.join(get_args(Terms))}")
    try:
        import torch
        from transformers import AutoTokenizer, logging

        from touchstone.ops.lab.build.models.loop import Recipe, Run, adapted_model
        from touchstone.scorers.engines.encoders import default_base
    except ModuleNotFoundError as missing:
        raise ConfigError(f"training needs the module {missing.name}; {install_extras('nli')}") from None
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    recipe = Recipe()
    try:
        kinds = {field.name: type(getattr(recipe, field.name)) for field in fields(Recipe)}
        recipe = replace(recipe, **{name: kinds[name](value) for name, value in (item.split("=", 1) for item in asked.set)})
    except (KeyError, ValueError) as problem:
        parser.error(f"--set: {problem}; names are {', '.join(field.name for field in fields(Recipe))}")
    torch.set_num_threads(asked.threads or torch.get_num_threads())
    base = str(asked.base_folder or default_base())
    try:
        early, late, used = drawn(asked, recipe, cast("list[Terms]", terms))
        run = Run(adapted_model(base, recipe), AutoTokenizer.from_pretrained(base), recipe, asked.out, say=lambda line: print(line, flush=True))
        if asked.start_from is not None:
            run.start_from(asked.start_from)
        run.train(early, late, save_every=asked.save_every, steps_max=asked.steps_max)
    except (OSError, ValueError) as problem:
        raise ConfigError(str(problem)) from None
    (asked.out / "data.json").write_text(json.dumps(used, indent=2) + "\n", encoding="utf-8")


def drawn(asked: argparse.Namespace, recipe: Recipe, terms: list[Terms]) -> tuple[list[Pair], list[Pair], dict[str, tuple[int, int]]]:
    """The pairs of both phases, and how many each set gives to each."""
    early, late, used = phases(asked.data, seed=recipe.seed, terms=terms, edits=recipe.edits, unrelated=recipe.unrelated, values=recipe.values)
    if asked.late_only:
        early, used = [], {name: (0, count) for name, (_, count) in used.items()}
    if asked.pairs_max is not None and asked.pairs_max < len(early) + len(late):
        chance = random.Random(recipe.seed)  # a draw, not a secret
        share = asked.pairs_max / (len(early) + len(late))
        early, late = chance.sample(early, int(len(early) * share)), chance.sample(late, int(len(late) * share))
    more = added(asked.data, seed=recipe.seed, terms=terms, long=recipe.long, rewordings=recipe.rewordings, words_max=recipe.long_words)
    for name, made in more.items():
        late += made
        used[name] = (0, len(made))
    random.Random(recipe.seed).shuffle(late)  # an order, not a secret
    if asked.taught is not None:
        from touchstone.ops.lab.build.models.teach import taught

        late += taught(asked.taught)
        random.Random(recipe.seed).shuffle(late)  # an order, not a secret
    return early, late, used
