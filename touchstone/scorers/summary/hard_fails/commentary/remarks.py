"""Remarks that name neither a text nor a writer, and are told from the story by the gold: what is left unsaid, and what "it" goes on to say."""

import re
from collections.abc import Set as AbstractSet

from touchstone.scorers.summary.hard_fails.commentary.story import NOTHING_UNSAID, NOTHING_WRITTEN

_SAID = (
    r"(?:not (?:mentioned|stated|specified|explained|given|said|addressed|discussed|described|detailed|named|indicated|elaborated)"
    r"|(?:un(?:mentioned|stated|specified|explained|said|addressed|named)|left (?:open|out|unsaid|unexplained|unanswered)))"
)
#: Behind it, what makes it a deed of somebody: "not named by the court", "not given to children".
_DEED = r"(?! (?:by|to|in|at|on|for|until|before|after|as|with|if|when|unless)\b)"
_QUESTION = r"(?:what|who|whom|whose|why|when|where|how|whether|which)\b[^;:.?]{2,90}?\b(?:is|are|remains?|stays?|goes|go)(?: here| still| then)? "
_NOUNS = (
    r"no (?:(?:exact|precise|specific|further|other) )?(?:reasons?|causes?|dates?|prices?|names?|numbers?|motives?|examples?|times?|places?|locations?"
    r"|amounts?|costs?|ages?|hints?|clues?|sources?|figures?|explanations?)\b[^;:.?]{0,60}\b(?:is|are) (?:given|named|stated|mentioned|specified|cited"
    r"|offered|provided|supplied)\b"
)
_LACKING = (
    r"(?:details?|information|specifics|particulars)\b[^;:.?]{0,50}\b(?:is|are|remains?) (?:lacking|missing|absent|scarce|sparse|not included|unavailable)\b"
    r"|not a word is (?:said|lost)\b"
)
#: "Who paid is not mentioned", "no reason is given", "details on the cost are lacking".
_UNSAID = re.compile(rf"\b(?:{_QUESTION}{_SAID}\b|{_NOUNS}|{_LACKING}){_DEED}|^no (?:details?|word|mention|information) (?:on|of|about|as to)\b[^.;:]*\.$")
#: "It then goes on to explain", "it also mentions": where the gold has no text, "it" is the one given.
_SAYS = re.compile(
    r"(?:^|[,;] (?:and )?)it (?:also |then |further |next |finally |briefly )*(?:mentions|summari[sz]es|recounts|narrates|elaborates|delves into"
    r"|touches (?:up)?on"
    r"|goes (?:on|further) to (?:describe|explain|discuss|mention|list|say|report|tell|note|outline)"
    r"|(?:ends|closes|concludes|opens|begins) (?:with an? (?:look|call|remark|quote|quotation|note|summary|overview"
    r"|description|reminder)|by \w+ing (?:that|how|the))\b)"
)
#: So much of a sentence is read: the patterns may try each question word in it.
_CHARS = 600


def is_remark(sentence: str, told: AbstractSet[str]) -> bool:
    """True if a sentence, in small letters, remarks on what is not said or what comes next. `told`: what the gold tells of (`story.told`)."""
    read = sentence[:_CHARS]
    return (NOTHING_UNSAID in told and _UNSAID.search(read) is not None) or (NOTHING_WRITTEN in told and _SAYS.search(read) is not None)
