"""Membership from a FHIR terminology server, by `CodeSystem/$validate-code`.

Requests are bounded in time and size, connections are reused, answers are cached, and a server that fails repeatedly is left alone for a while. A request
without an answer is "not checked" with a reason. Credentials appear in no message, representation or log, and codes in no log.
"""

from __future__ import annotations

import base64
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.checks.json_access import objects
from touchstone.scorers.clinical.checks.scalars import Membership
from touchstone.scorers.http.blocking_client import BlockingHttpClient

#: NLM's FHIR terminology service, which a UMLS API key opens.
UMLS_BASE_URL: Final = "https://cts.nlm.nih.gov/fhir"
ANSWER_BYTES_MAX: Final = 1_048_576
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
#: Reason for the codes of a system that the server does not have.
UNKNOWN_SYSTEM: Final = "the terminology server does not know this code system"
#: Status codes about the server or our access, not about the code.
_SERVER_FAULTS: Final = frozenset({401, 403, 407, 408, 429})

Answer = tuple[Membership, str | None]


class _FaultError(Exception):
    """The request failed; `args[0]` is a fixed text."""


class TerminologyServer:
    """A client of one server, safe to share between threads. It is a `MembershipSource`.

    `timeout_s`: for a whole request, and for the wait for one of `concurrent_max` connections. `cache_max`, `cache_s`: number of cached answers, and
    their lifetime. `failures_max`: consecutive failures that stop requests for `pause_s`; then one request tries again. Raises `ConfigError` for an
    unusable base URL, and for credentials that would be sent unencrypted to another machine.
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
        self._host, url = _operation(base_url, has_credentials=bool(token or umls_api_key))
        headers = {"Accept": "application/fhir+json", **_authorization(token, umls_api_key)}
        self._client = _opened(url, headers, timeout_s=timeout_s)
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
        """The server's host name."""
        return self._host

    def membership(self, system: str, code: str) -> Answer:
        """Look up a code in the code system of a URL. Returns the answer, and a reason if it was not checked."""
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
        """The server's answer, and True if it is valid for every code of the system."""
        try:
            query = urlencode({"url": system, "code": code})
        except UnicodeEncodeError:
            return ("not_member", None), False
        status, body = self._get(query)
        if status >= 500 or status in _SERVER_FAULTS:
            raise _FaultError(f"the terminology server answered {status}")
        if 300 <= status < 400:
            raise _FaultError("the terminology server redirects; configure the address it redirects to")
        resource = _resource(body)
        if status >= 400:
            # FHIR does not define how a server reports an unknown system.
            return ("not_checked", UNKNOWN_SYSTEM if status in {404, 422} else f"the terminology server answered {status}"), status in {404, 422}
        result = _parameter(resource, "result", "valueBoolean")
        if result is True:
            return ("member", None), False
        if result is not False:
            raise _FaultError("the terminology server's answer holds no result")
        if _says_unknown_system(resource):
            return ("not_checked", UNKNOWN_SYSTEM), True
        return ("not_member", None), False

    def _get(self, query: str) -> tuple[int, bytes]:
        try:
            response = self._client.send("GET", f"?{query}")
        except TimeoutError:
            raise _FaultError("the terminology server is too slow") from None
        except ConnectionError as error:
            raise _FaultError(f"the terminology server cannot be reached ({error})") from None
        if response.body is None:
            raise _FaultError("the terminology server's answer is too large")
        return response.status, response.body

    def _may_ask(self) -> bool:
        """True unless requests are paused. After the pause one request tries, and the others wait for its answer."""
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


def umls_server(api_key: str, **options: Any) -> TerminologyServer:
    """Return NLM's terminology service, opened with a UMLS API key (`UMLS_API_KEY`). `options`: those of `TerminologyServer`."""
    return TerminologyServer(UMLS_BASE_URL, umls_api_key=api_key, **options)


def _operation(base_url: str, *, has_credentials: bool) -> tuple[str, str]:
    """The server's host and the URL of its operation. Raises `ConfigError`."""
    refused = ConfigError("terminology server: the base URL must be http(s)://host[:port]/path, without user, query or fragment")
    try:
        parts = urlsplit(base_url)
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:
        raise refused from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise refused
    if has_credentials and parts.scheme != "https" and parts.hostname not in _LOOPBACK:
        raise ConfigError("terminology server: credentials would travel unencrypted; use an https:// base URL")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return parts.hostname, f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}/CodeSystem/$validate-code"


def _opened(url: str, headers: Mapping[str, str], *, timeout_s: float) -> BlockingHttpClient:
    try:
        return BlockingHttpClient(url, headers, timeout_s=timeout_s, bytes_max=ANSWER_BYTES_MAX, keeps_connections=True)
    except ValueError:
        raise ConfigError("terminology server: the base URL names no host that can be asked") from None


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
    """The value of a parameter of a Parameters resource; None if it is absent."""
    return next((one.get(field) for one in objects(resource.get("parameter")) if one.get("name") == name), None)


def _says_unknown_system(resource: Mapping[str, Any]) -> bool:
    """True if a negative answer means an unknown code system, by the parameter names and issue codes that servers use for it."""
    if any(_parameter(resource, name, field) for name in ("x-unknown-system", "x-caused-by-unknown-system") for field in ("valueCanonical", "valueUri")):
        return True
    outcome = _parameter(resource, "issues", "resource")
    details = [issue.get("details") for issue in objects(outcome.get("issue"))] if isinstance(outcome, dict) else []
    return any(coding.get("code") == "not-found" for one in objects(details) for coding in objects(one.get("coding")))
