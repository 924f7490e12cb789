"""A spending limit. Before a request is sent, the most that it may cost is reserved; afterwards its real cost replaces the reservation.

Amounts are whole billionths of a USD, so sums are exact. What a request without an answer may have cost is uncertain, because nobody knows what the server has
charged. So is a reservation that nobody has settled in time, because its process is gone. Of what is uncertain, a share of the budget counts as spent.
"""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
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
#: A request ends within its time limit; after so many seconds more, its process is gone.
_GRACE_S: Final = 30.0
_BALANCE: Final = "select spent, reserved, uncertain from spending where suite = ? and period = ?"
_DAY_S: Final = 86_400.0
_PERIOD_S: Final = {"hour": 3_600.0, "day": _DAY_S, "month": 30 * _DAY_S, "run": _DAY_S}
_TABLES: Final = (
    """
    create table if not exists spending (
        suite text not null, period text not null, spent integer not null default 0, reserved integer not null default 0,
        uncertain integer not null default 0, primary key (suite, period)
    ) without rowid
    """,
    # No id is used again, because its first owner may settle it late.
    """
    create table if not exists reservations (
        id integer primary key autoincrement, suite text not null, period text not null, nano integer not null, until real not null
    )
    """,
    "create index if not exists reservations_until on reservations (until)",
)


@dataclass(frozen=True, slots=True)
class Reservation:
    """The most that a request may cost, and the period that it counts in. `id`: of its row."""

    period: str
    nano: int
    id: int


@dataclass(frozen=True, slots=True)
class Balance:
    """What has become of a budget in a period, in billionths of a USD."""

    spent: int = 0
    reserved: int = 0
    uncertain: int = 0


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

    def __init__(self, settings: JudgeSettings, suite: str, clock: Callable[[], float] = time.time) -> None:
        """`clock`: seconds since 1970, which all processes share. Raises `ConfigError` for a file that cannot be used."""
        assert settings.budget_usd is not None
        self._ceiling = int(settings.budget_usd * NANO)
        self._uncertain_max = int(self._ceiling * settings.budget_uncertain_share)
        self._lasts_s = settings.timeout_s + _GRACE_S
        self._suite = suite
        self._kind = settings.budget_period
        self._file = settings.budget_file or (None if self._kind == "run" else BUDGET_FILE)
        self._clock = clock
        self._lock = threading.Lock()  # readings come from other threads
        self._base = _opened(self._file)

    def is_exhausted(self, nano: int) -> bool:
        """True if an amount cannot be reserved even after all requests in flight are settled."""
        return self._fixed(self.balance()) + nano > self._ceiling

    def reserve(self, nano: int) -> Reservation | Literal["later", "exhausted", "uncertain"]:
        """Reserve an amount. Raises `Unavailable`.

        "later": it fits once requests in flight are settled, of this process or another. "uncertain": all that requests without an answer may have cost,
        with those in flight, would be more than the whole budget.
        """
        period, now = self._period(), self._clock()
        with self._transaction() as base:
            _forget_the_dead(base, now)
            base.execute("insert or ignore into spending (suite, period) values (?, ?)", (self._suite, period))
            balance = Balance(*base.execute(_BALANCE, (self._suite, period)).fetchone())
            if self._fixed(balance) + nano > self._ceiling:
                return "exhausted"
            if balance.uncertain + nano > self._ceiling:
                return "uncertain"
            if max(self._fixed(balance), balance.uncertain) + balance.reserved + nano > self._ceiling:
                return "later"
            base.execute("update spending set reserved = reserved + ? where suite = ? and period = ?", (nano, self._suite, period))
            row = base.execute(
                "insert into reservations (suite, period, nano, until) values (?, ?, ?, ?)", (self._suite, period, nano, now + self._lasts_s)
            ).lastrowid
        assert row is not None
        return Reservation(period, nano, row)

    def settle(self, reservation: Reservation, nano: int, *, uncertain: bool = False) -> None:
        """Replace a reservation by the cost of its request. `uncertain`: it may have cost that, and nobody knows.

        If the file cannot be written, the reservation stays, which is the safe side.
        """
        added = (0, nano) if uncertain else (nano, 0)
        with suppress(Unavailable), self._transaction() as base:
            # It may count as uncertain already: the machine slept, or its clock was set.
            is_open = base.execute("delete from reservations where id = ?", (reservation.id,)).rowcount > 0
            taken = (reservation.nano, 0) if is_open else (0, reservation.nano)
            base.execute(
                "update spending set reserved = reserved - ?, uncertain = max(0, uncertain - ?) + ?, spent = spent + ? where suite = ? and period = ?",
                (*taken, added[1], added[0], self._suite, reservation.period),
            )

    def balance(self) -> Balance:
        """What is spent, reserved and uncertain in this period. A file that cannot be read counts as a spent budget."""
        try:
            with self._lock:
                row = self._base.execute(_BALANCE, (self._suite, self._period())).fetchone()
        except sqlite3.Error:
            return Balance(spent=self._ceiling)
        return Balance(*row) if row else Balance()

    def left_usd(self) -> float:
        """What is left in this period, without reservations and what counts of the uncertain."""
        balance = self.balance()
        return (self._ceiling - self._fixed(balance) - balance.reserved) / NANO

    def pace_s(self, nano: int) -> float:
        """Seconds between two requests that may bring no answer. 0 until the uncertain share is used up; then, all of them add at most as much again.

        The next period has a share of its own, so a budget of few requests is not without its judge for days.
        """
        uncertain, ends_s = self.balance().uncertain, self.resets_in_s()
        if not uncertain or uncertain < self._uncertain_max:
            return 0.0
        pace_s = _PERIOD_S[self._kind] * nano / max(self._uncertain_max, 1)
        return pace_s if ends_s is None else min(pace_s, ends_s)

    def _fixed(self, balance: Balance) -> int:
        """What counts for the rest of the period."""
        return balance.spent + min(balance.uncertain, self._uncertain_max)

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


def _forget_the_dead(base: sqlite3.Connection, now: float) -> None:
    """Count reservations of processes that are gone as uncertain."""
    for row, suite, period, nano in base.execute("select id, suite, period, nano from reservations where until < ?", (now,)).fetchall():
        base.execute("delete from reservations where id = ?", (row,))
        base.execute("update spending set reserved = reserved - ?, uncertain = uncertain + ? where suite = ? and period = ?", (nano, nano, suite, period))


def balances(file: Path) -> list[tuple[str, str, Balance]]:
    """Suite, period and balance of each budget in a file, the latest period first. Raises `ConfigError` for a file that is not there or cannot be read."""
    if not file.is_file():
        raise ConfigError(f"budget_file: {file} does not exist; no judge with a budget has run here, or it has another TOUCHSTONE_JUDGE_BUDGET_FILE")
    base = _opened(file)
    try:
        _forget_the_dead(base, time.time())
        rows = base.execute("select suite, period, spent, reserved, uncertain from spending order by period desc, suite").fetchall()
    except sqlite3.Error as error:
        raise _unusable(file, error) from None
    finally:
        base.close()
    return [(suite, period, Balance(*amounts)) for suite, period, *amounts in rows]


def _unusable(file: Path | None, error: sqlite3.Error) -> ConfigError:
    return ConfigError(f"budget_file: {file} cannot be used ({type(error).__name__}); set TOUCHSTONE_JUDGE_BUDGET_FILE to a writable file")


def _opened(file: Path | None) -> sqlite3.Connection:
    """The open file with its table; in memory if there is no file."""
    path = file.expanduser() if file is not None else None
    try:
        base = sqlite3.connect(":memory:" if path is None else path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        base.execute("pragma journal_mode = wal")
        # A crash of the process loses nothing; a crash of the machine may lose the last few transactions.
        base.execute("pragma synchronous = normal")
        base.execute("begin immediate")
        for table in _TABLES:
            base.execute(table)
        if "uncertain" not in {column[1] for column in base.execute("pragma table_info(spending)")}:
            # A file of an earlier version, which knew neither: what was reserved there may have been charged.
            base.execute("alter table spending add column uncertain integer not null default 0")
            base.execute("update spending set uncertain = reserved, reserved = 0")
        base.execute("commit")
    except sqlite3.Error as error:
        raise _unusable(path, error) from None
    return base
