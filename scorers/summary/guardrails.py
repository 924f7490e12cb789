"""Hard fails (Loss V3 §4): meta-commentary, JSON that cannot be read, text that ends mid-sentence. Each gives the greatest loss."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

from touchstone.scorers.summary.commentary import is_commentary
from touchstone.scorers.summary.sentences import Span

META_COMMENTARY, TRUNCATED, JSON = "meta_commentary", "truncated", "json"
MESSAGES = {
    META_COMMENTARY: "the sentence speaks of the source or of the summary instead of the subject",
    TRUNCATED: "the text ends mid-sentence",
    JSON: "structured output was requested and this is not JSON",
}
#: Objects inside objects: deeper ones are left out of the text.
DEPTH_MAX = 32
#: Below this index findings of one rule are listed; the rest would be the same.
FINDINGS_MAX = 20

#: Characters of a last line that are checked for its end: the searches below take quadratic time.
TAIL_CHARS = 400

_FENCE_OPENING = re.compile(r"```[\w+-]*[ \t]*\r?")
_TERMINAL = frozenset(".!?。！？｡．؟۔।॥።፧։៕။…")
_CLOSING = frozenset("\"'”’“‘»›«‹」』）)]}>*_`|~")
_OPENED_BY = {")": "(", "]": "[", "}": "{", "）": "("}
_REFERENCE = re.compile(r"(?:\[[\d,;\s–-]{1,40}\]|\(\d{1,3}\)|[\u00b9\u00b2\u00b3\u2070-\u2079]+)$")
_ITEM = re.compile(r"\s*(?:[-*+•◦▪‣·–—]|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,5})[.)])\s+\S")
_URL = re.compile(r"(?:https?://|www\.)\S", re.IGNORECASE)
_MAIL_HOST = re.compile(r"[^\s@]+\.\w+")
#: Nothing ends with these; with a full stop they are abbreviations before a name or number.
_UNFINISHED = re.compile(
    r"(?:[,;:(\[{/&=<–—-]|(?:^|\s)(?:a|an|the|and|or|but|nor|of|to|in|on|at|by|for|with|from|into|as|that|which|who|whose|because|although|while|if|than|is|are"
    r"|was|were|be|been|has|have|had|will|would|can|could|should|may|might|must|its|their|his|her|our|my|your|not|between|including|such))$",
    re.IGNORECASE,
)
_BEFORE_NAME = re.compile(r"(?:^|[\s(])(?:dr|mr|mrs|ms|prof|rep|sen|gov|gen|col|lt|sgt|vs|e\.g|i\.e|approx|fig|cf|viz)\.$", re.IGNORECASE)
#: Scripts that write no full stop: Thai and Lao.
_WITHOUT_STOP = re.compile(r"[\u0e00-\u0eff]$")


class Breach(NamedTuple):
    """A hard fail. `sentence`: its index, None where the rule concerns the whole text."""

    rule: str
    sentence: int | None = None

    @property
    def path(self) -> str:
        """The place of the breach."""
        return "generated" if self.sentence is None else f"generated.sentences[{self.sentence}]"


class Unreadable(Exception):
    """Structured output that cannot be parsed."""


class Generation(NamedTuple):
    """The text that is scored. `leaves`: it consists of the strings of a structure, which end as list items do."""

    text: str
    leaves: bool = False


def read_generation(generated: str, structured_output_requested: bool) -> Generation:
    """The text of a generation: the content of one enclosing code fence, or the text inside JSON. Raises `Unreadable`.

    Of JSON: a string is the text; of an object with a string `summary`, that; else every string in it, in order, one per line.
    """
    bare = _unfenced(generated)
    if not structured_output_requested:
        return Generation(bare)
    try:
        document = json.loads(bare, parse_constant=_refuse, parse_int=float)  # only the strings count, and a number may have any length
    except (ValueError, RecursionError):
        raise Unreadable from None
    if isinstance(document, str):
        return Generation(document)
    if isinstance(document, dict) and isinstance(document.get("summary"), str):
        return Generation(document["summary"])
    return Generation("\n".join(_leaves(document, DEPTH_MAX)), leaves=True)


def _unfenced(generated: str) -> str:
    """The content of one enclosing code fence; a text without one unchanged. Takes linear time."""
    opening, newline, rest = generated.strip().partition("\n")
    if not newline or not rest.endswith("```") or not _FENCE_OPENING.fullmatch(opening):
        return generated
    inner = rest.removesuffix("```").rstrip(" \t").removesuffix("\n").removesuffix("\r")
    return generated if "```" in inner else inner


def breaches(generation: Generation, spans: Sequence[Span]) -> list[Breach]:
    """The hard fails of a text, in its order; none for a text that keeps the rules."""
    text = generation.text
    found = [Breach(META_COMMENTARY, index) for index, span in enumerate(spans) if is_commentary(text[span.start : span.end])]
    found = found[:FINDINGS_MAX]
    if spans and not generation.leaves and not ends_whole(text):
        found.append(Breach(TRUNCATED, len(spans) - 1))
    return found


def ends_whole(text: str) -> bool:
    """Whether a text ends where a sentence does.

    A sentence ends with a full stop of any script, closing quotes and brackets, emphasis, references and the end of a code fence after it. Whole
    are also a bracketed remark after a full stop, a list item, a table's row, an address, and scripts without full stops. An ellipsis is an
    unfinished sentence, and so is what ends with a comma, a conjunction, a preposition or an article, in a list too.
    """
    line = _last_line(text)
    bare = _without_closing(line.rstrip()[-TAIL_CHARS:])
    if bare.endswith(("...", "…", "‥", ". . .")) or _BEFORE_NAME.search(bare):
        return False
    if bare and bare[-1] in _TERMINAL:
        return True
    if _UNFINISHED.search(bare):
        return False
    stripped = line.rstrip()
    return (
        _ITEM.match(line) is not None
        or (stripped.startswith("|") and stripped.endswith("|"))
        or _ends_with_address(stripped)
        or _WITHOUT_STOP.search(bare) is not None
        or _is_symbol(bare)
        or _remark_after_stop(text)
    )


def _last_line(text: str) -> str:
    """The last line with content: not the end of a code fence, nor a rule."""
    for line in reversed(text.splitlines()):
        if line.strip(" \t`~-_*=|"):
            return line
    return ""


def _without_closing(line: str) -> str:
    """A line without the closing marks and references at its end."""
    bare = line.rstrip()
    while bare:
        if reference := _REFERENCE.search(bare):
            bare = bare[: reference.start()].rstrip()
        elif bare[-1] in _CLOSING:
            bare = bare[:-1].rstrip()
        else:
            break
    return bare


def _ends_with_address(stripped: str) -> bool:
    """Whether the last word is an address on the web or of a mailbox."""
    last = stripped.rsplit(maxsplit=1)[-1:]
    if not last:
        return False
    mailbox, _, host = last[0].rpartition("@")
    return _URL.search(last[0]) is not None or (bool(mailbox) and _MAIL_HOST.fullmatch(host) is not None)


def _is_symbol(bare: str) -> bool:
    """Whether a text ends with a pictograph, which many writers put for a full stop."""
    return bool(bare) and ord(bare[-1]) >= 0x1F300


def _remark_after_stop(text: str) -> bool:
    """Whether a text ends with brackets around a remark of their own: "It ended. (Source: WHO)"."""
    bare = text.rstrip()
    opening = _OPENED_BY.get(bare[-1:])
    if opening is None:
        return False
    before = bare[: bare.rfind(opening)] if opening in bare else bare
    before = before.rstrip()
    return before != bare and (not before or before[-1] in _TERMINAL)


def _leaves(value: Any, depth: int) -> Iterator[str]:
    """The strings of a structure in order, keys left out."""
    if isinstance(value, str):
        if value.strip():
            yield value.strip()
    elif depth:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        for item in inner:
            yield from _leaves(item, depth - 1)


def _refuse(constant: str) -> NoReturn:
    """Refuse NaN and infinities, which are not JSON."""
    raise ValueError(constant)
