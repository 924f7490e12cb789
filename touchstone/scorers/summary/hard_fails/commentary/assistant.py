"""Phrases of assistants: offers, refusals, announcements and remarks on their own summary, which no subject speaks in.

`phrases.txt` has them as patterns over a sentence without its quotations (`detection.bare`), in small letters. Those under `[anywhere]` may be anywhere in
the sentence. Those under `[opening]` begin a clause: the sentence, or what follows a full stop, colon, dash or bracket, after at most a few words of
greeting or linking.
"""

import re

from touchstone.scorers.summary.word_lists import rows

_LINK = (
    r"(?:(?:overall|in (?:summary|conclusion|short|brief|essence|addition|general)|to (?:summari[sz]e|conclude|sum up)|finally|additionally|furthermore"
    r"|moreover|also|first|next|then|however"
    r"|lastly|specifically|notably|ultimately|here|note(?: that)?|sure|certainly|of course|okay|ok|alright|all right|great|well|so|hi|hello|summary"
    r"|overview|abstract"
    r"|answer|output|response|tl;?dr"
    r"|unfortunately|sorry|please|and|but)\b ?[,:;!.–—-]? ?){0,2}"
)
_CLAUSE = r"(?:^|(?<=[.!?:;–—(\[] )|(?<=[(\[]))"
#: So much of a sentence is read.
_CHARS = 2_000


def is_assistant(sentence: str) -> bool:
    """True if a sentence, without its quotations and in small letters, has a phrase of an assistant."""
    return _RULES.search(sentence[:_CHARS]) is not None


def _rules() -> re.Pattern[str]:
    """All patterns as one. Those that begin with a word are tried only where a word begins: a fifth of the places."""
    parts: dict[str, str] = {}
    patterns: dict[str, list[str]] = {"anywhere": [], "opening": []}
    section = ""
    for row in rows(__file__, "phrases"):
        if row in {"[parts]", "[anywhere]", "[opening]"}:
            section = row[1:-1]
        elif section == "parts":
            name, _, pattern = row.partition(" = ")
            parts[f"<{name}>"] = pattern
        else:
            for name, pattern in parts.items():
                row = row.replace(name, pattern)
            patterns[section].append(row)
    at_words = [rule.removeprefix(r"\b") for rule in patterns["anywhere"] if rule.startswith(r"\b")]
    at_places = [rule for rule in patterns["anywhere"] if not rule.startswith(r"\b")]
    opening = [f"(?:{rule})" for rule in patterns["opening"]]
    return re.compile(rf"\b(?:{'|'.join(at_words)})|{'|'.join(at_places)}|{_CLAUSE}{_LINK}(?:{'|'.join(opening)})")


_RULES = _rules()
