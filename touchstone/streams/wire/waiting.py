"""Waiting for the cluster at the start of a long-running process: a broker that restarts is not a mistake in the settings."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog
from aiokafka.errors import KafkaError

from touchstone.schemas.settings.house import KafkaSettings
from touchstone.scorers.backoff import Backoff
from touchstone.streams.wire.clients import Unreachable, refused_or_unreachable

log = structlog.get_logger(__name__)

T = TypeVar("T")

#: While it waits, it logs a line this often.
REMIND_S = 60.0


async def once_reached(
    act: Callable[[], Awaitable[T]], kafka: KafkaSettings, backoff: Backoff, stop: asyncio.Event, on_wait: Callable[[bool], None]
) -> T | None:
    """What `act` returns once the cluster answers; None if `stop` is set first. Logs one line when it waits, one
    when it continues, and a reminder each minute between them.

    `on_wait` is called with True when the waiting begins and False when it ends. Raises `ConfigError` for what the user must fix, and
    `Unreachable` after `start_wait_s`, if that is not 0.
    """
    began, waits = time.monotonic(), False
    told_at = began
    stopped = asyncio.create_task(stop.wait())
    acting: asyncio.Future[T] | None = None
    try:
        while True:
            acting = asyncio.ensure_future(_bounded(act, kafka))
            await asyncio.wait({acting, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not acting.done():
                return None
            try:
                result = acting.result()
            except Unreachable as error:
                spent_s = time.monotonic() - began
                if kafka.start_wait_s and spent_s >= kafka.start_wait_s:
                    raise
                if not waits:
                    waits = True
                    on_wait(True)
                    told_at = time.monotonic()
                    log.warning("broker_unreachable", bootstrap=kafka.bootstrap_servers, code=_code(error))
                elif time.monotonic() - told_at >= REMIND_S:
                    told_at = time.monotonic()
                    log.warning("broker_still_unreachable", bootstrap=kafka.bootstrap_servers, code=_code(error), seconds=round(spent_s, 1))
                pause_s = backoff.next_s()
                if kafka.start_wait_s:
                    pause_s = min(pause_s, kafka.start_wait_s - spent_s)
                await asyncio.wait({stopped}, timeout=pause_s)
                if stop.is_set():
                    return None
            else:
                if waits:
                    on_wait(False)
                    log.info("broker_reached", bootstrap=kafka.bootstrap_servers, seconds=round(time.monotonic() - began, 1))
                return result
    finally:
        stopped.cancel()
        if acting is not None:
            acting.cancel()


async def _bounded(act: Callable[[], Awaitable[T]], kafka: KafkaSettings) -> T:
    """One attempt, for no longer than a request may take. Raises `ConfigError`."""
    try:
        async with asyncio.timeout(kafka.connect_timeout_s + kafka.request_timeout_s):
            return await act()
    except (KafkaError, OSError, TimeoutError) as error:
        explained = await refused_or_unreachable(kafka, error)
        raise explained from error


def _code(error: BaseException) -> str:
    """The type of an error's cause."""
    return type(error.__cause__ or error.__context__ or error).__name__
