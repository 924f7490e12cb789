"""A judge that reads as a careful person would, by what a truth set says of each of its variants: the script for measuring the loss with a judge.

Of a variant the set says which errors it has and how many key facts it leaves out. Within one wording only the errors differ, so its sentences are read beside
those of the faithful text in the same wording: those that are there, too, are supported, and the others are contradicted, or made up in a padded text. Which
facts an error or an omission is about is found by the words of its note and of the sentences that changed; their number is the set's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.doubles.judges.asked import Asked
from touchstone.ops.lab.losses.truth import Error, Truth, Variant
from touchstone.scorers.summary.lexical import words
from touchstone.scorers.summary.sentences import split

_BLOCK: Final = re.compile(r"^<<(\w+) (\w+)>>\n(.*?)\n<</\1 \2>>$", re.DOTALL | re.MULTILINE)
_LINE: Final = re.compile(r"^S\d+: (.*)$", re.MULTILINE)
_ID: Final = re.compile(r"([FS])(\d+)")
#: A word of an error's note counts so much more than one of the sentence that it changed.
_NOTE_WEIGHT: Final = 2.0
Word = str


@dataclass(frozen=True, slots=True)
class Reading:
    """What a careful reader says of a variant, in the order of the gold's facts and of the text's sentences."""

    facts: tuple[Word, ...]
    sentences: tuple[Word, ...]


class CarefulReader:
    """Answers requests about statements of the truth set's variants; a case that is none of them is a mistake of the script (`ValueError`)."""

    def __init__(self, truths: Iterable[Truth]) -> None:
        self._known: dict[tuple[str, ...], tuple[Truth, Variant, Reading]] = {}
        for truth in truths:
            for variant in truth.variants:
                self._known.setdefault(_sentences(variant.text), (truth, variant, reading_of(truth, variant)))

    def __call__(self, asked: Asked) -> Mapping[str, Any]:
        """The verdicts on the statements that are asked."""
        fields = {name: text for _, name, text in _BLOCK.findall(asked.last)}
        found = self._known.get(tuple(_LINE.findall(fields.get("summary", ""))))
        if found is None:
            raise ValueError("the summary is no variant of the truth set")
        truth, variant, reading = found
        facts, sentences = truth.gold.summary.key_facts, _sentences(variant.text)
        statements = []
        for letter, digits in _ID.findall(fields["asked"]):
            index = int(digits) - 1
            verdict = (reading.facts if letter == "F" else reading.sentences)[index]
            if letter == "F":
                alike = [place for place, said in enumerate(reading.sentences) if said == verdict]
                statements.append(_statement(f"F{digits}", verdict, "S", facts[index], sentences, alike))
            else:
                statements.append(_statement(f"S{digits}", verdict, "F", sentences[index], facts, range(len(facts))))
        return {"statements": statements}


def reading_of(truth: Truth, variant: Variant) -> Reading:
    """What is right, wrong and missing in a variant, statement by statement."""
    facts = truth.gold.summary.key_facts
    here = _sentences(variant.text)
    faithful = _faithful(truth, variant)
    known = set(here) if not variant.errors or faithful is None else set(_sentences(faithful.text))
    changed = "absent" if variant.kind == "padded" else "contradicted"
    verdicts = tuple("supported" if sentence in known else changed for sentence in here)
    wrong = _wrong_facts(facts, variant, here, known) if variant.kind == "wrong" else set()
    missing = _missing_facts(facts, variant, here, wrong)
    return Reading(tuple("contradicted" if fact in wrong else "absent" if fact in missing else "supported" for fact in range(len(facts))), verdicts)


def _faithful(truth: Truth, variant: Variant) -> Variant | None:
    """The text without errors in the same wording, which may leave facts out."""
    kin = [other for other in truth.variants if other.wording == variant.wording and not other.errors]
    return min(kin, key=lambda other: (abs(other.omitted - variant.omitted), other.kind != "faithful"), default=None)


def _wrong_facts(facts: Sequence[str], variant: Variant, here: Sequence[str], known: set[str]) -> set[int]:
    """For each error the fact that it is about: the one with most of the words of its note and of the sentences that it changed."""
    changed = _all_words([*(known - set(here)), *(set(here) - known)])
    weight = _rarity(facts)
    found: set[int] = set()

    def about(fact: int, error: Error) -> float:
        note = _all_words([error.note])
        return sum(weight[word] * ((word in note) * _NOTE_WEIGHT + (word in changed)) for word in words(facts[fact]))

    for error in variant.errors:
        fact = max((fact for fact in range(len(facts)) if fact not in found), key=lambda fact: about(fact, error), default=None)
        if fact is not None and about(fact, error) > 0:
            found.add(fact)
    return found


def _missing_facts(facts: Sequence[str], variant: Variant, here: Sequence[str], wrong: set[int]) -> set[int]:
    """As many facts as the set says are left out: those of which the text has the least."""
    weight, said = _rarity(facts), _all_words(here)

    def there(fact: int) -> float:
        whole = sum(weight[word] for word in words(facts[fact]))
        return sum(weight[word] for word in words(facts[fact]) if word in said) / whole if whole else 0.0

    return set(sorted((fact for fact in range(len(facts)) if fact not in wrong), key=there)[: variant.omitted])


def _rarity(facts: Sequence[str]) -> Mapping[str, float]:
    """Word → how much it says of which fact is meant."""
    counts = Counter(word for fact in facts for word in words(fact))
    return {word: 1 / count for word, count in counts.items()}


def _all_words(texts: Iterable[str]) -> frozenset[str]:
    return frozenset().union(*map(words, texts))


def _sentences(text: str) -> tuple[str, ...]:
    """The sentences as a judge is shown them."""
    return tuple(" ".join(text[span.start : span.end].split()) for span in split(text))


def _statement(name: str, verdict: Word, letter: str, text: str, others: Sequence[str], places: Iterable[int]) -> dict[str, str]:
    """A verdict with its evidence: of those places the statement that shares the most words."""
    own = words(text)
    nearest = max(places, key=lambda place: len(own & words(others[place])) / (1 + len(words(others[place]))), default=None)
    return {"id": name, "evidence": "" if verdict == "absent" or nearest is None else f"{letter}{nearest + 1}", "verdict": verdict}
