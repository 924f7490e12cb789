"""A configured FHIR terminology server, asked `CodeSystem/$validate-code` whether a code system holds a code.

Every question is bounded in time and size, answers are cached, and a server that fails repeatedly is left alone for a while; a question
that gets no answer is "not checked" with a reason. Credentials stand in no message, no representation and no log.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import socket
import ssl
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.checks.scalars import Membership

#: NLM's FHIR terminology service, which a UMLS API key opens.
UMLS_BASE_URL: Final = "https://cts.nlm.nih.gov/fhir"
ANSWER_BYTES_MAX: Final = 1_048_576
_CHUNK_BYTES: Final = 65_536
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
#: The reason given for every code of a system that the server has not.
UNKNOWN_SYSTEM: Final = "the terminology server does not know this code system"
#: Answers that say something of the server or of us, not of the question.
_SERVER_FAULTS: Final = frozenset({401, 403, 407, 408, 429})

Answer = tuple[Membership, str | None]


class _FaultError(Exception):
    """The server could not be asked; `args[0]` is a reason of ours."""


class TerminologyServer:
    """A client of one server, safe to share between threads. It is a `MembershipSource`.

    `timeout_s`: for a whole question, and for the wait until one of `concurrent_max` connections is free. `cache_max`, `cache_s`: how many
    answers are kept, and how long. `failures_max`: so many failures in a row open the breaker for `pause_s`; then one question is let
    through to try again. Raises `ConfigError` for a base URL that cannot be used, and for credentials that would travel unencrypted to
    another machine.
    """

    def __init__(
        self,
        base_url: str,
        *,
        token: str | None = None,
        umls_api_key: str | None = None,
        timeout_s: float = 5.0,
        cache_max: int = 20_000,
        cache_s: float = 86_400.0,
        failures_max: int = 5,
        pause_s: float = 30.0,
        concurrent_max: int = 16,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Opens no connection."""
        parts = urlsplit(base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query or parts.fragment:
            raise ConfigError("terminology server: the base URL must be http(s)://host[:port]/path, without user, query or fragment")
        if (token or umls_api_key) and parts.scheme != "https" and parts.hostname not in _LOOPBACK:
            raise ConfigError("terminology server: credentials would travel unencrypted; use an https:// base URL")
        self._host, self._port, self._secure = parts.hostname, parts.port, parts.scheme == "https"
        self._path = parts.path.rstrip("/")
        self._headers = {"Accept": "application/fhir+json", "User-Agent": "touchstone", **_authorization(token, umls_api_key)}
        self._timeout_s, self._clock = timeout_s, clock
        self._cache_max, self._cache_s = cache_max, cache_s
        self._failures_max, self._pause_s = failures_max, pause_s
        self._lock = threading.Lock()
        self._connections = threading.BoundedSemaphore(concurrent_max)
        self._cache: OrderedDict[tuple[str, str | None], tuple[float, Answer]] = OrderedDict()
        self._failures = 0
        self._closed_until = 0.0

    def __repr__(self) -> str:
        return f"TerminologyServer(host={self._host!r})"

    @property
    def host(self) -> str:
        """The machine that is asked."""
        return self._host

    def membership(self, system: str, code: str) -> Answer:
        """Whether the code system of a URL holds a code, and the reason where that was not checked."""
        cached = self._recall((system, code)) or self._recall((system, None))
        if cached is not None:
            return cached
        if not self._may_ask():
            return "not_checked", "the terminology server failed repeatedly and is left alone for a while"
        if not self._connections.acquire(timeout=self._timeout_s):
            return "not_checked", "the terminology server is busy with other questions"
        try:
            answer, whole_system = self._ask(system, code)
        except _FaultError as fault:
            self._count_failure()
            return "not_checked", str(fault)
        finally:
            self._connections.release()
        with self._lock:
            self._failures = 0
        self._keep((system, None if whole_system else code), answer)
        return answer

    def _ask(self, system: str, code: str) -> tuple[Answer, bool]:
        """The server's answer, and whether it holds for every code of the system."""
        try:
            query = urlencode({"url": system, "code": code})
        except UnicodeEncodeError:
            return ("not_member", None), False
        status, body = self._get(f"{self._path}/CodeSystem/$validate-code?{query}")
        if status >= 500 or status in _SERVER_FAULTS:
            raise _FaultError(f"the terminology server answered {status}")
        if 300 <= status < 400:
            raise _FaultError("the terminology server redirects; configure the address it redirects to")
        resource = _resource(body)
        if status >= 400:
            # FHIR leaves it to the server how it says that it has no such system.
            return ("not_checked", UNKNOWN_SYSTEM if status in {404, 422} else f"the terminology server answered {status}"), status in {404, 422}
        result = _parameter(resource, "result", "valueBoolean")
        if result is True:
            return ("member", None), False
        if result is not False:
            raise _FaultError("the terminology server's answer holds no result")
        if _says_unknown_system(resource):
            return ("not_checked", UNKNOWN_SYSTEM), True
        return ("not_member", None), False

    def _get(self, target: str) -> tuple[int, bytes]:
        connection: http.client.HTTPConnection
        if self._secure:
            connection = http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout_s, context=ssl.create_default_context())
        else:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=self._timeout_s)
        too_late = threading.Event()
        # The socket's own timeout starts anew with every byte: a server that drips its headers would hold us for ever.
        alarm: threading.Timer | None = None
        try:
            connection.connect()
            alarm = threading.Timer(self._timeout_s, _hang_up, (connection.sock, too_late))
            alarm.daemon = True
            alarm.start()
            connection.request("GET", target, headers=self._headers)
            response = connection.getresponse()
            body = bytearray()
            while chunk := response.read1(_CHUNK_BYTES):
                body += chunk
                if len(body) > ANSWER_BYTES_MAX:
                    raise _FaultError("the terminology server's answer is too large")
            if too_late.is_set():  # what was cut off may look like an answer that has ended
                raise _FaultError("the terminology server is too slow")
            return response.status, bytes(body)
        except TimeoutError:
            raise _FaultError("the terminology server is too slow") from None
        except (OSError, http.client.HTTPException) as error:
            reason = "is too slow" if too_late.is_set() else f"cannot be reached ({type(error).__name__})"
            raise _FaultError(f"the terminology server {reason}") from None
        finally:
            if alarm is not None:
                alarm.cancel()
            connection.close()

    def _may_ask(self) -> bool:
        """Whether the breaker lets a question through; after the pause it lets one, and holds the others until that one is answered."""
        with self._lock:
            if self._failures < self._failures_max:
                return True
            now = self._clock()
            if now < self._closed_until:
                return False
            self._closed_until = now + self._pause_s
            return True

    def _count_failure(self) -> None:
        with self._lock:
            self._failures += 1
            if self._failures >= self._failures_max:
                self._closed_until = self._clock() + self._pause_s

    def _recall(self, key: tuple[str, str | None]) -> Answer | None:
        with self._lock:
            kept = self._cache.get(key)
            if kept is None:
                return None
            if self._clock() > kept[0]:
                del self._cache[key]
                return None
            self._cache.move_to_end(key)
            return kept[1]

    def _keep(self, key: tuple[str, str | None], answer: Answer) -> None:
        with self._lock:
            self._cache[key] = (self._clock() + self._cache_s, answer)
            while len(self._cache) > self._cache_max:
                self._cache.popitem(last=False)


def _hang_up(connection: socket.socket, too_late: threading.Event) -> None:
    """End a conversation whose time is over; whoever reads from it reads its end."""
    too_late.set()
    with contextlib.suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)  # not the TLS layer's, which is not ours to touch from here


def umls_server(api_key: str, **options: Any) -> TerminologyServer:
    """NLM's terminology service, opened with a UMLS API key (`UMLS_API_KEY`). `options`: those of `TerminologyServer`."""
    return TerminologyServer(UMLS_BASE_URL, umls_api_key=api_key, **options)


def _authorization(token: str | None, umls_api_key: str | None) -> dict[str, str]:
    credential = token or umls_api_key
    if credential is None:
        return {}
    if not credential.isascii() or not credential.isprintable():
        raise ConfigError("terminology server: the credential holds characters that no header can carry")
    if token:
        return {"Authorization": f"Bearer {token}"}
    # NLM asks for Basic authentication with this user name.
    return {"Authorization": "Basic " + base64.b64encode(f"apikey:{umls_api_key}".encode("ascii")).decode("ascii")}


def _resource(body: bytes) -> Mapping[str, Any]:
    try:
        resource = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return resource if isinstance(resource, dict) else {}


def _parameter(resource: Mapping[str, Any], name: str, field: str) -> object:
    """The value of a parameter of a Parameters resource; None where there is none."""
    parameters = resource.get("parameter")
    for parameter in parameters if isinstance(parameters, list) else ():
        if isinstance(parameter, dict) and parameter.get("name") == name:
            return parameter.get(field)
    return None


def _says_unknown_system(resource: Mapping[str, Any]) -> bool:
    """Whether a negative answer is one for want of the code system: by the parameter names and issue codes that servers use for it."""
    if any(_parameter(resource, name, field) for name in ("x-unknown-system", "x-caused-by-unknown-system") for field in ("valueCanonical", "valueUri")):
        return True
    outcome = _parameter(resource, "issues", "resource")
    issues = outcome.get("issue") if isinstance(outcome, dict) else None
    for issue in issues if isinstance(issues, list) else ():
        details = issue.get("details") if isinstance(issue, dict) else None
        codings = details.get("coding") if isinstance(details, dict) else None
        for coding in codings if isinstance(codings, list) else ():
            if isinstance(coding, dict) and coding.get("code") == "not-found":
                return True
    return False
