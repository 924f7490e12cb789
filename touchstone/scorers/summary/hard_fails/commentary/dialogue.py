"""Lines of a dialogue: the words of a named speaker count as a quotation."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from touchstone.scorers.summary.sentences import Span
from touchstone.scorers.summary.word_lists import listed

#: So many characters of a line are read for its speaker.
_LINE_CHARS = 80
_SPEAKER = re.compile(r"[ \t>*_-]{0,6}(?P<name>[^\W\d_][\w.'’ -]{0,30}?)[*_ ]{0,3}:[*_]{0,3}[ \t]+\S")
#: They speak even if they do so once.
_ROLES = listed(
    "agent customer caller client doctor dr nurse patient interviewer interviewee reporter officer judge counsel witness teacher pupil student mother father "
    "son daughter narrator host guest chair q"
)
#: Headings before a remark about a text, and names of assistants: no speakers of the story.
_HEADINGS = listed(
    "summary note notes answer response output assistant ai bot chatgpt claude title source text article document introduction conclusion overview abstract "
    "disclaimer author point topic theme tldr part section"
)


def without_speech(text: str, spans: Sequence[Span]) -> Iterator[str]:
    """The sentences of a text, in order; empty for those that a speaker of a dialogue says."""
    names = [_speaker(text, span) for span in spans]
    said = Counter(name for name in names if name)
    dialogue = len(said) > 1 and max(said.values()) > 1
    speakers = {name for name in said if dialogue or name.rsplit(" ", 1)[-1].rstrip(".") in _ROLES}
    for span, name in zip(spans, names, strict=True):
        yield "" if name in speakers else text[span.start : span.end]


def _speaker(text: str, span: Span) -> str | None:
    """The name before the colon at the beginning of a sentence's line, in small letters; None if there is no speaker."""
    begin = max(text.rfind("\n", 0, span.start) + 1, span.start - 2_000)
    line = _SPEAKER.match(text, begin, begin + _LINE_CHARS)
    if line is None:
        return None
    name = line["name"].strip().lower()
    words = name.split()
    return None if len(words) > 3 or not _HEADINGS.isdisjoint(words) else name
