"""Groups of notes by a language model, batch after batch. Its answer is data: what it forgets, doubles or invents changes no note."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from pydantic import BaseModel

from touchstone.scorers.base import ConfigError, Unavailable
from touchstone.scorers.judges.ask.judge import Judge, OverBudget, Unanswered
from touchstone.scorers.judges.ask.prompt import load_prompt

PROMPTS: Final = "touchstone.ops.reviews"
#: Notes and characters of one request, so that its answer stays within the usual bound of tokens.
NOTES_AT_A_TIME: Final = 60
CHARS_AT_A_TIME: Final = 24_000
NOTE_CHARS_MAX: Final = 2_000
NAME_CHARS_MAX: Final = 60
DESCRIPTION_CHARS_MAX: Final = 500


class AskedCategory(BaseModel):
    """One category of the model's answer. `notes`: their numbers."""

    name: str
    kind: Literal["specification", "generalization", "unsure"]
    description: str
    notes: list[int]


class AskedCategories(BaseModel):
    """The model's answer on one batch."""

    categories: list[AskedCategory]


@dataclass(frozen=True, slots=True)
class Known:
    """A category that there is: its description, and what it is a failure of."""

    description: str = ""
    kind: str | None = None


@dataclass(slots=True)
class Grouped:
    """What the model made of the notes. `of`: place of a note → name of its category. `known`: name → what the category is, in the order of their coming.

    `counts`: what was wrong with the answers: `invented` numbers, notes that were `doubled`, notes that were `forgotten`, categories without a usable name.
    `unanswered`: code → batches without an answer.
    """

    of: dict[int, str] = field(default_factory=dict)
    known: dict[str, Known] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    unanswered: Counter[str] = field(default_factory=Counter)
    batches: int = 0
    model: str = ""


async def asked(judge: Judge, notes: Sequence[str], known: Mapping[str, Known]) -> Grouped:
    """Ask for the categories of notes, and close the judge. `known`: the categories that there are. Raises `ConfigError` if no batch was answered."""
    prompt, found = load_prompt(PROMPTS, "categories"), Grouped(known=dict(known))
    try:
        for batch in batches(notes):
            found.batches += 1
            fields = {"known": _listed(found.known), "notes": "\n".join(f"{place + 1}: {_line(notes[place])}" for place in batch)}
            try:
                answer = await judge.ask(prompt, fields, AskedCategories)
            except Unanswered as error:
                found.unanswered[error.code] += 1
                continue
            except (Unavailable, OverBudget) as error:
                # Nobody answers now, so the later batches are not sent.
                found.unanswered[str(error) or "unavailable"] += 1
                break
            found.model = answer.model
            take(found, answer.verdict, frozenset(batch))
    finally:
        await judge.close()
    if found.batches and sum(found.unanswered.values()) == found.batches:
        reasons = ", ".join(sorted(found.unanswered))
        raise ConfigError(f"the judge answered nothing ({reasons}); check TOUCHSTONE_JUDGE_BASE_URL and the model, or group without it: --by embeddings")
    return found


def take(found: Grouped, answer: AskedCategories, batch: frozenset[int]) -> None:
    """Add one answer. Of a note in two categories the first counts; a number that was not in the batch is dropped."""
    seen: set[int] = set()
    for category in answer.categories:
        name = name_of(category.name)
        if name is None:
            found.counts["unnamed"] += 1
            continue
        for number in category.notes:
            place = number - 1
            if place not in batch:
                found.counts["invented"] += 1
            elif place in seen:
                found.counts["doubled"] += 1
            else:
                seen.add(place)
                found.of[place] = name
                kind = None if category.kind == "unsure" else category.kind
                found.known.setdefault(name, Known(" ".join(category.description.split())[:DESCRIPTION_CHARS_MAX], kind))
    found.counts["forgotten"] += len(batch - seen)


def batches(notes: Sequence[str]) -> Iterator[list[int]]:
    """The places of notes, so many at a time that a request stays within its bounds."""
    batch: list[int] = []
    size = 0
    for place, note in enumerate(notes):
        length = len(_line(note))
        if batch and (len(batch) == NOTES_AT_A_TIME or size + length > CHARS_AT_A_TIME):
            yield batch
            batch, size = [], 0
        batch.append(place)
        size += length
    if batch:
        yield batch


def name_of(text: str) -> str | None:
    """A name in lower case with underscores; None if nothing is left of it."""
    name = re.sub(r"[^a-z0-9]+", "_", text.casefold()).strip("_")
    name = re.sub(r"^[^a-z]+", "", name)[:NAME_CHARS_MAX].rstrip("_")
    return name or None


def _listed(known: Mapping[str, Known]) -> str:
    return "\n".join(f"{name}: {one.description}" if one.description else name for name, one in known.items()) or "none"


def _line(note: str) -> str:
    """A note on one line, so that no note looks like two."""
    return " ".join(note.split())[:NOTE_CHARS_MAX]


def run_asked(judge: Judge, notes: Sequence[str], known: Mapping[str, Known]) -> Grouped:
    """`asked`, in a loop of its own."""
    return asyncio.run(asked(judge, notes, known))
