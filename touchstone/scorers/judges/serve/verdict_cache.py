"""Keeps verdicts, so that an identical question is not asked again: in memory, or in a file that processes share."""

import os
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from touchstone.scorers.base import ConfigError
from touchstone.scorers.judges.ask.form import Form
from touchstone.scorers.judges.ask.judge import Prompt
from touchstone.scorers.judges.settings import JudgeSettings

_BUSY_S = 5.0
#: How answers are read. A verdict that was kept under other rules may not be the judge's own, so it is never found again.
_READING = 2
#: The share of its verdicts that a full file deletes at a time.
_ROOM_SHARE = 0.05
_TABLES = (
    "create table if not exists verdicts (question blob primary key, model text not null, verdict text not null, used integer not null) without rowid",
    "create index if not exists verdicts_used on verdicts (used)",
)


def question_of(settings: JudgeSettings, prompt: Prompt, form: Form, fields: Mapping[str, str]) -> bytes:
    """A hash that identifies a question: server, model, parameters, prompt, form and texts."""
    asked = (settings.base_url, settings.model, settings.temperature, settings.seed, settings.max_tokens, settings.structured, _READING)
    digest = sha256(f"{asked!r}{prompt.digest}".encode())
    for part in (form.text, *(each for name in sorted(fields) for each in (name, fields[name]))):
        data = part.encode(errors="surrogatepass")
        # With its length, so that no text can imitate the boundary between two texts.
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.digest()


@dataclass(frozen=True, slots=True)
class KeptVerdict:
    """A verdict as JSON, and the model that gave it."""

    model: str
    verdict: str


class VerdictCache(Protocol):
    """A cache of verdicts."""

    def find(self, question: bytes) -> KeptVerdict | None:
        """The verdict on a question; None if there is none."""
        ...

    def keep(self, question: bytes, kept: KeptVerdict) -> None:
        """Keep a verdict."""
        ...

    def close(self) -> None:
        """Release the file or the memory."""
        ...


def open_cache(settings: JudgeSettings) -> VerdictCache:
    """The cache of the settings. Raises `ConfigError` for a file that cannot be used."""
    if settings.cache in {"off", "memory"}:
        return MemoryCache(settings.cache_items if settings.cache == "memory" else 0)
    return FileCache(Path(settings.cache).expanduser(), settings.cache_items)


class MemoryCache:
    """Verdicts of one process; the least recently used is dropped first. `items_max` 0: keeps none."""

    def __init__(self, items_max: int) -> None:
        self._kept: OrderedDict[bytes, KeptVerdict] = OrderedDict()
        self._items_max = items_max

    def find(self, question: bytes) -> KeptVerdict | None:
        """The verdict on a question; None if there is none."""
        if (kept := self._kept.get(question)) is not None:
            self._kept.move_to_end(question)
        return kept

    def keep(self, question: bytes, kept: KeptVerdict) -> None:
        """Keep a verdict."""
        self._kept[question] = kept
        self._kept.move_to_end(question)
        while len(self._kept) > self._items_max:
            self._kept.popitem(last=False)

    def close(self) -> None:
        """Forget them."""
        self._kept.clear()


class FileCache:
    """Verdicts of several processes in one file, readable by its owner only. If the file fails, verdicts are not found; no case fails."""

    def __init__(self, path: Path, items_max: int) -> None:
        """Raises `ConfigError`."""
        self._items_max = items_max
        self._lock = threading.Lock()
        try:
            # Created before SQLite opens it, because SQLite gives its other files the same permissions.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            path.chmod(0o600)
            self._base = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
            self._base.execute("pragma journal_mode = wal")
            self._base.execute("pragma synchronous = normal")
            for table in _TABLES:
                self._base.execute(table)
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(f"cache: {path} cannot be used ({type(error).__name__}); set TOUCHSTONE_JUDGE_CACHE to a writable file, memory or off") from None

    def find(self, question: bytes) -> KeptVerdict | None:
        """The verdict on a question; None if there is none."""
        try:
            with self._lock:
                row = self._base.execute("select model, verdict from verdicts where question = ?", (question,)).fetchone()
                if row is not None:
                    self._base.execute("update verdicts set used = ? where question = ?", (time.time_ns(), question))
        except sqlite3.Error:
            return None
        return None if row is None else KeptVerdict(*row)

    def keep(self, question: bytes, kept: KeptVerdict) -> None:
        """Keep a verdict."""
        try:
            with self._lock:
                self._base.execute("insert or replace into verdicts values (?, ?, ?, ?)", (question, kept.model, kept.verdict, time.time_ns()))
                (count,) = self._base.execute("select count(*) from verdicts").fetchone()
                if count > self._items_max:
                    surplus = count - self._items_max + int(self._items_max * _ROOM_SHARE)
                    self._base.execute("delete from verdicts where question in (select question from verdicts order by used limit ?)", (surplus,))
        except sqlite3.Error:
            return

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._base.close()
