"""Pairs made by rule: a sentence of a premise, the same sentence with one fact changed, and unrelated sentences.

The published sets rarely have a hypothesis that repeats nearly all words of its premise and is still wrong, as a careless summary does. Each
premise gives up to two pairs: a sentence of its own (entailed), and that sentence with one edit (not entailed).

In many sets made of image captions, another scene is a contradiction. Most sentences of a document, and of two documents, are simply about
something else. Such pairs are made as neutral ones; otherwise a faithful sentence would be contradicted by half of its own source.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence

from touchstone.ops.lab.build.models.pairs import CONTRADICTION, NEUTRAL, NOT_ENTAILMENT, Pair

_SENTENCE_END = re.compile(r"(?<=[a-z0-9)\"][.!?])\s+(?=[A-Z\"])")
_NUMBER = re.compile(r"(?<![\w.,])\d{1,4}(?:\.\d+)?(?![\w,]|\.\d)")
_NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][a-z]+(?: (?:[A-Z][a-z]+|of|the(?= [A-Z])))*(?: [A-Z][a-z]+)?")
_AUXILIARY = re.compile(r"\b(is|are|was|were|has|have|had|can|could|will|would|did|does)\b(?! not)")
_OPPOSITES = {
    "before": "after", "first": "last", "more": "less", "increased": "decreased", "higher": "lower", "largest": "smallest", "won": "lost", "north": "south",
    "east": "west", "early": "late", "older": "younger", "male": "female", "positive": "negative", "rose": "fell", "best": "worst", "all": "some",
    "began": "ended", "father": "mother", "son": "daughter", "brother": "sister", "born": "buried", "with": "without", "only": "not only",
    "increase": "decrease", "improved": "worsened", "left": "right", "started": "stopped", "always": "never", "most": "few", "married": "divorced",
}  # fmt: skip
_OPPOSITES |= {there: here for here, there in _OPPOSITES.items() if here not in {"all", "only", "born", "most"}}
_OPPOSITE = re.compile(r"\b(" + "|".join(_OPPOSITES) + r")\b")
#: How often a text may be drawn for unrelated pairs.
TURNS = 8
Edit = Callable[[str, str, random.Random], str | None]


def sentences(text: str) -> list[str]:
    """Sentences of 5 to 45 words, good enough to make training pairs from."""
    return [part for part in _SENTENCE_END.split(text) if 5 <= len(part.split()) <= 45]


def _replace(text: str, found: re.Match[str], new: str) -> str:
    return text[: found.start()] + new + text[found.end() :]


def change_number(sentence: str, premise: str, chance: random.Random) -> str | None:
    """Another number of the premise, or one near it."""
    found = list(_NUMBER.finditer(sentence))
    if not found:
        return None
    here = chance.choice(found)
    others = [number for number in _NUMBER.findall(premise) if number != here.group() and number not in sentence]
    if others and chance.random() < 0.5:
        return _replace(sentence, here, chance.choice(others))
    value = float(here.group())
    step = chance.choice((-10, -3, -2, -1, 1, 2, 3, 10)) if value > 12 else chance.choice((-1, 1, 2, 3))
    new = max(0.0, value + step)
    return None if new == value else _replace(sentence, here, f"{new:.0f}" if "." not in here.group() else f"{new:.1f}")


def change_name(sentence: str, premise: str, chance: random.Random) -> str | None:
    """Another name that the premise also mentions."""
    found = list(_NAME.finditer(sentence))
    others = sorted({name for name in _NAME.findall(premise) if name not in sentence and len(name) > 3})
    if not found or not others:
        return None
    return _replace(sentence, chance.choice(found), chance.choice(others))


def swap_names(sentence: str, premise: str, chance: random.Random) -> str | None:  # noqa: ARG001  # an edit takes what every edit takes
    """Two names of the sentence in each other's place."""
    found = list(_NAME.finditer(sentence))
    if len(found) < 2:
        return None
    one, two = found[0], found[-1]
    if one.group() == two.group() or {"and", "or"} & set(sentence[one.end() : two.start()].split()):
        return None
    return sentence[: one.start()] + two.group() + sentence[one.end() : two.start()] + one.group() + sentence[two.end() :]


def negate(sentence: str, premise: str, chance: random.Random) -> str | None:  # noqa: ARG001  # an edit takes what every edit takes
    """A negation after the first auxiliary verb."""
    found = _AUXILIARY.search(sentence)
    return None if found is None else _replace(sentence, found, f"{found.group()} not")


def reverse_word(sentence: str, premise: str, chance: random.Random) -> str | None:  # noqa: ARG001  # an edit takes what every edit takes
    """One word replaced by its opposite."""
    found = list(_OPPOSITE.finditer(sentence))
    if not found:
        return None
    here = chance.choice(found)
    return _replace(sentence, here, _OPPOSITES[here.group()])


EDITS: tuple[Edit, ...] = (change_number, change_name, swap_names, negate, reverse_word)


def _drawn(premises: Sequence[str], chance: random.Random) -> Iterator[tuple[str, list[str]]]:
    """The premises in a random order, each with its usable sentences; those without any are left out."""
    order = list(premises)
    chance.shuffle(order)
    for premise in order:
        if usable := sentences(premise):
            yield premise, usable


def edited_pairs(premises: Sequence[str], *, count: int, chance: random.Random) -> list[Pair]:
    """Up to `count` pairs, half of them entailed, each edit about equally often."""
    made: list[Pair] = []
    for premise, usable in _drawn(premises, chance):
        if len(made) >= count:
            break
        sentence = chance.choice(usable)
        for edit in chance.sample(EDITS, len(EDITS)):
            changed = edit(sentence, premise, chance)
            if changed is not None and changed != sentence:
                made += [Pair(premise, sentence, 0), Pair(premise, changed, NOT_ENTAILMENT)]
                break
    chance.shuffle(made)
    return made


def unrelated_pairs(premises: Sequence[str], *, count: int, chance: random.Random) -> list[Pair]:
    """Up to `count` neutral pairs: two thirds are one or two sentences of a text and another sentence of it, the rest sentences of two texts."""
    order = list(premises)
    chance.shuffle(order)
    made: list[Pair] = []
    previous = ""
    for premise in order * TURNS:
        if len(made) >= count:
            break
        usable = sentences(premise)
        if previous and usable and len(made) % 3 == 0:
            made.append(Pair(previous, chance.choice(usable), NEUTRAL))
        elif len(usable) > 2:
            at = chance.randrange(len(usable))
            width = chance.choice((1, 1, 2))
            starts = [start for start in range(len(usable) - width + 1) if not start <= at < start + width]
            if starts:
                start = chance.choice(starts)
                made.append(Pair(" ".join(usable[start : start + width]), usable[at], NEUTRAL))
        previous = chance.choice(usable) if usable else previous
    return made


_ONES_WRITTEN = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen"""
_ONES = _ONES_WRITTEN.split()
_TENS_WRITTEN = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS = _TENS_WRITTEN.split()


def in_words(value: int) -> str:
    """A whole number below a million in English words."""
    if value < 20:
        return _ONES[value]
    if value < 100:
        return _TENS[value // 10 - 2] + (f"-{_ONES[value % 10]}" if value % 10 else "")
    if value < 1_000:
        return f"{_ONES[value // 100]} hundred" + (f" and {in_words(value % 100)}" if value % 100 else "")
    return f"{in_words(value // 1_000)} thousand" + (f" {in_words(value % 1_000)}" if value % 1_000 else "")


def reworded_number(sentence: str, chance: random.Random) -> str | None:
    """The sentence with one of its whole numbers written in another way: in words, or with a thousands separator; years and decimals stay."""
    found = [here for here in _NUMBER.finditer(sentence) if "." not in here.group() and not 1_500 <= int(here.group()) <= 2_100]
    if not found:
        return None
    here = chance.choice(found)
    value = int(here.group())
    return _replace(sentence, here, f"{value:,}" if value >= 1_000 and chance.random() < 0.5 else in_words(value))


def value_pairs(premises: Sequence[str], *, count: int, chance: random.Random) -> list[Pair]:
    """Up to `count` pairs about one number: written in another way it is entailed, changed it is contradicted, by its sentence alone or with the one beside it.

    A changed copy differs from a reworded one only in what the number means, in either writing.
    """
    made: list[Pair] = []
    for _, usable in _drawn(premises, chance):
        if len(made) >= count:
            break
        numbered = [place for place, sentence in enumerate(usable) if _NUMBER.search(sentence)]
        if not numbered:
            continue
        place = chance.choice(numbered)
        said = usable[place]
        shown = " ".join(usable[place : place + chance.choice((1, 1, 2))])
        same, other = reworded_number(said, chance), change_number(said, said, chance)
        if same is None or other is None:
            continue
        made.append(Pair(shown, same, 0))
        made.append(Pair(shown, (reworded_number(other, chance) or other) if chance.random() < 0.4 else other, CONTRADICTION))
    chance.shuffle(made)
    return made
