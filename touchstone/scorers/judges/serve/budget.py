"""A spending limit that is never exceeded. Before a request is sent, the most that it may cost is reserved; afterwards its real cost replaces the reservation.

Amounts are whole billionths of a USD, so sums are exact. A reservation counts as spent until it is settled. If a process dies in between, the reservation
counts until the period ends, because nobody knows what the server has charged.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil
from pathlib import Path
from typing import Final, Literal

from touchstone.scorers.base import ConfigError, Unavailable
from touchstone.scorers.judges.settings import BUDGET_FILE, JudgeSettings, Price

NANO: Final = 1_000_000_000
#: USD per million tokens → billionths per token.
_PER_TOKEN: Final = NANO // 1_000_000
#: How long a process waits for the file.
_BUSY_S: Final = 10.0
_TABLE: Final = """
create table if not exists spending (
    suite text not null, period text not null, spent integer not null default 0, reserved integer not null default 0, primary key (suite, period)
) without rowid
"""


@dataclass(frozen=True, slots=True)
class Reservation:
    """The most that a request may cost, and the period that it counts in."""

    period: str
    nano: int


def cost_nano(price: Price, tokens_in: int, tokens_out: int, cached: int = 0) -> int:
    """The cost of tokens, rounded up. `cached`: prompt tokens that the server had cached."""
    cached_usd = price.input_usd if price.cached_usd is None else price.cached_usd
    cached = min(cached, tokens_in)
    parts = ((tokens_in - cached, price.input_usd), (cached, cached_usd), (tokens_out, price.output_usd))
    # Rounded first, because the product of a decimal fraction may be slightly above a whole number.
    return sum(ceil(round(tokens * usd * _PER_TOKEN, 3)) for tokens, usd in parts)


def dearest_nano(price: Price, tokens_in: int, tokens_out: int) -> int:
    """The most that tokens can cost, whether or not they are cached (a cached token may also cost more)."""
    return max(cost_nano(price, tokens_in, tokens_out), cost_nano(price, tokens_in, tokens_out, cached=tokens_in))


class Budget:
    """The budget of one suite. Its calls take microseconds, so they run in the event loop; each is one transaction."""

    def __init__(self, settings: JudgeSettings, suite: str) -> None:
        """Raises `ConfigError` for a file that cannot be used."""
        assert settings.budget_usd is not None
        self._ceiling = int(settings.budget_usd * NANO)
        self._suite = suite
        self._kind = settings.budget_period
        self._file = settings.budget_file or (None if self._kind == "run" else BUDGET_FILE)
        self._lock = threading.Lock()  # readings come from other threads
        self._base = _opened(self._file)
        self.outstanding = 0

    def is_exhausted(self, nano: int) -> bool:
        """True if an amount cannot be reserved even after all requests in flight of this process are settled."""
        return self._left() + self.outstanding < nano

    def reserve(self, nano: int) -> Reservation | Literal["later", "exhausted"]:
        """Reserve an amount. "later": it fits once the requests in flight of this process are settled. Raises `Unavailable`."""
        period = self._period()
        with self._transaction() as base:
            base.execute("insert or ignore into spending (suite, period) values (?, ?)", (self._suite, period))
            spent, reserved = base.execute("select spent, reserved from spending where suite = ? and period = ?", (self._suite, period)).fetchone()
            if spent + reserved + nano > self._ceiling:
                return "later" if self.outstanding and spent + reserved - self.outstanding + nano <= self._ceiling else "exhausted"
            base.execute("update spending set reserved = reserved + ? where suite = ? and period = ?", (nano, self._suite, period))
        self.outstanding += nano
        return Reservation(period, nano)

    def settle(self, reservation: Reservation, nano: int) -> None:
        """Replace a reservation by the cost of its request. If the file cannot be written, the reservation stays, which is the safe side."""
        self.outstanding -= reservation.nano
        with suppress(Unavailable), self._transaction() as base:
            base.execute(
                "update spending set reserved = reserved - ?, spent = spent + ? where suite = ? and period = ?",
                (reservation.nano, nano, self._suite, reservation.period),
            )

    def left_usd(self) -> float:
        """What is left in this period, without reservations."""
        return self._left() / NANO

    def _left(self) -> int:
        query = "select spent + reserved from spending where suite = ? and period = ?"
        try:
            with self._lock:
                row = self._base.execute(query, (self._suite, self._period())).fetchone()
        except sqlite3.Error:
            return 0
        return self._ceiling - (row[0] if row else 0)

    def resets_in_s(self) -> float | None:
        """Seconds until the next period; None for a budget of a run."""
        now = datetime.now(UTC)
        start = now.replace(minute=0, second=0, microsecond=0)
        if self._kind == "run":
            return None
        if self._kind == "hour":
            return (start + timedelta(hours=1) - now).total_seconds()
        day = start.replace(hour=0)
        if self._kind == "day":
            return (day + timedelta(days=1) - now).total_seconds()
        return ((day.replace(day=1) + timedelta(days=32)).replace(day=1) - now).total_seconds()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._base.close()

    def _period(self) -> str:
        now = datetime.now(UTC)
        return {"hour": f"{now:%Y-%m-%dT%H}", "day": f"{now:%Y-%m-%d}", "month": f"{now:%Y-%m}", "run": "run"}[self._kind]

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction that locks the file from its start, so that nobody writes between its reading and its writing. Raises `Unavailable`."""
        with self._lock:
            try:
                self._base.execute("begin immediate")
                try:
                    yield self._base
                except BaseException:
                    self._base.execute("rollback")
                    raise
                self._base.execute("commit")
            except sqlite3.Error:
                raise Unavailable("judge_budget_file") from None


def _opened(file: Path | None) -> sqlite3.Connection:
    """The open file with its table; in memory if there is no file."""
    path = file.expanduser() if file is not None else None
    try:
        base = sqlite3.connect(":memory:" if path is None else path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        base.execute("pragma journal_mode = wal")
        # A crash of the process loses nothing; a crash of the machine may lose the last few transactions.
        base.execute("pragma synchronous = normal")
        base.execute(_TABLE)
    except sqlite3.Error as error:
        raise ConfigError(f"budget_file: {path} cannot be used ({type(error).__name__}); set TOUCHSTONE_JUDGE_BUDGET_FILE to a writable file") from None
    return base
