"""Natural language inference over a loaded classification model: `Nli.entail` on the shared micro-batcher."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from touchstone.scorers.base import ConfigError, Reading
from touchstone.scorers.engines.base import ENTAILMENT, TextTooLong
from touchstone.scorers.engines.batcher import Batcher, ItemFailed, Work
from touchstone.scorers.engines.tokens import Rectangle, Tokenizer, Tokens, rectangle

if TYPE_CHECKING:
    from touchstone.schemas.settings.engines import EngineSettings
    from touchstone.scorers.engines.base import Floats
    from touchstone.scorers.engines.loaded_model import RunningNli
    from touchstone.scorers.engines.tokens import Ids

#: A hypothesis must leave this share of the window to the premise, where the premise does not fit whole.
PREMISE_SHARE_MIN = 1 / 4
#: Chunks of a long premise share this part of their length.
CHUNK_OVERLAP = 1 / 4


class Piece(NamedTuple):
    """The input of one row of a batch: a part of a premise and a whole hypothesis."""

    premise: Tokens
    start: int
    stop: int
    hypothesis: Tokens


def columns_of(id2label: Mapping[int, str]) -> tuple[tuple[int, ...], ...]:
    """Which of the model's columns make (entailment, neutral, contradiction); two-way models have no neutral. Raises: ConfigError.

    "Not entailment" stands in the place of contradiction: such a model does not distinguish the two.
    """
    found: dict[str, int] = {}
    for index, label in id2label.items():
        name = "".join(letter for letter in label.casefold() if letter.isalpha())
        if name.startswith(("not", "non")) and "entail" in name:
            found["contradiction"] = int(index)
        else:
            for known, stem in (("entailment", "entail"), ("neutral", "neutral"), ("contradiction", "contradict")):
                if name.startswith(stem):
                    found[known] = int(index)
    wanted = ("entailment", "neutral", "contradiction") if len(id2label) == 3 else ("entailment", "contradiction")
    if len(id2label) not in {2, 3} or set(found) != set(wanted):
        shown = ", ".join(f"{index}: {label}" for index, label in sorted(id2label.items())[:5])
        raise ConfigError(
            f"the NLI model's labels are not understood ({shown}); its config.json needs id2label with entailment, neutral and contradiction "
            "(or entailment and not_entailment)"
        )
    return tuple((found[name],) if name in found else () for name in ("entailment", "neutral", "contradiction"))


class NliEngine:
    """`Nli` over one model. `name`: its name in results."""

    def __init__(self, running: RunningNli, settings: EngineSettings, *, name: str) -> None:
        self._name = name
        self._columns = columns_of(running.labels)
        self._running = running
        self._template = running.words.template(pair=True)
        self._room = running.window - self._template.specials
        self._tokenizer = Tokenizer(running.words, settings.text_cache_items)
        self._before, self._between, self._after = (
            np.array(ids, dtype=np.int64) for ids in (self._template.before, self._template.between, self._template.after)
        )
        self._batcher: Batcher[Piece, Any, Floats] = Batcher(
            "nli", self._prepare, self._forward, running.limits(settings), is_out_of_memory=running.is_out_of_memory, release=running.release
        )

    @property
    def model(self) -> str:
        """Name and content digest of the model."""
        return self._name

    @property
    def window_tokens(self) -> int:
        """Tokens that a pair may have, special ones counted."""
        return self._running.window

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """Probabilities, shape (n, 3): entailment, neutral, contradiction.

        Raises: TextTooLong, Unavailable, ItemFailed.
        """
        if not pairs:
            return np.empty((0, 3), dtype=np.float32)
        known, missing = self._tokenizer.known.find([text for pair in pairs for text in pair])
        if missing:
            known |= await asyncio.to_thread(self._tokenizer.tokens, missing)
        works: list[Work[Piece]] = []
        owners: list[int] = []
        for index, (premise, hypothesis) in enumerate(pairs):
            made = self._works(known[premise], known[hypothesis])
            works += made
            owners += [index] * len(made)
        rows = np.stack(await self._batcher.ask(works))
        if not np.isfinite(rows).all():
            raise ItemFailed("NotANumber")
        return rows if len(works) == len(pairs) else _best(rows, np.array(owners), len(pairs))

    def readings(self) -> Iterable[Reading]:
        """The engine's current readings."""
        yield from self._batcher.readings()
        yield from self._tokenizer.readings("nli")

    async def close(self) -> None:
        """Finish what is in flight, refuse what is new."""
        await self._batcher.close()

    def warm_up(self) -> None:
        """Run the model once, so that the first case does not pay for first-use initialisation."""
        words = Tokens(-1, np.full(16, self._tokenizer.pad_id, dtype=np.int64))
        for count in (1, 8):
            self._forward(self._prepare([Piece(words, 0, 16, words)] * count))

    def _works(self, premise: Tokens, hypothesis: Tokens) -> list[Work[Piece]]:
        length, rest = len(premise.ids), len(hypothesis.ids)
        fixed = self._template.specials + rest
        if length + rest <= self._room:
            return [Work((premise.number, 0, hypothesis.number), Piece(premise, 0, length, hypothesis), length + fixed)]
        room = self._room - rest
        least = max(1, int(self._running.window * PREMISE_SHARE_MIN))
        if room < least:
            raise TextTooLong(rest, self._room - least)
        # Chunks of one premise start at the same places only beside hypotheses of the same length; the hypothesis is in the key.
        return [
            Work((premise.number, start, hypothesis.number), Piece(premise, start, stop, hypothesis), stop - start + fixed)
            for start, stop in _chunks(length, room)
        ]

    def _prepare(self, pieces: Sequence[Piece]) -> Any:
        return self._running.inputs(self.layout(pieces))

    def layout(self, pieces: Sequence[Piece]) -> Rectangle:
        """The batch as the tokenizer itself would have made it from the two texts."""
        rows: list[tuple[Ids, ...]] = []
        firsts: list[int] = []
        fixed = len(self._before) + len(self._between)
        for premise, start, stop, hypothesis in pieces:
            rows.append((self._before, premise.ids[start:stop], self._between, hypothesis.ids, self._after))
            firsts.append(fixed + stop - start)
        return rectangle(rows, firsts, self._template, pad_id=self._tokenizer.pad_id, step=self._running.step)

    def _forward(self, inputs: Any) -> Sequence[Floats]:
        probabilities = self._running.rows(inputs)
        rows = np.zeros((len(probabilities), len(self._columns)), dtype=np.float32)
        for place, columns in enumerate(self._columns):
            if columns:
                rows[:, place] = probabilities[:, columns[0]]
        return list(rows)


def _chunks(length: int, room: int) -> list[tuple[int, int]]:
    """Overlapping spans of at most `room` that cover `length`, of nearly equal size."""
    stride = max(1, room - int(room * CHUNK_OVERLAP))
    count = -(-(length - room) // stride) + 1
    starts = [round(index * (length - room) / (count - 1)) for index in range(count)]
    return [(start, start + room) for start in starts]


def _best(rows: Floats, owners: np.ndarray[Any, np.dtype[np.int64]], count: int) -> Floats:
    """The row of each owner's best-entailing chunk; the first among equals."""
    order = np.lexsort((-rows[:, ENTAILMENT], owners))
    firsts = np.searchsorted(owners[order], np.arange(count))
    best: Floats = rows[order[firsts]]
    return best
