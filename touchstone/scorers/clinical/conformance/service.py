"""Sends documents to a validator behind HTTP, and distinguishes faults of a document from faults of the service.

A service that does not work raises `Unavailable`, and is asked again later. A document on which the service breaks down twice, or never answers twice,
is undecided, so that it is not sent for ever. A breakdown counts against the document if the service says so, if it works right afterwards, or if it
worked until this document came.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, TypeVar

from touchstone.scorers.backoff import Backoff
from touchstone.scorers.base import ConfigError, Unavailable
from touchstone.scorers.clinical.conformance.dialects import CcdaDialect, Dialect, FhirDialect
from touchstone.scorers.clinical.conformance.settings import ConformanceSettings, ServiceSettings
from touchstone.scorers.http.client import HttpClient
from touchstone.scorers.http.responses import ConnectError, HttpError, Response
from touchstone.scorers.http.retry_after import retry_after_s
from touchstone.scorers.operation_outcome import NotUnderstoodError, Outcome
from touchstone.scorers.outage import Outage

ValueT = TypeVar("ValueT")
#: After so many breakdowns on one document, it is undecided.
STRIKES_MAX: Final = 2
#: Verdicts that are kept for a second attempt; some have thousands of issues.
KEPT_MAX: Final = 64
_STRUCK_KEPT_MAX: Final = 4_096
_PROBE_S: Final = 5.0
#: From files, a service that does not work is asked so often whether it works again, by however many documents.
_PROBE_EVERY_S: Final = 1.0
_PROBE_BYTES_MAX: Final = 65_536
#: The longest wait that a service can ask for.
_RETRY_AFTER_MAX_S: Final = 30.0
_BUSY: Final = frozenset({408, 425, 429, 503})
_REFUSED: Final = frozenset({401, 403, 407})
_NOT_THERE: Final = frozenset({404, 405, 410})
_OF_THE_DOCUMENT: Final = frozenset({400, 411, 415, 422})


@dataclass(frozen=True, slots=True)
class Undecided:
    """A document without a verdict. `reason`: a stable code; `why`: for people, without text of the document."""

    reason: str
    why: str


class NotServingError(Unavailable):
    """A service that does not answer now. `retry_after_s`: when to ask again; `will_not`: it will never answer with these settings."""

    def __init__(self, code: str, retry_after_s: float | None = None, *, will_not: bool = False) -> None:
        super().__init__(code)
        self.retry_after_s = retry_after_s
        self.will_not = will_not


@dataclass(frozen=True, slots=True)
class _Suspect:
    """An exchange that failed, perhaps because of the document. `surely`: the service says so."""

    why: str
    surely: bool = False


class Service:
    """One service. Several event loops may use it one after another; every request has its own connection."""

    def __init__(self, dialect: Dialect, settings: ServiceSettings, *, wait_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._dialect = dialect
        self._settings = settings
        self._client = _opened(dialect.url, settings)
        self._wait_s, self._clock = wait_s, clock
        self._outage = Outage(try_every_s=max(wait_s, 1.0), clock=clock)
        self._kept: OrderedDict[bytes, Outcome | Undecided] = OrderedDict()
        self._struck: OrderedDict[bytes, int] = OrderedDict()
        self._was_well = True
        self._unwell_at = float("-inf")
        self._turns: tuple[asyncio.AbstractEventLoop, asyncio.Semaphore] | None = None

    @property
    def name(self) -> str:
        """Short, for codes."""
        return self._dialect.name

    async def ask_patiently(self, document: bytes) -> Outcome | Undecided:
        """`ask`, repeated for up to `wait_s` while the service does not work. Raises what `ask` raised last."""
        self._outage.check()
        backoff, until = Backoff(0.2, 5.0), self._clock() + self._wait_s
        while True:
            try:
                said = await self.ask(document, probe_every_s=_PROBE_EVERY_S)
            except NotServingError as error:
                delay_s = max(backoff.next_s(), error.retry_after_s or 0.0)
                if error.will_not or self._clock() + delay_s > until:
                    self._outage.waited(error.code)
                    raise
                await asyncio.sleep(delay_s)
            else:
                self._outage.answered()
                return said

    async def ask(self, document: bytes, *, probe_every_s: float = 0.0) -> Outcome | Undecided:
        """The service's verdict on a document. Raises `NotServingError`.

        `probe_every_s`: a service that said so recently that it does not work is not asked again.
        Verdicts are kept for a while, because a trace is scored again if its other service did not answer.
        """
        if len(document) > self._settings.document_bytes_max:
            return Undecided("too_large", f"the document is larger than {self._settings.document_bytes_max >> 10} KiB, and was not sent")
        key = blake2b(document, digest_size=16).digest()
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        since = self._clock() - probe_every_s
        async with self._turn():
            said = await self._decided(key, document, since)
        self._struck.pop(key, None)
        _keep(self._kept, key, said, KEPT_MAX)
        return said

    async def _decided(self, key: bytes, document: bytes, since: float) -> Outcome | Undecided:
        """`since`: a probe that began later is the answer for this document, too. Otherwise each document in the queue would wait for its own."""
        while True:
            # No document is sent before the service says that it works again: a failure would say nothing about the document.
            if not self._was_well:
                if self._unwell_at > since:
                    raise NotServingError(self._code())
                self._unwell_at, before = self._clock(), self._unwell_at
                if not await self.is_well():
                    raise NotServingError(self._code())
                self._unwell_at = before
            self._was_well = True
            try:
                said = await self._once(document)
            except NotServingError:
                self._was_well = False
                raise
            if not isinstance(said, _Suspect):
                self._was_well = True
                return said
            is_well = said.surely or await self.is_well()
            # Of several documents in flight when a service goes down, the first that fails may be the cause.
            counts = is_well or self._was_well
            self._was_well = is_well
            strikes = self._struck.get(key, 0) + counts
            _keep(self._struck, key, strikes, _STRUCK_KEPT_MAX)
            if strikes >= STRIKES_MAX:
                return Undecided("undecided", said.why)
            if not is_well:
                raise NotServingError(self._code())

    async def _once(self, document: bytes) -> Outcome | Undecided | _Suspect:
        """One exchange. Raises `NotServingError`."""
        request = self._dialect.request(document)
        try:
            said = await self._exchange("POST", request.path, request.body, request.headers, timeout_s=self._settings.timeout_s)
        except TimeoutError:
            return _Suspect(f"it did not answer within {self._settings.timeout_s:g} s")
        except ConnectError:
            raise NotServingError(self._code()) from None
        except HttpError:
            return _Suspect("it broke off in the middle")
        if said.status == 200:
            return self._read(said.body)
        return self._refusal(said)

    def _read(self, body: bytes | None) -> Outcome | _Suspect:
        if body is None:
            return _Suspect("its answer is too large")
        try:
            return self._dialect.read(body)
        except NotUnderstoodError as error:
            return _Suspect(error.args[0])

    def _refusal(self, said: Response) -> Undecided | _Suspect:
        """The meaning of any status but 200. Raises `NotServingError`."""
        status = said.status
        if status == 413:
            return Undecided("too_large", "the service does not take a document of this size (413)")
        if self._dialect.blames_settings(status, said.body or b""):
            raise NotServingError(self._code("settings"), will_not=True)
        if status in _OF_THE_DOCUMENT:
            return Undecided("rejected", f"the service does not take this document ({status})")
        if status in _BUSY:
            asked = retry_after_s(said.header_map())
            raise NotServingError(self._code(), None if asked is None else min(asked, _RETRY_AFTER_MAX_S))
        if status in _REFUSED:
            raise NotServingError(self._code("refused"), will_not=True)
        if status in _NOT_THERE:
            raise NotServingError(self._code("not_found"), will_not=True)
        if 300 <= status < 400:
            raise NotServingError(self._code("redirected"), will_not=True)
        return _Suspect(f"it failed on this document ({status})", surely=self._dialect.broke_down(status, said.body or b""))

    async def is_well(self) -> bool:
        """True if the service says that it works."""
        try:
            timeout_s = min(_PROBE_S, self._settings.timeout_s)
            said = await self._exchange("GET", self._dialect.probe_path, timeout_s=timeout_s, bytes_max=_PROBE_BYTES_MAX)
        except (TimeoutError, HttpError):
            return False
        return self._dialect.is_well(said.status)

    async def _exchange(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None, *, timeout_s: float, bytes_max: int | None = None
    ) -> Response:
        """One request and its response, bounded in time and size as a whole. Raises `TimeoutError` and `HttpError`."""
        async with asyncio.timeout(timeout_s):
            return await self._client.send(method, path, body, headers, bytes_max=bytes_max)

    def _code(self, fault: str = "") -> str:
        return f"conformance_{self._dialect.name}" + (f"_{fault}" if fault else "")

    def _turn(self) -> asyncio.Semaphore:
        """The semaphore of concurrent requests of this event loop."""
        loop = asyncio.get_running_loop()
        if self._turns is None or self._turns[0] is not loop:
            self._turns = (loop, asyncio.Semaphore(self._settings.concurrency))
        return self._turns[1]


def open_services(settings: ConformanceSettings) -> dict[str, Service]:
    """Format → its service, for the formats with an address."""
    found: dict[str, Service] = {}
    if settings.fhir.url is not None and "fhir" in settings.formats:
        found["fhir"] = Service(FhirDialect(settings.fhir, settings.fhir.url), settings.fhir, wait_s=settings.wait_s)
    if settings.ccda.url is not None and "ccda" in settings.formats:
        found["ccda"] = Service(CcdaDialect(settings.ccda, settings.ccda.url), settings.ccda, wait_s=settings.wait_s)
    return found


def _opened(url: str, settings: ServiceSettings) -> HttpClient:
    """A client with a connection for each request, because a broken idle connection must not count against a document. Raises `ConfigError`."""
    token = {} if settings.token is None else {"Authorization": f"Bearer {settings.token.get_secret_value()}"}
    headers = {"Accept": "application/fhir+json, application/json", **token}
    try:
        return HttpClient(url, headers, bytes_max=settings.answer_bytes_max, connect_s=None, keeps_connections=False, unpacks=False)
    except ValueError:
        raise ConfigError("conformance: the address of a service names no host that can be asked") from None


def _keep(kept: OrderedDict[bytes, ValueT], key: bytes, value: ValueT, most: int) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > most:
        kept.popitem(last=False)
