"""Renders a case into messages, with the fields of the case fenced: no text inside a field can end it or pose as the prompt.

A fence opens and closes with a line that has the case's key. The key is made from the texts, so that no text contains its own key, and it is the same for the
same texts, so that a repeated case is found in the cache.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from unicodedata import normalize

from touchstone.scorers.judges.ask.judge import Prompt, Unanswered, Usage
from touchstone.scorers.judges.ask.prompt import GUARD, PLACE

_KEY_HEX = 20
#: A cautious estimate: tokens of most texts have more bytes. It need not be exact, because servers report a prompt that is too long.
_BYTES_PER_TOKEN = 3
#: The most that a chat format adds around the messages.
_FORMAT_TOKENS = 64

#: Invisible characters, and those that change how others look: controls, separators, directions, tags, selectors, surrogates.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
#: Marks that chat formats separate roles with. A server that reads one inside a message would see the message end. One family of models uses `｜` and `▁`.
_ROLE_MARKS = re.compile(
    r"<(?=[|｜])|(?<=[|｜])>|<(?=/?(?:s|bos|eos|pad|unk|think|tool_call|tool_response|tools|start_of_turn|end_of_turn|function_calls?|extra_id_\d+)>)"
    r"|<(?=</?SYS>>)|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])|(?<=<)<(?=/?SYS>>)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Message:
    """The messages of a case. `system`: the same for every case of a prompt. `user`: the case. `key`: of the case; none of its texts contains it."""

    system: str
    user: str
    key: str

    @property
    def tokens(self) -> int:
        """Estimated tokens of both parts."""
        return self._bytes // _BYTES_PER_TOKEN + _FORMAT_TOKENS

    @property
    def tokens_max(self) -> int:
        """Upper bound of the tokens of both parts: a token has at least one byte."""
        return self._bytes + _FORMAT_TOKENS

    @property
    def _bytes(self) -> int:
        return len(self.system.encode()) + len(self.user.encode())


def render(prompt: Prompt, fields: Mapping[str, str], *, chars_max: int = 200_000, tokens_max: int = 126_000) -> Message:
    """The messages of a case, with its fields fenced. Raises `Unanswered("too_long")`, and `ValueError` for fields that the prompt does not have."""
    if fields.keys() != prompt.fields:
        raise ValueError(f"prompt {prompt.name}: its fields are {', '.join(sorted(prompt.fields))}")
    if sum(map(len, fields.values())) + len(prompt.system) + len(prompt.user) > chars_max:
        raise Unanswered("too_long", Usage())
    shown = {name: visible(text) for name, text in fields.items()}
    key = _key(prompt, shown)
    blocks = {name: f"<<{key} {name}>>\n{text}\n<</{key} {name}>>" for name, text in shown.items()}
    # In one pass, so that `{{name}}` inside a text stays text.
    user = PLACE.sub(lambda place: shown[place[1]] if place[2] else blocks[place[1]], prompt.user)
    is_fenced = any(not plain for _, plain in PLACE.findall(prompt.user))
    message = Message(f"{prompt.system}\n\n{GUARD}", f"KEY {key}\n\n{user}", key) if is_fenced else Message(prompt.system, user, key)
    if message.tokens > tokens_max:
        raise Unanswered("too_long", Usage())
    return message


def blocks_of(user: str) -> dict[str, str]:
    """Field → its text, read from a user message as the guard asks the judge to; empty for a message without our key. For scripted judges."""
    first, _, rest = user.partition("\n")
    key = first.removeprefix("KEY ")
    return dict(re.findall(rf"^<<{key} (\w+)>>\n(.*?)\n<</{key} \1>>$", rest, re.DOTALL | re.MULTILINE)) if re.fullmatch(r"[0-9a-f]{20}", key) else {}


def visible(text: str) -> str:
    """A text without invisible characters and without marks of chat formats. Every line end becomes a line feed, because HL7 v2 uses lone carriage returns."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not (text.isascii() and text.replace("\n", "").replace("\t", "").isprintable()):  # most texts are, and a search takes ten times as long
        text = _UNSEEN.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)
    if not ("<" in text or ">" in text or "[" in text):
        return text  # every mark has one of these, and searching for the marks takes a hundred times as long
    return _ROLE_MARKS.sub(lambda found: f"{found[0]} " if found[0] in "<[" else f" {found[0]}", text)


def _key(prompt: Prompt, shown: Mapping[str, str]) -> str:
    """A key that none of the texts contains, not even in look-alike characters."""
    folded = "\0".join(normalize("NFKC", text).casefold() for text in shown.values())
    seed = sha256("\0".join((prompt.digest, *(part for name in sorted(shown) for part in (name, shown[name])))).encode())
    while True:
        key = seed.hexdigest()[:_KEY_HEX]
        if key not in folded:
            return key
        seed.update(b"again")
