"""What to do about an invariant that does not hold, by the general kind of rule that its published text states."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

#: Texts of several rules, or of rules that ask for one thing here and forbid it there: no one remedy fits them.
_SEVERAL: Final = re.compile(
    r"[.;] +\S|neither|otherwise|\bboth (absent|contained|be)|vice versa|\babsent\b.*\bpresent\b|present.*may be|only permitted", re.IGNORECASE
)
_FORBIDS: Final = re.compile(
    r"cannot|can't|SHALL NOT|aren't|never|not permitted|^No\b|(can|may|SHALL) only|^Only .* can\b(?! be missing)|\bonly (if|when|used|appear|for|allowed)"
    r"|must be (absent|missing)|SHALL be empty",
    re.IGNORECASE,
)
_ASKS: Final = re.compile(
    r"\b(SHALL|must) (also )?be present|must be (provided|specified|defined)|\b(is|be) required\b|\brequires\b|can be missing|there (must|SHALL|needs to) be"
    r"|(SHALL|must|should) (have|contain|include)",
    re.IGNORECASE,
)
#: Other kinds of rules in the words of R4's and US Core's invariants, the narrowest first → what to do.
_KINDS: Final = (
    (r"\bnot both\b|mutually exclusive|one and only one|only a single|only (contain )?one of|either a single|only have one of", "Keep exactly one of them"),
    (r"\bunique\b|only be described once|more than one preferred", "Give each a value of its own, or leave out what is there twice"),
    (r"lower value than|greater than|cannot be before|<=|non-negative|positive|whole number", "Correct one of the values"),
)  # fmt: skip
_CHOICE: Final = re.compile(
    r"\bat least\b|\bone of\b|^either\b|\bcontains? either\b|have either\b|\b(have|include|contain) ((a|an) )?[\w.\[\]]+( \w+)? or\b(?! else)", re.IGNORECASE
)
_WORDED: Final = re.compile(r"\b(SHALL|must|should) (be|start|match|refer)\b", re.IGNORECASE)
_PATTERNS: Final = tuple((re.compile(kind, re.IGNORECASE), remedy) for kind, remedy in _KINDS)
_TEXT_CHARS_MAX: Final = 500


@lru_cache(maxsize=2_000)
def remedy_of(human: str) -> str | None:
    """The remedy for an invariant with this text; None if the text is of no general kind, or states several rules."""
    text = human[:_TEXT_CHARS_MAX].strip()
    kind = next((remedy for pattern, remedy in _PATTERNS if pattern.search(text)), None)
    if kind is not None or _SEVERAL.search(text):
        return None if _SEVERAL.search(text) else kind
    forbids = _FORBIDS.search(text) is not None
    if forbids:
        return None if _ASKS.search(text) else "Leave out the element that is not allowed here, or change what the rule depends on"
    if _CHOICE.search(text):
        return "Add one of the elements that the rule names"
    if _ASKS.search(text):
        return "Add the element that the rule asks for"
    return "Write the value as the rule says" if _WORDED.search(text) else None
