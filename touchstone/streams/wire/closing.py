"""Closing Kafka clients when the broker may be gone."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog
from aiokafka.errors import KafkaError

log = structlog.get_logger(__name__)

CLOSE_TIMEOUT_S = 5.0


async def close_client(close: Callable[[], Awaitable[None]]) -> None:
    """Close an aiokafka client within a bound: without a broker a producer waits for its last batch.

    Trap: aiokafka's consumer cancels its fetch tasks and awaits them, so its `stop` can raise `CancelledError` although
    nobody has cancelled the caller; passed on, that would end the caller in place of the error it was about to report.
    """
    try:
        await asyncio.wait_for(close(), CLOSE_TIMEOUT_S)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
    except (KafkaError, OSError, TimeoutError) as error:
        log.debug("client_not_closed", code=type(error).__name__)
