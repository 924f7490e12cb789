"""A small pool of validators, each asked one document at a time, and a bounded queue before them. One that dies, hangs or runs out of memory is replaced."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import structlog

from touchstone.ops.local.fhir_validator.process import Answer, NoAnswer, ValidatorProcess
from touchstone.schemas.settings.house import FhirValidatorSettings
from touchstone.scorers.backoff import Backoff
from touchstone.scorers.base import ConfigError

log = structlog.get_logger("touchstone.fhir_validator")

State = Literal["starting", "ready", "busy", "restarting"]
_UP: Final = frozenset({"ready", "busy"})
#: After its connection broke off, a process has this long to end.
_END_S: Final = 2.0


class Refused(Exception):
    """A request without a verdict. `code` is for machines, the text for people; neither quotes the document."""

    def __init__(self, status: int, code: str, message: str, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.retry_after_s = retry_after_s


@dataclass(slots=True, eq=False)
class Seat:
    """The place of one process, with its counts over all restarts."""

    number: int
    state: State = "starting"
    process: ValidatorProcess | None = None
    restarts: int = 0
    served: int = 0
    timed_out: int = 0
    died: int = 0
    out_of_memory: int = 0
    reason: str | None = None
    #: Documents answered since the last start.
    served_since_start: int = 0

    def as_json(self) -> dict[str, Any]:
        """Its state as JSON types."""
        return {
            "number": self.number,
            "state": self.state,
            "pid": self.process.pid if self.process is not None else 0,
            "restarts": self.restarts,
            "served": self.served,
            "timed_out": self.timed_out,
            "died": self.died,
            "out_of_memory": self.out_of_memory,
            "reason": self.reason,
        }


@dataclass(slots=True)
class Pool:
    """Keeps `settings.processes` processes that `make` creates. Call `start`, any number of `ask`, then `close`."""

    settings: FhirValidatorSettings
    make: Callable[[], ValidatorProcess]
    restart_min_s: float = 0.5
    restart_max_s: float = 60.0
    refused: int = 0
    seats: list[Seat] = field(init=False)
    _admitted: int = 0
    _keepers: list[asyncio.Task[None]] = field(init=False, default_factory=list)
    _idle: asyncio.Queue[tuple[Seat, ValidatorProcess]] = field(init=False, default_factory=asyncio.Queue)
    _starting: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)
    _threads: ThreadPoolExecutor = field(init=False)

    def __post_init__(self) -> None:
        """Nothing is started yet."""
        self.seats = [Seat(number) for number in range(1, self.settings.processes + 1)]
        # For each seat: one that starts or watches its process, and one that asks it or tidies up after it.
        self._threads = ThreadPoolExecutor(2 * len(self.seats) + 1, "fhir-validator")

    @property
    def is_ready(self) -> bool:
        """True if a process is up."""
        return any(seat.state in _UP for seat in self.seats)

    @property
    def waiting(self) -> int:
        """Requests that no process has yet."""
        return self._admitted - sum(seat.state == "busy" for seat in self.seats)

    async def start(self) -> None:
        """Start the first process and return when it serves, or raise `ConfigError`; the others follow."""
        first, *others = self.seats
        process = self.make()
        first.process = process
        try:
            await self._in_thread(process.begin)
        except ConfigError:
            first.process = None
            raise
        self._keepers = [asyncio.create_task(self._keep(first, process)), *(asyncio.create_task(self._keep(seat, None)) for seat in others)]
        self._up(first, process)

    async def close(self) -> None:
        """End every process."""
        for keeper in self._keepers:
            keeper.cancel()
        processes = [seat.process for seat in self.seats if seat.process is not None]
        for process in processes:
            process.kill()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        await asyncio.gather(*(asyncio.to_thread(process.stop) for process in processes))
        self._threads.shutdown(wait=False)

    def as_json(self) -> dict[str, Any]:
        """The state of the queue and of every seat, as JSON types."""
        return {
            "ready": self.is_ready,
            "queue": {"waiting": max(0, self.waiting), "max": self.settings.queue, "refused": self.refused},
            "processes": [seat.as_json() for seat in self.seats],
        }

    @asynccontextmanager
    async def admitted(self) -> AsyncIterator[None]:
        """A place in the queue, taken before the document is read. Raises `Refused` if there is none, or no process that could answer."""
        if not self.is_ready:
            self.refused += 1
            raise Refused(503, "not_up", "no validator is up: it is starting, or was just replaced", retry_after_s=5)
        if self._admitted >= len(self.seats) + self.settings.queue:
            self.refused += 1
            raise Refused(503, "queue_full", f"{self.settings.queue} documents wait already", retry_after_s=1)
        self._admitted += 1
        try:
            yield
        finally:
            self._admitted -= 1

    async def ask(self, path: str, body: bytes, content_type: str, is_wanted: Callable[[], Awaitable[bool]]) -> Answer | None:
        """The answer of the next free process; None if the client has gone meanwhile (`await is_wanted()`). Raises `Refused`."""
        seat, process = await self._free_one()
        try:
            wanted = await is_wanted()
        except BaseException:
            self._free(seat, process)
            raise
        if not wanted:
            self._free(seat, process)
            return None
        seat.state = "busy"
        limit_s = self.settings.document_timeout_s
        try:
            answer: Answer = await asyncio.wait_for(self._in_thread(process.ask, path, body, content_type, limit_s + 5), limit_s)
        except TimeoutError:
            seat.timed_out += 1
            log.warning("document_timed_out", count=seat.number, seconds=limit_s)
            self._replace(seat, process)
            raise Refused(504, "timed_out", f"the document took longer than {limit_s:g} s; its validator is replaced") from None
        except NoAnswer:
            await self._in_thread(process.wait, _END_S)
            seat.died += 1
            self._replace(seat, process)
            if process.ran_out_of_memory:
                seat.out_of_memory += 1
                raise Refused(502, "out_of_memory", f"the validator ran out of its {self.settings.memory_mb} MiB on this document and is replaced") from None
            raise Refused(502, "died", "the validator ended on this document and is replaced") from None
        except BaseException:
            self._replace(seat, process)
            raise
        seat.served += 1
        seat.served_since_start += 1
        self._free(seat, process)
        return answer

    async def _free_one(self) -> tuple[Seat, ValidatorProcess]:
        try:
            async with asyncio.timeout(self.settings.queue_timeout_s):
                while True:
                    seat, process = await self._idle.get()
                    if seat.process is process and process.pid:
                        return seat, process
        except TimeoutError:
            self.refused += 1
            raise Refused(503, "waited", f"no validator was free for {self.settings.queue_timeout_s:g} s", retry_after_s=5) from None

    def _up(self, seat: Seat, process: ValidatorProcess) -> None:
        seat.reason = None
        log.info("validator_ready", pid=process.pid, count=seat.number)
        self._free(seat, process)

    def _free(self, seat: Seat, process: ValidatorProcess) -> None:
        if seat.process is process and process.pid:
            seat.state = "ready"
            self._idle.put_nowait((seat, process))

    def _replace(self, seat: Seat, process: ValidatorProcess) -> None:
        """End a process; its keeper notices and starts another."""
        seat.state = "restarting"
        process.kill()

    async def _keep(self, seat: Seat, process: ValidatorProcess | None) -> None:
        """Start a process whenever the seat has none, until cancelled."""
        backoff = Backoff(self.restart_min_s, self.restart_max_s)
        while True:
            if process is None:
                process = await self._begun(seat)
            if process is not None:
                await self._in_thread(process.wait)
                log.warning("validator_ended", count=seat.number, code="out_of_memory" if process.ran_out_of_memory else "ended")
                await self._in_thread(process.stop)
                if seat.served_since_start:
                    backoff.reset()
            seat.state, seat.process, seat.served_since_start, process = "restarting", None, 0, None
            seat.restarts += 1
            await asyncio.sleep(backoff.next_s())

    async def _begun(self, seat: Seat) -> ValidatorProcess | None:
        """A process that serves; None if it could not be started. One starts at a time, because a start uses all processors."""
        async with self._starting:
            process = self.make()
            seat.process = process
            try:
                await self._in_thread(process.begin)
            except ConfigError as error:
                seat.reason = str(error)
                log.error("validator_does_not_start", count=seat.number, message=str(error))
                return None
        self._up(seat, process)
        return process

    async def _in_thread(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)
