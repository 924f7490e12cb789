"""Takes out of a text what it says of the patient's relatives."""

import re
from typing import Final

#: Keys of a persona that tell of relatives, in small letters without signs between words.
_KEYS: Final = frozenset({"family", "familyhistory", "familymedicalhistory", "familyhx", "fh", "fhx", "relatives"})
_WHO: Final = (
    r"(?:(?:step|great-?)?(?:grand)?(?:mother|father|son|daughter|parent)s?|(?:half-|step)?(?:brother|sister|sibling)s?"
    r"|aunts?|uncles?|cousins?|husband|wife|spouse|nieces?|nephews?)"
)
_HAS: Final = r"(?:had|has|have|was|were|is|died|suffer(?:s|ed)|developed|underwent|takes|took)\b"
#: Where a statement about a relative ends: with the sentence, or where the patient is spoken of again.
_REST: Final = r"(?:(?!(?:,|\band|\bbut|\bwhile|\bso) (?:and |but |so )?(?:he|she|they|has|the patient|patient)\b|\bpersonal\b)[^.;!?()\n])*"
_OF_RELATIVES: Final = re.compile(
    rf"(?:(?:^|(?<=[.;:!?\n]))\s{{0,8}}|, (?:and |but )?)(?:(?:his|her|their) )?{_WHO} {_HAS}{_REST}"
    rf"|\b(?:his|her|their) {_WHO},? who {_HAS}{_REST}"
    rf"|\bfamily (?:medical )?(?:history|hx)\b{_REST}|\b(?:family|fhx?) ?:{_REST}",
    re.IGNORECASE,
)
#: Words by which a relative speaks of the patient: "his mother was worried that he has asthma".
_SPEAKS_OF_PATIENT: Final = re.compile(r"\b(?:that|because|since) (?:he|she|they|the patient)\b|\bhim\b|\b(?:noticed|noted|reported|brought)\b", re.IGNORECASE)


def is_of_relatives(key: object) -> bool:
    """True if a persona's key holds what is known of relatives."""
    return re.sub(r"[\W_]", "", str(key)).casefold() in _KEYS


def without_relatives(text: str) -> str:
    """A text without its statements about relatives. What is in doubt stays."""
    return _OF_RELATIVES.sub(lambda found: found[0] if _SPEAKS_OF_PATIENT.search(found[0]) else " ", text)
