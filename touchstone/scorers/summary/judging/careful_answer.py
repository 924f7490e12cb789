"""Answers of a careful reader about the samples, for a scripted judge: `support: judge` can be tried without a key."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, Final

from touchstone.scorers.judges.ask.message import blocks_of
from touchstone.scorers.summary.components.rulings import Word
from touchstone.scorers.summary.samples import GOLDS, samples

_LINE: Final = re.compile(r"^S\d+: (.*)$", re.MULTILINE)
_ID: Final = re.compile(r"([FS])(\d+)")
_PARTS: Final = {"F": "facts", "S": "sentences"}
Read = Mapping[str, Mapping[Word, list[int]]]


def careful_answer(request: str) -> Mapping[str, Any]:
    """The answer to the user's part of a request about a sample, in the form of the verdict. Raises `ValueError` for a summary that is no sample."""
    blocks = blocks_of(request)
    shown = " ".join(_LINE.findall(blocks["summary"]))
    name = _samples().get(shown)
    if name is None:
        raise ValueError("the summary is no sample")
    read: Read = _read().get(name, {})
    return {"statements": [_verdict(letter, int(digits), read) for letter, digits in _ID.findall(blocks["asked"])]}


def _verdict(letter: str, number: int, read: Read) -> dict[str, str]:
    """What is not noted as absent or contradicted is supported."""
    found = read.get(_PARTS[letter], {})
    verdict = next((word for word, numbers in found.items() if number in numbers), "supported")
    return {"id": f"{letter}{number}", "evidence": "", "verdict": verdict}


@cache
def _read() -> Mapping[str, Read]:
    """Event id → what was found, by number from 1."""
    found: dict[str, Read] = json.loads((GOLDS.parent / "read.json").read_text(encoding="utf-8"))
    return found


@cache
def _samples() -> Mapping[str, str]:
    """The text of a sample, as a judge is shown it → its event id."""
    return {" ".join(text.split()): name for name, text in texts()}


def texts() -> Iterator[tuple[str, str]]:
    """Event id and text of each sample; of a structured one the text inside."""
    for path in samples().paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            written = json.loads(line)
            text = written["generated"]
            with suppress(ValueError):  # it is plain text
                text = json.loads(text)["summary"]
            yield written["id"], text
