"""Codes that neither the gold nor its source has: addresses, versions, numbers of orders and cases, "ward 12B"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from touchstone.scorers.summary.conflicts.unknown.known import CODE, Known, squeezed
from touchstone.scorers.summary.conflicts.values import dates
from touchstone.scorers.summary.conflicts.values.tokens import Tokens, plain
from touchstone.scorers.summary.word_lists import word_lists

LABELS = word_lists(__file__, "words")["labels"]
_SIGNS = re.compile(r"[-./:_#]")
#: 12B behind one of the words for what has such a number.
_LETTERED = re.compile(r"\d{1,4}[A-Z]|[A-Z]\d{1,4}")
#: A code of letters and digits has so many digits; fewer are SpO2, COVID-19, Q3 and 5G, which any text may use.
DIGITS_MIN = 3
#: The same for a code of digits and hyphens alone.
LONG_DIGITS_MIN = 6
_MEASURED = re.compile(r"[\d.,]*\d(?:st|nd|rd|th|s|[a-zA-Zµμ]{1,5})|[A-Za-z]{1,3}\d{4}", re.ASCII)


def unknown_codes(sentence: str, known: Known) -> list[tuple[int, int]]:
    """Where a sentence has codes that are unknown: [start, end)."""
    return [span for span, code, label in _codes(plain(sentence)) if not _is_known(code, label, known)]


def _codes(text: str) -> Iterator[tuple[tuple[int, int], str, str]]:
    """The codes of a text: place, code, and the word before one that counts only beside its label ("" for others)."""
    for match in CODE.finditer(text):
        code = match.group()
        if not any(map(str.isdigit, code)):
            continue
        before = re.search(r"([^\W\d_]+)\W{1,2}$", text[max(0, match.start() - 24) : match.start()])
        label = before.group(1).casefold() if before else ""
        if _LETTERED.fullmatch(code) and label in LABELS:
            yield match.span(), code, label
        elif _is_code(code):
            yield match.span(), code, ""


def _is_code(code: str) -> bool:
    """True if letters, digits and signs are no number, date, range, measure or common abbreviation."""
    digits, letters = sum(map(str.isdigit, code)), sum(map(str.isalpha, code))
    parts = _SIGNS.split(code)
    if letters:
        mixed = any(character.isdigit() for part in parts for character in part) and digits >= DIGITS_MIN
        measured = any(_MEASURED.fullmatch(part) for part in parts) and not code[0].isalpha()
        return mixed and not measured and not _word_and_year(parts)
    if code.count(".") >= 2 and all(part.isdigit() for part in parts):
        return dates.date(Tokens(code), 0) is None and any(len(part) != 3 for part in parts[1:])
    return "-" in code and digits >= LONG_DIGITS_MIN and len(parts) >= 2 and dates.date(Tokens(code), 0) is None and not all(len(part) == 4 for part in parts)


def _word_and_year(parts: list[str]) -> bool:
    """True for "mid-2019", "2019-based" and "Paris/2024": words, and a number by itself."""
    return any(part.isalpha() and part.islower() for part in parts) and all(part.isalpha() or part.isdigit() for part in parts)


def _is_known(code: str, label: str, known: Known) -> bool:
    """True if the code is in a known text, however it is separated there; or its label has no code there that it could be mistaken for."""
    bare = squeezed(code)
    if bare in known.codes or bare.removeprefix("v") in known.codes or (len(bare) >= LONG_DIGITS_MIN and bare in known.squeezed):
        return True
    if not label:
        parts = _SIGNS.split(code)
        return len(parts) == 2 and all(part in known.runs for part in parts)
    return label not in known.lettered
