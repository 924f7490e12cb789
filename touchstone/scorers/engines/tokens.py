"""Texts to token ids, each unique text once, and ids to the model's input with its special tokens."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from touchstone.scorers.base import ConfigError, Reading
from touchstone.scorers.engines.batcher_metrics import SECONDS
from touchstone.scorers.histogram import Histogram

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]

ValueT = TypeVar("ValueT")

#: A longer text is not cached: a few of them would fill the cache that is meant for thousands of sentences.
REMEMBERED_CHARACTERS_MAX = 16_384
#: A tokenizer without a bound gives a number of thirty digits.
TOKENS_UNBOUNDED = 1_000_000


class Lru(Generic[ValueT]):
    """The last `items_max` values by text; safe from any thread. `items_max` 0 keeps nothing."""

    def __init__(self, items_max: int) -> None:
        self._items_max = items_max
        self._values: OrderedDict[str, ValueT] = OrderedDict()
        self._lock = threading.Lock()
        self.hits = 0
        self.misses = 0

    def find(self, texts: Sequence[str]) -> tuple[dict[str, ValueT], list[str]]:
        """The cached values of `texts`, and the texts that are not cached, each once."""
        found: dict[str, ValueT] = {}
        missing: dict[str, None] = {}
        with self._lock:
            for text in texts:
                value = self._values.get(text)
                if value is None:
                    missing[text] = None
                elif text not in found:
                    found[text] = value
                    self._values.move_to_end(text)
            self.hits += len(found)
            self.misses += len(missing)
        return found, list(missing)

    def keep(self, values: dict[str, ValueT]) -> dict[str, ValueT]:
        """Cache these. A value that another thread has cached meanwhile stays, and is returned."""
        with self._lock:
            out = {text: self._values.get(text, value) for text, value in values.items()}
            for text, value in out.items():
                if len(text) <= REMEMBERED_CHARACTERS_MAX:
                    self._values[text] = value
            while len(self._values) > self._items_max:
                self._values.popitem(last=False)
        return out


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """One text's ids without special tokens. `number`: the text's identity while it is cached."""

    number: int
    ids: Ids

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Template:
    """Where a tokenizer puts its special tokens (`specials` in all) around one text or a pair, and the parts' type ids (None: it has none)."""

    before: tuple[int, ...]
    between: tuple[int, ...]
    after: tuple[int, ...]
    types: tuple[int, int] | None
    specials: int


@dataclass(frozen=True, slots=True)
class Words:
    """A fast tokenizer's backend. `pad_id`: fills the rectangle; `typed`: the model has segment types; `tokens_max`: the tokenizer's bound of an input."""

    backend: Any
    pad_id: int
    typed: bool
    tokens_max: int

    def template(self, *, pair: bool) -> Template:
        """The places of special tokens, found with a probe. Raises: ConfigError if the parts cannot be distinguished."""
        return _template(self.backend.encode("a", "b") if pair else self.backend.encode("a"), pair=pair, typed=self.typed)


def words_of(tokenizer: Any) -> Words:
    """The words of a library's tokenizer. Raises: ConfigError if it has no fast version or cannot pad."""
    if not getattr(tokenizer, "is_fast", False):
        raise ConfigError("the model's tokenizer has no fast version (tokenizer.json); choose a model that has one, or convert it")
    return _words(tokenizer.backend_tokenizer, tokenizer.pad_token_id, typed="token_type_ids" in tokenizer.model_input_names, most=tokenizer.model_max_length)


def read_words(folder: Path, *, typed: bool) -> Words:
    """The words of a folder's tokenizer.json, by the tokenizers library alone. Raises: ConfigError, or that library's errors."""
    from tokenizers import Tokenizer as Backend

    backend = Backend.from_file(str(folder / "tokenizer.json"))
    config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    pad = config.get("pad_token")
    pad_id = backend.token_to_id(pad["content"] if isinstance(pad, dict) else pad) if pad else None
    return _words(backend, pad_id, typed=typed, most=config.get("model_max_length") or TOKENS_UNBOUNDED)


def _words(backend: Any, pad_id: int | None, *, typed: bool, most: float) -> Words:
    if pad_id is None:
        raise ConfigError("the model's tokenizer has no padding token; set pad_token in its tokenizer_config.json")
    # A tokenizer may be saved with truncation and padding switched on; here nothing is truncated silently.
    backend.no_truncation()
    backend.no_padding()
    return Words(backend, pad_id, typed, int(min(most, TOKENS_UNBOUNDED)))


class Tokenizer:
    """A fast tokenizer behind a cache of texts. `pad_id`: fills the rectangle."""

    def __init__(self, words: Words, cache_items: int) -> None:
        self._backend = words.backend
        self.pad_id = words.pad_id
        self._numbers = itertools.count()
        self._took_s = Histogram(SECONDS)
        self._counting = threading.Lock()
        self.cache: Lru[Tokens] = Lru(cache_items)

    def tokens(self, missing: Sequence[str]) -> dict[str, Tokens]:
        """Tokenize texts that are not cached. Slow; other threads run meanwhile."""
        began = time.perf_counter()
        encoded = self._backend.encode_batch_fast([_without_surrogates(text) for text in missing], add_special_tokens=False)
        with self._counting:
            self._took_s.observe(time.perf_counter() - began)
        return self.cache.keep({text: Tokens(next(self._numbers), np.array(each.ids, dtype=np.int64)) for text, each in zip(missing, encoded, strict=True)})

    def readings(self, engine: str) -> Iterable[Reading]:
        """Texts tokenized, texts cached, and the time of each call."""
        labels = (("engine", engine),)
        with self._counting:
            total_s, buckets = self._took_s.sum, self._took_s.buckets()
        yield Reading("engine_tokenization_seconds", "histogram", "one call of the tokenizer, for all texts that were not cached", total_s, labels, buckets)
        yield Reading("engine_texts_tokenized", "counter", "texts tokenized", self.cache.misses, labels)
        yield Reading("engine_texts_remembered", "counter", "texts whose tokens were cached", self.cache.hits, labels)


def _without_surrogates(text: str) -> str:
    """Replace lone surrogates, which JSON can carry and UTF-8 cannot, by question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _template(probe: Any, *, pair: bool, typed: bool) -> Template:
    """Read the template off the encoding of one text, or of two as the tokenizer joins them."""
    ids, owners = probe.ids, probe.sequence_ids
    parts: list[tuple[int | None, list[int]]] = []
    for owner, run in itertools.groupby(range(len(ids)), key=lambda place: owners[place]):
        parts.append((owner, list(run)))
    first = [at for at, (owner, _) in enumerate(parts) if owner == 0]
    second = [at for at, (owner, _) in enumerate(parts) if owner == 1]
    if len(first) != 1 or len(second) != int(pair) or (pair and first[0] > second[0]):
        raise ConfigError("the model's tokenizer joins texts in an unsupported way; choose a BERT-, RoBERTa- or DeBERTa-like model")

    def specials(low: int, high: int) -> tuple[int, ...]:
        return tuple(ids[place] for _, run in parts[low:high] for place in run)

    last = second[0] if pair else first[0]
    between = specials(first[0] + 1, second[0]) if pair else ()
    before, after = specials(0, first[0]), specials(last + 1, len(parts))
    types = _types(probe.type_ids, parts, last) if typed else None
    return Template(before, between, after, types, len(before) + len(between) + len(after))


def _types(types: Sequence[int], parts: list[tuple[int | None, list[int]]], last: int) -> tuple[int, int]:
    head = {types[place] for _, run in parts[:last] for place in run}
    tail = {types[place] for _, run in parts[last:] for place in run}
    if len(head) > 1 or len(tail) > 1:
        raise ConfigError("the model's tokenizer marks the parts of a pair in an unsupported way; choose a BERT-, RoBERTa- or DeBERTa-like model")
    second = tail.pop()
    return (head.pop() if head else second), second


@dataclass(frozen=True, slots=True)
class Rectangle:
    """A batch as arrays of shape (n, longest): ids, mask and, where the model has them, types."""

    ids: Ids
    mask: Ids
    types: Ids | None


def rectangle(rows: Sequence[Sequence[Ids]], firsts: Sequence[int], template: Template, *, pad_id: int, step: int) -> Rectangle:
    """Lay out rows, each given as pieces to be joined; `firsts`: the length of each row's first segment."""
    lengths = np.array([sum(map(len, row)) for row in rows])
    longest = -(-int(lengths.max()) // step) * step
    places = np.arange(longest)[None, :]
    inside = places < lengths[:, None]
    ids = np.full(inside.shape, pad_id, dtype=np.int64)
    ids[inside] = np.concatenate([piece for row in rows for piece in row])
    types = None
    if template.types is not None:
        first, second = template.types
        types = np.where(places < np.array(firsts)[:, None], first, second) * inside
    return Rectangle(ids, inside.astype(np.int64), types)
