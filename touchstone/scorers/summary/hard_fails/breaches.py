"""Hard fails (Loss V3 §4): meta-commentary, JSON that cannot be read, text that ends mid-sentence. Each gives the greatest loss."""

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from touchstone.scorers.summary.hard_fails.commentary.detection import commentary_in
from touchstone.scorers.summary.hard_fails.commentary.dialogue import without_speech
from touchstone.scorers.summary.hard_fails.endings.whole import ends_whole
from touchstone.scorers.summary.hard_fails.generation import Generation
from touchstone.scorers.summary.sentences import Span

META_COMMENTARY, TRUNCATED, JSON = "meta_commentary", "truncated", "json"
MESSAGES = {
    META_COMMENTARY: "the sentence speaks of the source or of the summary instead of the subject",
    TRUNCATED: "the text ends mid-sentence",
    JSON: "structured output was requested and this is not JSON",
}
#: Below this index findings of one rule are listed; the rest would be the same.
FINDINGS_MAX = 20


class Breach(NamedTuple):
    """A hard fail. `sentence`: its index, None if the rule concerns the whole text."""

    rule: str
    sentence: int | None = None

    @property
    def path(self) -> str:
        """The place of the breach."""
        return "generated" if self.sentence is None else f"generated.sentences[{self.sentence}]"


def breaches(generation: Generation, spans: Sequence[Span]) -> list[Breach]:
    """The hard fails of a text, in its order; none for a text that keeps the rules."""
    text = generation.text
    sentences = without_speech(text, spans)
    found = [Breach(META_COMMENTARY, index) for index in islice(commentary_in(sentences), FINDINGS_MAX)]
    if spans and not generation.leaves and not ends_whole(text):
        found.append(Breach(TRUNCATED, len(spans) - 1))
    return found
