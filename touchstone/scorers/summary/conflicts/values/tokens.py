"""A text as tokens that keep their places: numbers, words and single signs. Linear in the length of any text."""

import re
import unicodedata
from typing import NamedTuple

#: Only so many characters of a text are read; a longer one is no sentence.
CHARACTERS_MAX = 5_000
#: The same for tokens.
TOKENS_MAX = 600
_GROUP = " '’"
#: Codes such as B12 and q12h are one word; then numbers with their separators, words, and any other sign.
_TOKEN = re.compile(
    rf"(?P<code>[^\W\d_]+\d\w*)|(?P<number>\d{{1,3}}(?:[{_GROUP}]\d{{3}})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)*)|(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)*)|(?P<sign>\S)"
)
_KINDS = {"code": "code", "number": "number", "word": "word", "sign": "sign"}
_HYPHENS = dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d", "-")
_BLANKS = dict.fromkeys("\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000\t\r\x0b\x0c", " ")
_LIKE = (
    _HYPHENS | _BLANKS | {"\uff05": "%", "\ufe6a": "%", "\uff0c": ",", "\uff0e": ".", "\uff1a": ":", "\uff0f": "/", "\u2044": "/", "\u2215": "/", "\u00b5": "μ"}
)
_PLAIN = str.maketrans(_LIKE)


class Token(NamedTuple):
    """One token. `text` is lower case with plain digits; `close`: nothing separates it from the token before; `capital`: it began with one."""

    kind: str
    text: str
    start: int
    end: int
    close: bool
    capital: bool
    opens_line: bool


#: The token beyond either end of a text.
NOTHING = Token("end", "", 0, 0, close=False, capital=False, opens_line=False)


class Tokens:
    """The tokens of a text. Beyond either end there is `NOTHING`."""

    def __init__(self, text: str) -> None:
        text = plain(text[:CHARACTERS_MAX])
        self.items: list[Token] = []
        end, opens = 0, True
        for match in _TOKEN.finditer(text):
            start = match.start()
            opens = opens or "\n" in text[end:start]
            found = match.group()
            kind = match.lastgroup or "sign"
            self.items.append(Token(_KINDS[kind], found.lower().replace("’", "'"), start, match.end(), start == end and start > 0, found[:1].isupper(), opens))
            end, opens = match.end(), False
            if len(self.items) >= TOKENS_MAX:
                break

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, place: int) -> Token:
        return self.items[place] if 0 <= place < len(self.items) else NOTHING

    def text(self, place: int) -> str:
        """The text of one token, "" beyond the ends."""
        return self[place].text

    def past_hyphen(self, place: int) -> int:
        """The place behind a hyphen that is joined to the word before it, else the same place."""
        return place + (self.text(place) == "-" and self[place].close)

    def starts(self, place: int, *words: str) -> bool:
        """True if the tokens from this place on are these words."""
        return all(self[place + index].text == word for index, word in enumerate(words))


def plain(text: str) -> str:
    """The text with plain digits, blanks and hyphens, each character in its place."""
    if text.isascii():
        return text
    return "".join(character if character.isascii() else _digit(character) for character in text.translate(_PLAIN))


def _digit(character: str) -> str:
    """0 to 9 for a decimal digit of any script, else the character."""
    value = unicodedata.decimal(character, None)
    return character if value is None else str(value)
