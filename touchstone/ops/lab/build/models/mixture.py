"""Which pairs the default NLI model learns from, in which order, and under which terms.

A folder of `<set>.jsonl.gz` files is expected, each row `{"id", "premise", "hypothesis", "label"}` with the label entailment, neutral,
contradiction or not_entailment (a set that knows only two answers).
"""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import orjson

from touchstone.ops.lab.build.models.pairs import TARGETS, Pair

Terms = Literal["stated", "literature", "none"]


@dataclass(frozen=True, slots=True)
class Source:
    """How one set is used: at most `cap` rows in the first phase and `late` in the second, under `terms`.

    `terms` is `stated` where the repository or the set names a licence that permits use and redistribution of derived weights,
    `literature` where only the paper names one, `none` where there is no source.
    """

    name: str
    terms: Terms
    cap: int
    late: int
    licence: str


# The broad sets come first and the MNLI-like, contrastive ones last: sets of fact verification teach "is this fact present", and cost
# three-way accuracy when they come last. Left out: sets without any terms (LingNLI excepted, see the model card), and all that forbid
# commercial use.
SOURCES: tuple[Source, ...] = (
    Source("newproto", "stated", 20_000, 39_800, "CC BY-SA 3.0 (Wikipedia premises)"),
    Source("lingnli_train", "none", 22_000, 44_939, "none stated (premises from MNLI)"),
    Source("mnli_train_sample", "stated", 9_869, 9_869, "MNLI terms (OANC and others)"),
    Source("mnli_olora", "stated", 2_908, 2_908, "MNLI terms (OANC and others)"),
    Source("cad_nli_train_dev", "stated", 0, 9_289, "Apache-2.0"),
    Source("snli_train_sub", "stated", 20_000, 0, "CC BY-SA 4.0"),
    Source("snli_train_cat", "stated", 10_000, 6_000, "CC BY-SA 4.0"),
    Source("snli_dev_as_train", "stated", 9_840, 0, "CC BY-SA 4.0"),
    Source("conjnli", "stated", 616, 616, "MIT (repository), CC BY-SA (Wikipedia)"),
    Source("breaking_nli", "stated", 2_500, 0, "CC BY-SA 4.0"),
    Source("med", "stated", 2_500, 0, "CC BY-SA 4.0"),
    Source("fever_ggkorn", "literature", 12_000, 4_000, "CC BY-SA 3.0 (FEVER)"),
    Source("fever_rte_dev", "literature", 8_000, 3_000, "CC BY-SA 3.0 (FEVER)"),
    Source("fever_symmetric", "stated", 1_091, 1_091, "MIT, CC BY-SA 3.0"),
    Source("feverous_dev", "stated", 2_949, 0, "CC BY-SA 3.0"),
    Source("fm2", "stated", 2_540, 2_540, "Apache-2.0"),
    Source("climate_fever", "literature", 4_000, 0, "CC BY-SA (paper)"),
    Source("begin", "stated", 4_363, 0, "CC BY 3.0"),
    Source("propsegment_dev", "stated", 1_049, 1_049, "CC BY-SA 3.0"),
    Source("cur_drop", "stated", 9_000, 0, "MIT (repository), CC BY-SA 4.0 (DROP)"),
    Source("cur_entailment_tree", "stated", 1_644, 0, "MIT (repository), CC BY 4.0"),
    Source("cur_lexical", "stated", 3_000, 0, "MIT"),
    Source("med_evinf", "stated", 6_000, 2_000, "MIT"),
    Source("med_citint", "stated", 2_787, 0, "MIT (repository)"),
    Source("med_checkcovid", "stated", 1_501, 1_501, "MIT"),
    Source("syn_conjnli_adv15k", "stated", 4_000, 0, "MIT (repository), CC BY-SA (Wikipedia)"),
    Source("syn_help", "stated", 1_500, 0, "CC BY-SA 4.0"),
    Source("syn_cur_negation", "stated", 1_000, 0, "MIT"),
    Source("syn_cur_quantifier", "stated", 1_000, 0, "MIT"),
    Source("syn_cur_counting", "stated", 1_000, 0, "MIT"),
)
# Premises of these sets are edited by rule (edits.py) into pairs that differ in one number, name, role or negation.
EDITED_SOURCES: tuple[str, ...] = ("newproto", "fever_ggkorn", "fever_rte_dev", "feverous_dev", "begin", "climate_fever", "med_evinf", "med_citint")
# Pairs with long premises and pairs about negation in other words are built from these (unrelated.py, rewording.py): premises that stand for themselves.
ITEM_SOURCES: tuple[str, ...] = (
    "newproto", "fever_ggkorn", "fever_symmetric", "feverous_dev", "fm2", "climate_fever", "med_evinf", "med_checkcovid", "mnli_train_sample",
)  # fmt: skip
DOCUMENT_SOURCES: tuple[str, ...] = ("cur_drop", "propsegment_dev", "fever_rte_dev", "begin")
REWORDED_SOURCES: tuple[str, ...] = ("newproto", "lingnli_train", "mnli_train_sample", "mnli_olora", "cad_nli_train_dev")
# Long premises as their sets label them, and how many pairs of each; shorter ones are in the phases already.
LONG_WORDS = 60
LONG_CAPS = {"cur_drop": 600, "propsegment_dev": 1_049, "fever_rte_dev": 500, "feverous_dev": 500, "begin": 400, "fever_ggkorn": 500}


def rows(path: Path) -> Iterator[Pair]:
    """The pairs of one file, in its order.

    Raises:
        ValueError: a row has another shape or an unknown label; the message says which file and line.
    """
    with gzip.open(path, "rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                row = orjson.loads(line)
                yield Pair(row["premise"], row["hypothesis"], TARGETS[row["label"]])
            except (orjson.JSONDecodeError, KeyError, TypeError) as problem:
                msg = f"{path.name}, line {number}: not a pair with premise, hypothesis and a known label ({type(problem).__name__})"
                raise ValueError(msg) from None


def phases(
    folder: Path, *, seed: int, terms: Sequence[Terms], edits: int, unrelated: int = 0, values: int = 0
) -> tuple[list[Pair], list[Pair], dict[str, tuple[int, int]]]:
    """The pairs of the first and of the second phase, shuffled, and how many each set gave to each.

    Raises:
        FileNotFoundError: a set that the mixture names is not in `folder`.
        ValueError: a row cannot be used.
    """
    from touchstone.ops.lab.build.models.edits import edited_pairs, unrelated_pairs, value_pairs

    chance = random.Random(seed)  # a shuffle, not a secret
    early: list[Pair] = []
    late: list[Pair] = []
    used: dict[str, tuple[int, int]] = {}
    premises: list[str] = []
    for source in SOURCES:
        if source.terms not in terms:
            continue
        path = folder / f"{source.name}.jsonl.gz"
        if not path.is_file():
            msg = f"{path.name} is not in the training folder; the mixture needs it (ops/lab/build/models/mixture.py)"
            raise FileNotFoundError(msg)
        pairs = list(rows(path))
        first = chance.sample(pairs, min(source.cap, len(pairs)))
        second = chance.sample(pairs, min(source.late, len(pairs)))
        early += first
        late += second
        used[source.name] = (len(first), len(second))
        if source.name in EDITED_SOURCES:
            premises += sorted({pair.premise for pair in pairs})
    for name, made in (
        ("edits (made by rule)", edited_pairs(premises, count=edits, chance=chance)),
        ("unrelated (made by rule)", unrelated_pairs(premises, count=unrelated, chance=chance)),
        ("values (made by rule)", value_pairs(premises, count=values, chance=chance)),
    ):
        half = len(made) // 2
        early += made[:half]
        late += made[half:]
        used[name] = (half, len(made) - half)
    chance.shuffle(early)
    chance.shuffle(late)
    return early, late, used


def added(folder: Path, *, seed: int, terms: Sequence[Terms], long: int, rewordings: int, words_max: int) -> dict[str, list[Pair]]:
    """Pairs with long premises of up to `words_max` words and pairs about negation in other words, by kind; sets under other terms than `terms` are not read.

    Raises:
        OSError: a set is not in `folder`.
        ValueError: a row cannot be used.
    """
    from touchstone.ops.lab.build.models.rewording import chosen_pairs, complement_pairs, state_pairs
    from touchstone.ops.lab.build.models.unrelated import Material, long_pairs

    if not long and not rewordings:
        return {}
    allowed = {source.name for source in SOURCES if source.terms in terms}
    wanted = dict.fromkeys((*ITEM_SOURCES, *DOCUMENT_SOURCES, *REWORDED_SOURCES, *LONG_CAPS))
    pairs = {name: list(rows(folder / f"{name}.jsonl.gz")) for name in wanted if name in allowed}
    chance = random.Random(seed)  # a draw, not a secret
    items = [pair for name in ITEM_SOURCES for pair in pairs.get(name, ())]
    given = Material(items, [pair.premise for name in DOCUMENT_SOURCES for pair in pairs.get(name, ())], chance, words_max)
    made = {"long premises (made by rule)": long_pairs(given, count=long)}
    lengthy = {name: [pair for pair in pairs.get(name, ()) if LONG_WORDS < len(pair.premise.split()) <= words_max] for name in LONG_CAPS}
    made["long premises of the sets"] = [pair for name, found in lengthy.items() for pair in chance.sample(found, min(len(found), LONG_CAPS[name]))]

    def around(sentence: str) -> str:
        parts = given.filler(chance.randint(10, 60), apart=sentence) if chance.random() < 0.2 else []
        parts.insert(chance.randint(0, len(parts)), sentence)
        return " ".join(parts)

    written = [pair for name in REWORDED_SOURCES for pair in pairs.get(name, ())]
    made["negation in other words (chosen)"] = chosen_pairs(written, count=rewordings // 2, chance=chance)
    made["complements (made by rule)"] = complement_pairs(given.premises, count=rewordings // 6, chance=chance)
    made["written states (made by rule)"] = state_pairs(count=rewordings // 3, chance=chance, around=around)
    return made
