"""Pairs about negation in other words: "no damage was done" against "the roof collapsed", and beside it "the building came to no harm".

A model that has seen only "not" and its absence takes a denial without such a word for neutral, or for agreement. Three sources: pairs that
people wrote, chosen by rule; sentences in which a verb and its complement ("rejected", "did not accept") change places; and written states with
their opposites (states.txt). Each contradiction has an entailed twin near it, so that the words alone do not tell.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from touchstone.ops.lab.build.models.edits import sentences
from touchstone.ops.lab.build.models.pairs import CONTRADICTION, NEUTRAL, Pair

STATES = Path(__file__).with_name("states.txt")
#: Of a hypothesis's content words, at most this share may be in the premise.
OVERLAP_MAX = 0.5
#: How much of the pairs have a negation in the premise, in the hypothesis.
CASES = {(False, False): 0.2, (False, True): 0.35, (True, False): 0.35, (True, True): 0.1}
_NEGATION = re.compile(r"\b(?:no|not|never|none|nobody|nothing|neither|nor|without|cannot|hardly|no one|\w+n't)\b", re.IGNORECASE)
_WORD = re.compile(r"[a-z0-9]+")
_STOP_WRITTEN = """a an the of to in on at by for with from and or as is are was were be been has have had do does did it its this that he she they
    his her their not no"""
_STOP = frozenset(_STOP_WRITTEN.split())
_SLOTS = {
    "person": ("Mr Hale", "Anna", "Dr Okafor", "the widow", "Peter Lund", "the apprentice", "Ms Reyes", "the captain"),
    "org": ("the airline", "Norvik Foods", "the hospital", "the brewery", "Harlan & Sons", "the publisher"),
    "day": ("Monday", "Tuesday", "Thursday", "Saturday", "12 May", "the third day"),
    "month": ("January", "April", "August", "October", "the spring of 2011"),
    "n": ("3", "five", "12", "seven", "40", "two"),
}
# Past tense, its complement's past tense and base, its own base: one of two holds where either was to be done.
_COMPLEMENTS = (
    ("failed", "passed", "pass", "fail"), ("rejected", "accepted", "accept", "reject"), ("lost", "won", "win", "lose"),
    ("forgot", "remembered", "remember", "forget"), ("refused", "agreed", "agree", "refuse"), ("denied", "admitted", "admit", "deny"),
    ("remained", "left", "leave", "remain"), ("ignored", "noticed", "notice", "ignore"), ("included", "omitted", "omit", "include"),
    ("succeeded", "failed", "fail", "succeed"), ("survived", "died", "die", "survive"), ("missed", "caught", "catch", "miss"),
    ("kept", "gave away", "give away", "keep"), ("opposed", "backed", "back", "oppose"), ("allowed", "banned", "ban", "allow"),
    ("approved", "turned down", "turn down", "approve"), ("spared", "destroyed", "destroy", "spare"), ("lacked", "had", "have", "lack"),
    ("stayed", "went away", "go away", "stay"), ("cancelled", "held", "hold", "cancel"), ("obeyed", "defied", "defy", "obey"),
)  # fmt: skip
_VERBS = {past: (past, other, other_base, base) for past, other, other_base, base in _COMPLEMENTS}
_VERBS |= {other: (other, past, base, other_base) for past, other, other_base, base in _COMPLEMENTS if other not in {"had", "left", "held"}}
_VERB = re.compile(r"(?<!was )(?<!were )(?<!been )(?<!be )(?<!has )(?<!have )(?<!had )(?<!is )(?<!are )\b(" + "|".join(_VERBS) + r")\b")


def content(text: str) -> frozenset[str]:
    """The words of a text that are not grammatical ones, in lower case, without an ending s."""
    return frozenset(word.rstrip("s") for word in _WORD.findall(text.lower()) if word not in _STOP)


def overlap(premise: str, hypothesis: str) -> float:
    """The share of the hypothesis's content words that the premise has. 1 where it has none."""
    words = content(hypothesis)
    return len(words & content(premise)) / len(words) if words else 1.0


def negations(text: str) -> int:
    """How many words of negation a text has."""
    return len(_NEGATION.findall(text))


def chosen_pairs(pairs: Sequence[Pair], *, count: int, chance: random.Random) -> list[Pair]:
    """Up to `count` of people's pairs with few shared words, most with a negation on one side; in each case entailed and contradicted ones alike.

    Neither a negation, nor the side that it is on, tells the answer then.
    """
    fitting: dict[tuple[bool, bool], dict[int, list[Pair]]] = {case: {0: [], CONTRADICTION: []} for case in CASES}
    for pair in pairs:
        if pair.target in {0, CONTRADICTION} and len(pair.premise.split()) <= 60 and overlap(pair.premise, pair.hypothesis) <= OVERLAP_MAX:
            fitting[negations(pair.premise) > 0, negations(pair.hypothesis) > 0][pair.target].append(pair)
    made: list[Pair] = []
    for case, share in CASES.items():
        size = min(int(count * share / 2), *map(len, fitting[case].values()))
        made += [pair for found in fitting[case].values() for pair in chance.sample(found, size)]
    return made


def complement_pairs(premises: Sequence[str], *, count: int, chance: random.Random) -> list[Pair]:
    """Up to `count` pairs of sentences with a verb, its complement negated (entailed, both ways) and its complement (contradicted)."""
    made: list[Pair] = []
    order = list(premises)
    chance.shuffle(order)
    for premise in order:
        for sentence in sentences(premise):
            found = _VERB.search(sentence)
            if found is None or negations(sentence):
                continue
            _, other, other_base, own_base = _VERBS[found.group()]
            before, after = sentence[: found.start()], sentence[found.end() :]
            same, against, undone = f"{before}did not {other_base}{after}", f"{before}{other}{after}", f"{before}did not {own_base}{after}"
            made += chance.sample([Pair(sentence, same, 0), Pair(same, sentence, 0), Pair(undone, against, 0)], 2) + chance.sample(
                [Pair(sentence, against, CONTRADICTION), Pair(against, same, CONTRADICTION), Pair(same, undone, CONTRADICTION)], 2
            )
        if len(made) >= count:
            break
    return made[:count]


def states(text: str) -> Iterator[tuple[list[str], list[str]]]:
    """The states of states.txt: sentences that mean the same, and sentences that deny them. Raises: ValueError for a line without both."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        same, _, denied = line.partition(" = ")
        if not denied:
            msg = f"{STATES.name}, line {number}: has no opposite; write it after =, with a space on both sides"
            raise ValueError(msg)
        yield same.split(" | "), denied.split(" | ")


def _filled(sentence: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        sentence = sentence.replace("{" + name + "}", value)
    return sentence[0].upper() + sentence[1:]


def state_pairs(*, count: int, chance: random.Random, around: Callable[[str], str] = lambda sentence: sentence) -> list[Pair]:
    """`count` pairs of written states: denied in other words (contradicted), said in other words (entailed), or about another state (neutral).

    `around` puts other sentences beside some of the premises.
    """
    known = list(states(STATES.read_text(encoding="utf-8")))
    made: list[Pair] = []
    while len(made) < count:
        same, denied = chance.choice(known)
        values = {name: chance.choice(options) for name, options in _SLOTS.items()}
        one, two = chance.sample(same, 2)
        no, more = denied[0], chance.choice(denied[1:])
        against = [(one, more), (more, one), (one, no), (no, two), (more, two), (two, more)]
        for premise, hypothesis, target in (
            (one, two, 0),
            (more, no, 0),
            *((p, h, CONTRADICTION) for p, h in chance.sample(against, 2)),
            (one, chance.choice(chance.choice(known)[1]), NEUTRAL) if chance.random() < 0.25 else (two, one, 0),
        ):
            if target == NEUTRAL and hypothesis in denied:
                continue
            made.append(Pair(around(_filled(premise, values)), _filled(hypothesis, values), target))
    return made[:count]
