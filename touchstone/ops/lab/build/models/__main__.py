"""Train the default NLI model: `python -m touchstone.ops.lab.build.models --data DIR --out DIR`; a run that was stopped goes on from its last checkpoint."""

from __future__ import annotations

import argparse
import json
import random
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import cast, get_args

from touchstone.ops.lab.build.models.mixture import Terms, phases


def main(arguments: list[str] | None = None) -> int:
    """Parse, train, write. Returns the exit code: 0, or 3 with one line that says what to fix."""
    parser = argparse.ArgumentParser(prog="python -m touchstone.ops.lab.build.models", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of <set>.jsonl.gz files")
    parser.add_argument("--out", type=Path, required=True, help="folder for checkpoints and the adapter")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads (0: all)")
    parser.add_argument("--steps-max", type=int, help="stop after this many steps (the schedule is then that long)")
    parser.add_argument("--save-every", type=int, default=250, help="steps between checkpoints")
    parser.add_argument("--terms", default="stated,literature,none", help="use sets whose licence is: stated, literature, none (comma-separated)")
    parser.add_argument("--start-from", type=Path, metavar="DIR", help="begin with the adapter in DIR instead of an untrained one")
    parser.add_argument("--late-only", action="store_true", help="skip the first phase: the broad sets")
    parser.add_argument("--base-folder", type=Path, metavar="DIR", help="the weights of the recipe's base (default: the package's)")
    parser.add_argument("--pairs-max", type=int, metavar="N", help="draw so many pairs of the mixture")
    parser.add_argument(
        "--taught", type=Path, metavar="FILE", help="pairs with a teacher's answers (touchstone.ops.lab.build.models.teach), added to the second phase"
    )
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="another value for one choice of the recipe")
    told = parser.parse_args(arguments)
    terms = told.terms.split(",")
    if not set(terms) <= set(get_args(Terms)):
        return _say_and_fail(f"--terms {told.terms}: choose from {', '.join(get_args(Terms))}")
    try:
        import torch
        from transformers import AutoTokenizer, logging

        from touchstone.ops.lab.build.models.loop import Recipe, Run, adapted_model
        from touchstone.scorers.engines.encoders import default_base
    except ModuleNotFoundError as missing:
        return _say_and_fail(f"training needs the extra 'nli' ({missing.name} is missing): pip install 'touchstone-stream[nli]'")
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    recipe = Recipe()
    try:
        kinds = {field.name: type(getattr(recipe, field.name)) for field in fields(Recipe)}
        recipe = replace(recipe, **{name: kinds[name](value) for name, value in (item.split("=", 1) for item in told.set)})
    except (KeyError, ValueError) as problem:
        return _say_and_fail(f"--set: {problem}; names are {', '.join(field.name for field in fields(Recipe))}")
    torch.set_num_threads(told.threads or torch.get_num_threads())
    base = str(told.base_folder or default_base())
    try:
        early, late, used = phases(
            told.data, seed=recipe.seed, terms=cast("list[Terms]", terms), edits=recipe.edits, unrelated=recipe.unrelated, values=recipe.values
        )
        if told.late_only:
            early, used = [], {name: (0, count) for name, (_, count) in used.items()}
        if told.pairs_max is not None and told.pairs_max < len(early) + len(late):
            chance = random.Random(recipe.seed)  # a draw, not a secret
            share = told.pairs_max / (len(early) + len(late))
            early, late = chance.sample(early, int(len(early) * share)), chance.sample(late, int(len(late) * share))
        if told.taught is not None:
            from touchstone.ops.lab.build.models.teach import taught

            late += taught(told.taught)
            random.Random(recipe.seed).shuffle(late)  # an order, not a secret
        run = Run(adapted_model(base, recipe), AutoTokenizer.from_pretrained(base), recipe, told.out, say=lambda line: print(line, flush=True))
        if told.start_from is not None:
            run.start_from(told.start_from)
        run.train(early, late, save_every=told.save_every, steps_max=told.steps_max)
    except (OSError, ValueError) as problem:
        return _say_and_fail(str(problem))
    (told.out / "data.json").write_text(json.dumps(used, indent=2) + "\n", encoding="utf-8")
    return 0


def _say_and_fail(line: str) -> int:
    sys.stderr.write(f"touchstone: {line}\n")
    return 3


if __name__ == "__main__":
    sys.exit(main())
