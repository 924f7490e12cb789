"""Words and marks at the end of a text: those that end a sentence, closing marks, and those that show a cut."""

import re

TERMINAL = frozenset(".!?。！？｡．؟۔।॥።፧։៕။…")
_CLOSING = frozenset("\"'”’“‘»›«‹」』）)]}>*_`|~")
_REFERENCE = re.compile(r"(?:\[[\d,;\s–-]{1,40}\]|\(\d{1,3}\)|[\u00b9\u00b2\u00b3\u2070-\u2079]+)$")
TAG_CLOSED = re.compile(r"(?:</([A-Za-z][\w:.-]*)\s*>|<[A-Za-z][\w:.-]*(?:\s[^<>]*)?/>|\[/[A-Za-z]\w*\]|-->)$")
#: Nothing ends with these; with a full stop they are abbreviations before a name or number.
UNFINISHED = re.compile(
    r"(?:[,;:(\[{/&=<–—-]|(?:^|\s)(?:a|an|the|and|or|but|nor|of|to|in|on|at|by|for|with|from|into|as|that|which|who|whose|because|although|while|if|than|is|are"
    r"|was|were|be|been|has|have|had|will|would|can|could|should|may|might|must|its|their|his|her|our|my|your|not|between|including|such))$"
)
#: What not even an item ends with. In case: "Vitamin A", "Group An".
STOPS_SHORT = re.compile(
    r"(?:[,;:(\[{/&=<–—]|(?:\w{3}|\s)-|(?:^|\s)(?:the|an|and|or|but|nor|my|your|their|our|its|whose|because|although|whereas|than|every"
    r"|(?<!vitamin )(?<!hepatitis )(?<!group )(?<!type )(?<!grade )(?<!class )(?<!part )(?<!option )(?<!section )a))$"
)
SUBJECT = re.compile(r"(?:The|A|An|He|She|It|They|We|I|This|These|His|Her|Their|There|Patient|Pt\.?)\s")
AUXILIARY = re.compile(
    r"(?:^|\s)(?:is|are|was|were|be|been|being|has|have|had|will|would|can|could|should|may|might|must|did|does|do|that|which|who|if|while|when)$"
)
HANGING = re.compile(r"\s(?:of|to|with|for|from|by|at|into|between|as)$")
#: What an item seldom ends with, though some do ("things to look out for").
PARTLESS = re.compile(r"\s(?:of|from|into|between|during|per|via|will|would|should|must|might|could)$")
FINITE = re.compile(r"\b(?:is|are|was|were|has|have|had|will|would|can|could|should|may|might|must|did|does)\b")
BRANCHING = re.compile(r"\b(?:what|which|that|who|whom|how|where|when|why|as|than|if|so)\b(?=.*\s)", re.IGNORECASE)
BEFORE_NAME = re.compile(r"(?:^|[\s(])(?:dr|mr|mrs|ms|prof|rep|sen|gov|gen|col|lt|sgt|vs|e\.g|i\.e|approx|fig|cf|viz)\.$", re.IGNORECASE)
#: Scripts that write no full stop: Thai and Lao.
WITHOUT_STOP = re.compile(r"[\u0e00-\u0eff]$")


def without_closing(line: str) -> str:
    """A line without the closing marks, inline tags and references at its end."""
    bare = line.rstrip()
    while bare:
        if reference := _REFERENCE.search(bare):
            bare = bare[: reference.start()].rstrip()
        elif (tag := TAG_CLOSED.search(bare)) and bare[-1] == ">":
            bare = bare[: tag.start()].rstrip()
        elif bare[-1] in _CLOSING:
            bare = bare[:-1].rstrip()
        else:
            break
    return bare
