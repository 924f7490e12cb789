"""Long premises of 20 to 350 words: about something else, saying one sentence again and again, or holding the answer among other sentences.

The labelled sets are short, and where they are long their answer was once cut off: a model then calls a long premise entailing, whatever it says. Each kind
of emptiness here has a twin that holds the answer, so that neither length nor repetition tells.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence

from touchstone.ops.lab.build.models.edits import EDITS, sentences
from touchstone.ops.lab.build.models.pairs import CONTRADICTION, NEUTRAL, NOT_ENTAILMENT, Pair
from touchstone.ops.lab.build.models.rewording import content, overlap

#: Fewest words of a premise.
WORDS_MIN = 20
#: A word tells a topic if it is in so many premises.
_RARE = range(2, 60)
_JOINTS = (" ", " ", " ", " ", "; ", "\n", "\n\n")
_REPEATS = ("; ", ". ", " ", "\n")
#: Of a claim's content words, a text beside it may have this share and is still taken for another matter.
NEAR_MAX = 0.5


class Material:
    """Labelled pairs and documents to build from. `items`: short pairs; the premises of pairs with rare words in common are neighbours."""

    def __init__(self, items: Sequence[Pair], documents: Sequence[str], chance: random.Random, words_max: int) -> None:
        self.chance, self.words_max = chance, words_max
        self.items = [pair for pair in items if 6 <= len(pair.premise.split()) <= 70 and len(pair.hypothesis.split()) >= 4]
        self.premises = list(dict.fromkeys(pair.premise for pair in self.items))
        self.documents = [parts for text in dict.fromkeys(documents) if len(text.split()) <= words_max and len(parts := sentences(text)) > 3]
        self.labelled = {target: [pair for pair in self.items if pair.target == target] for target in (0, NEUTRAL, CONTRADICTION)}
        count = Counter(word for premise in self.premises for word in content(premise))
        self._having: dict[str, list[int]] = defaultdict(list)
        for place, premise in enumerate(self.premises):
            for word in sorted(content(premise)):
                if count[word] in _RARE:
                    self._having[word].append(place)

    def length(self) -> int:
        """Words of a premise to make: short ones and long ones alike."""
        low, high = WORDS_MIN, self.words_max
        if self.chance.random() < 0.5:
            return self.chance.randint(low, high)
        return int(low * (high / low) ** self.chance.random())

    def filler(self, words: int, *, apart: str, near: Sequence[str] = ()) -> list[str]:
        """Sentences of about `words` words, first those of `near`, none of which says most of `apart`."""
        out: list[str] = []
        left = words
        given = list(near)
        while left > 0:
            if given:
                parts = [given.pop()]
            elif self.documents and self.chance.random() < 0.3:
                document = self.chance.choice(self.documents)
                start = self.chance.randrange(len(document))
                parts = document[start : start + self.chance.randint(1, 6)]
            else:
                parts = [self.chance.choice(self.premises)]
            for part in parts:
                if left > 0 and overlap(part, apart) <= NEAR_MAX:
                    out.append(part)
                    left -= len(part.split())
        return out

    def neighbours(self, pair: Pair) -> list[str]:
        """Up to eight premises of other pairs that share a rare word with this one."""
        places = sorted({place for word in sorted(content(pair.premise) | content(pair.hypothesis)) for place in self._having.get(word, ())})
        texts = [self.premises[place] for place in places if self.premises[place] != pair.premise]
        return self.chance.sample(texts, min(8, len(texts)))

    def joined(self, parts: Sequence[str]) -> str:
        """The parts as one text, most often with spaces."""
        return self.chance.choice(_JOINTS).join(parts)


def repeated(sentence: str, words: int, joint: str) -> str:
    """One sentence again and again until the text has about `words` words."""
    bare = sentence.rstrip(" .;") if joint != " " else sentence
    return joint.join([bare] * max(2, round(words / max(1, len(sentence.split())))))


def _foreign(given: Material) -> Pair:
    claim = given.chance.choice(given.items)
    return Pair(given.joined(given.filler(given.length(), apart=claim.hypothesis)), claim.hypothesis, NEUTRAL)


def _near(given: Material) -> Pair:
    claim = given.chance.choice(given.items)
    parts = given.filler(given.length(), apart=claim.hypothesis, near=given.neighbours(claim))
    given.chance.shuffle(parts)
    return Pair(given.joined(parts), claim.hypothesis, NEUTRAL)


def _repeated(given: Material) -> Pair:
    claim = given.chance.choice(given.items)
    sentence = given.chance.choice(given.filler(1, apart=claim.hypothesis, near=given.neighbours(claim)[:1] if given.chance.random() < 0.4 else ()))
    return Pair(repeated(sentence, given.length(), given.chance.choice(_REPEATS)), claim.hypothesis, NEUTRAL)


def _repeated_own(given: Material) -> Pair:
    claim = given.chance.choice(given.labelled[given.chance.choice((0, 0, CONTRADICTION))])
    return Pair(repeated(claim.premise, given.length(), given.chance.choice(_REPEATS)), claim.hypothesis, claim.target)


def _grounded(given: Material) -> Pair:
    claim = given.chance.choice(given.labelled[given.chance.choice((0, 0, 0, 0, CONTRADICTION, CONTRADICTION, NEUTRAL))])
    words = max(10, given.length() - len(claim.premise.split()))
    near = given.neighbours(claim)[:3] if given.chance.random() < 0.4 else ()
    parts = given.filler(words, apart=claim.hypothesis, near=near)
    parts.insert(given.chance.randint(0, len(parts)), claim.premise)
    return Pair(given.joined(parts), claim.hypothesis, claim.target)


def _document(given: Material) -> Pair:
    """A document with one of its sentences, as it is or changed, or without it."""
    document = list(given.chance.choice(given.documents))
    place = given.chance.randrange(len(document))
    sentence = document[place]
    kind = given.chance.random()
    if kind < 0.4:
        rest = [part for part in document if overlap(part, sentence) <= NEAR_MAX]
        return Pair(given.joined(rest or given.filler(given.length(), apart=sentence)), sentence, NEUTRAL)
    text = " ".join(document)
    changed = next((new for edit in given.chance.sample(EDITS, len(EDITS)) if (new := edit(sentence, text, given.chance))), None) if kind < 0.7 else None
    return Pair(text, sentence, 0) if changed is None else Pair(text, changed, NOT_ENTAILMENT)


_KINDS = ((_foreign, 20), (_near, 16), (_repeated, 14), (_repeated_own, 8), (_grounded, 34), (_document, 8))


def long_pairs(given: Material, *, count: int) -> list[Pair]:
    """`count` pairs with long premises, of every kind."""
    kinds = given.chance.choices([kind for kind, _ in _KINDS], [weight for _, weight in _KINDS], k=count)
    return [kind(given) for kind in kinds]
