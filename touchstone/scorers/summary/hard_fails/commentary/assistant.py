"""The register of an assistant: offers, refusals, announcements and remarks on its own summary, which no subject speaks in.

Rules read a sentence whose quotations are taken out (`commentary.bare`), in small letters. Those called `ANYWHERE` stand wherever they like; those called
`OPENING` begin a clause: the sentence, or what follows a full stop, colon, dash or bracket, after at most a few words of greeting or linking.
"""

import re

from touchstone.scorers.summary.hard_fails.commentary import assistant_phrases, other_languages, summary_phrases

_ANYWHERE = (*assistant_phrases.ANYWHERE, *summary_phrases.ANYWHERE)
_OPENING = (*assistant_phrases.OPENING, *summary_phrases.OPENING, *other_languages.OPENING)
_LINK = (
    r"(?:(?:overall|in (?:summary|conclusion|short|brief|essence|addition|general)|to (?:summari[sz]e|conclude|sum up)|finally|additionally|furthermore"
    r"|moreover|also|first|next|then|however"
    r"|lastly|specifically|notably|ultimately|here|note(?: that)?|sure|certainly|of course|okay|ok|alright|all right|great|well|so|hi|hello|summary"
    r"|overview|abstract"
    r"|answer|output|response|tl;?dr"
    r"|unfortunately|sorry|please|and|but)\b ?[,:;!.–—-]? ?){0,2}"
)
_CLAUSE = r"(?:^|(?<=[.!?:;–—(\[] )|(?<=[(\[]))"
#: Rules that begin with a word are tried where a word begins alone: a fifth of the places.
_AT_WORDS = tuple(rule.removeprefix(r"\b") for rule in _ANYWHERE if rule.startswith(r"\b"))
_AT_PLACES = tuple(rule for rule in _ANYWHERE if not rule.startswith(r"\b"))
_RULES = re.compile(rf"\b(?:{'|'.join(_AT_WORDS)})|{'|'.join(_AT_PLACES)}|{_CLAUSE}{_LINK}(?:{'|'.join(f'(?:{rule})' for rule in _OPENING)})")
#: So much of a sentence is read.
_CHARS = 2_000


def is_assistant(sentence: str) -> bool:
    """Whether a sentence, quotations taken out and in small letters, is in the register of an assistant."""
    return _RULES.search(sentence[:_CHARS]) is not None
