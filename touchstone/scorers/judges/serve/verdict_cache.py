"""Verdicts that were given before, and questions that are being asked: an identical question is asked once."""

import asyncio
import os
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from touchstone.scorers.base import ConfigError
from touchstone.scorers.judges.ask.form import Form
from touchstone.scorers.judges.ask.judge import Prompt
from touchstone.scorers.judges.settings import JudgeSettings

T = TypeVar("T")
_BUSY_S = 5.0
#: A full file makes room for so many verdicts at a time.
_ROOM_SHARE = 0.05
_TABLES = (
    "create table if not exists verdicts (question blob primary key, model text not null, verdict text not null, used integer not null) without rowid",
    "create index if not exists verdicts_used on verdicts (used)",
)


def question_of(settings: JudgeSettings, prompt: Prompt, form: Form, fields: Mapping[str, str]) -> bytes:
    """What tells a question apart: the model and its server, the parameters, the prompt, the form, and the texts."""
    asked = (settings.base_url, settings.model, settings.temperature, settings.seed, settings.max_tokens, settings.structured)
    digest = sha256(f"{asked!r}{prompt.digest}".encode())
    for part in (form.text, *(each for name in sorted(fields) for each in (name, fields[name]))):
        data = part.encode(errors="surrogatepass")
        # With its length, so that no text can pose as the border between two.
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.digest()


@dataclass(frozen=True, slots=True)
class Kept:
    """A verdict as JSON, and the model that gave it."""

    model: str
    verdict: str


class Responses(Protocol):
    """Keeps verdicts."""

    def find(self, question: bytes) -> Kept | None:
        """The verdict on a question."""
        ...

    def keep(self, question: bytes, kept: Kept) -> None:
        """Keep one."""
        ...

    def close(self) -> None:
        """Release what is held."""
        ...


def open_responses(settings: JudgeSettings) -> Responses:
    """What the settings ask for. Raises `ConfigError` for a file that cannot be used."""
    if settings.cache in {"off", "memory"}:
        return InMemory(settings.cache_items if settings.cache == "memory" else 0)
    return InFile(Path(settings.cache).expanduser(), settings.cache_items)


class InMemory:
    """Keeps the verdicts of a process; the least recently used gives way. `items_max` 0: keeps none."""

    def __init__(self, items_max: int) -> None:
        self._kept: OrderedDict[bytes, Kept] = OrderedDict()
        self._items_max = items_max

    def find(self, question: bytes) -> Kept | None:
        """The verdict on a question."""
        if (kept := self._kept.get(question)) is not None:
            self._kept.move_to_end(question)
        return kept

    def keep(self, question: bytes, kept: Kept) -> None:
        """Keep one."""
        self._kept[question] = kept
        self._kept.move_to_end(question)
        while len(self._kept) > self._items_max:
            self._kept.popitem(last=False)

    def close(self) -> None:
        """Forget them."""
        self._kept.clear()


class InFile:
    """Keeps the verdicts of several processes in one file, which only its owner can read. A fault of the file is a verdict not found, never a failed case."""

    def __init__(self, path: Path, items_max: int) -> None:
        """Raises `ConfigError`."""
        self._items_max = items_max
        self._lock = threading.Lock()
        try:
            # Made before SQLite opens it, because SQLite makes its other files with the same rights.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            path.chmod(0o600)
            self._base = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
            self._base.execute("pragma journal_mode = wal")
            self._base.execute("pragma synchronous = normal")
            for table in _TABLES:
                self._base.execute(table)
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(f"cache: {path} cannot be used ({type(error).__name__}); set TOUCHSTONE_JUDGE_CACHE to a writable file, memory or off") from None

    def find(self, question: bytes) -> Kept | None:
        """The verdict on a question."""
        try:
            with self._lock:
                row = self._base.execute("select model, verdict from verdicts where question = ?", (question,)).fetchone()
                if row is not None:
                    self._base.execute("update verdicts set used = ? where question = ?", (time.time_ns(), question))
        except sqlite3.Error:
            return None
        return None if row is None else Kept(*row)

    def keep(self, question: bytes, kept: Kept) -> None:
        """Keep one."""
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


class _Flight(Generic[T]):
    """A question that is being asked, and how many wait for its answer."""

    def __init__(self, task: asyncio.Task[T]) -> None:
        self.task = task
        self.waiting = 0


class InFlight(Generic[T]):
    """Lets identical questions share one answer. It ends when nobody waits for it any more."""

    def __init__(self) -> None:
        self._flights: dict[Any, _Flight[T]] = {}

    async def ask(self, question: Any, answer: Callable[[], Awaitable[T]]) -> tuple[T, bool]:
        """The answer, and whether another's was shared. `answer` returns its failures, so that each who waits can raise its own."""
        flight = self._flights.get(question)
        shared = flight is not None
        if flight is None:
            flight = self._flights[question] = _Flight(asyncio.ensure_future(answer()))
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task), shared
        finally:
            flight.waiting -= 1
            if not flight.waiting:
                if self._flights.get(question) is flight:
                    del self._flights[question]
                flight.task.cancel()

    async def close(self) -> None:
        """End whatever is asked."""
        tasks = [flight.task for flight in self._flights.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
