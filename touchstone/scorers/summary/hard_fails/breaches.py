"""Hard fails (Loss V3 §4): meta-commentary, JSON that cannot be read, text that ends mid-sentence. Each gives the greatest loss."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from touchstone.scorers.summary.hard_fails.commentary.detection import commentary_in, told_by
from touchstone.scorers.summary.hard_fails.commentary.dialogue import without_speech
from touchstone.scorers.summary.hard_fails.commentary.remarks import is_remark
from touchstone.scorers.summary.hard_fails.commentary.story import NOTHING_UNSAID, NOTHING_WRITTEN
from touchstone.scorers.summary.hard_fails.commentary.vocabulary import FOREIGN, NOUNS
from touchstone.scorers.summary.hard_fails.endings.against import ends_beside, is_cut_beside
from touchstone.scorers.summary.hard_fails.endings.whole import ends_whole
from touchstone.scorers.summary.hard_fails.generation import Generation
from touchstone.scorers.summary.sentences import Span, split

META_COMMENTARY, TRUNCATED, JSON = "meta_commentary", "truncated", "json"
MESSAGES = {
    META_COMMENTARY: "the sentence speaks of the source or of the summary instead of the subject",
    TRUNCATED: "the text ends mid-sentence",
    JSON: "structured output was requested and this is not JSON",
}
#: Below this index findings of one rule are listed; the rest would be the same.
FINDINGS_MAX = 20
#: With these words in a text it depends on the gold what it speaks of.
_DOUBTFUL = FOREIGN | {"we", "i", "lines", "words", "pages", "page", "paragraphs", *NOUNS}
#: A gold that tells of no text and leaves nothing unsaid.
_NOTHING = frozenset((NOTHING_UNSAID, NOTHING_WRITTEN))
_WORDS = re.compile(r"[a-z]+")
#: The source text is only searched for words: its sentences need not be exact.
_PIECES = re.compile(r"(?<=[.!?])\s+|\n+")


class Breach(NamedTuple):
    """A hard fail. `sentence`: its index, None if the rule concerns the whole text."""

    rule: str
    sentence: int | None = None

    @property
    def path(self) -> str:
        """The place of the breach."""
        return "generated" if self.sentence is None else f"generated.sentences[{self.sentence}]"


class Told(NamedTuple):
    """What a gold tells: its narrative and facts, and its source text. The texts and writers in it are part of the story."""

    narrative: Sequence[str] = ()
    source: str = ""


UNTOLD = Told()


def breaches(generation: Generation, spans: Sequence[Span], told: Told = UNTOLD) -> list[Breach]:
    """The hard fails of a text, in its order; none for a text that keeps the rules. `told` is read where a sentence or the end is suspected."""
    text = generation.text
    sentences = list(without_speech(text, spans))
    suspected = list(commentary_in(sentences))
    if told != UNTOLD and (suspected or _is_doubtful(text, sentences)):
        narrative = [part for whole in told.narrative for part in _sentences(whole)]
        suspected = list(commentary_in(sentences, told_by(narrative, _PIECES.split(told.source))))
    found = [Breach(META_COMMENTARY, index) for index in suspected[:FINDINGS_MAX]]
    if spans and not generation.leaves and _is_cut(text, (*told.narrative, told.source)):
        found.append(Breach(TRUNCATED, len(spans) - 1))
    return found


def _is_doubtful(text: str, sentences: Sequence[str]) -> bool:
    """True if it depends on the gold whether a text has commentary."""
    return not _DOUBTFUL.isdisjoint(_WORDS.findall(text.lower())) or any(is_remark(sentence.lower(), _NOTHING) for sentence in sentences)


def _is_cut(text: str, told: Sequence[str]) -> bool:
    """True if a text breaks off, by itself or beside what the gold tells."""
    return is_cut_beside(text, told) if ends_whole(text) else not ends_beside(text, told)


def _sentences(text: str) -> list[str]:
    """The sentences of a text."""
    return [text[span.start : span.end] for span in split(text)]
