"""One request of the API: checked and read in the event loop, answered in a thread of the API's own."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal
from urllib.parse import unquote

import orjson
import structlog
from starlette.datastructures import Headers, QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

from touchstone.ops.store.archive.encryption import Undecipherable
from touchstone.ops.store.archive.objects import ArchiveAway, NoArchive
from touchstone.ops.store.case_filter import NAMES
from touchstone.ops.web.access import Grant
from touchstone.ops.web.query import BadRequest, check_names, check_scope
from touchstone.ops.web.service import Handler, refused
from touchstone.scorers.base import ConfigError
from touchstone.scorers.json_keys import has_key_twice
from touchstone.streams.account.store_port import StoreUnavailable
from touchstone.streams.subscription.events import NAME_CHARS_MAX

log = structlog.get_logger("touchstone.serve")

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
#: Requests that are answered at a time, and requests that wait; the store has few connections.
THREADS, WAITING_MAX = 4, 64
RETRY_AFTER_S = 5
#: Levels of a body. The Python of this process could not write deeper ones, and nobody could read them.
DEPTH_MAX = 200
FILTER_NAMES = frozenset(NAMES)
#: Bytes of a body, unless an address says otherwise.
BODY_BYTES_MAX = 262_144


class Refusal(Exception):
    """A request that cannot be answered as it was asked: one line for people, which quotes nothing of a case, and the status."""

    def __init__(self, text: str, status: int, headers: dict[str, str] | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.status = status
        self.headers = headers


@dataclass(frozen=True, slots=True)
class Call:
    """A request, as a handler needs it. `id` and `event`: from the address. `body`: the JSON of a POST, PUT or PATCH; `raw`: its bytes."""

    query: QueryParams
    headers: Headers
    grant: Grant
    id: str = ""
    body: Any = None
    raw: bytes = b""
    event: str = ""


Answer = Callable[[Call], Response]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One address and method. `scope`: what a token must allow. `parameters`: of its query. `body_bytes_max`: of a request's body.

    `for_links`: a link to a queue opens it, too, for what belongs to the queue.
    """

    method: Method
    path: str
    answer: Answer
    scope: str = "results"
    parameters: frozenset[str] = frozenset()
    body_bytes_max: int = BODY_BYTES_MAX
    for_links: bool = False

    @property
    def has_body(self) -> bool:
        """True if requests carry JSON."""
        return self.method in {"POST", "PUT", "PATCH"}


class EncodedRoute(Route):
    """A route whose ids may have slashes, percent-encoded. The path that was sent is matched, and ids are decoded afterwards.

    `allowed`: the methods of all routes with its path, for those who try another one.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], *, methods: Sequence[str], allowed: Iterable[str]) -> None:
        super().__init__(path, endpoint, methods=methods)
        self._allowed = ", ".join(sorted({*allowed, *({"HEAD"} if "GET" in allowed else ())}))

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or name the methods that there are."""
        if scope["method"] not in (self.methods or ()):
            raise HTTPException(405, headers={"Allow": self._allowed})
        await super().handle(scope, receive, send)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match the path as it was sent."""
        sent = scope.get("raw_path")
        if not sent:
            return super().matches(scope)
        match, child = super().matches({**scope, "path": sent.decode("latin-1")})
        if "path_params" in child:
            child["path_params"] = {name: unquote(value, errors="replace") for name, value in child["path_params"].items()}
        return match, child


class Desk:
    """Answers calls in its own threads, so that a slow one holds up neither the event loop nor the live summaries."""

    def __init__(self, linked: Callable[[Grant], Grant]) -> None:
        """`linked`: what a link allows, or raises `Refusal`."""
        self._linked = linked
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="api")
        self._waiting = 0

    def handler(self, endpoint: Endpoint) -> Handler:
        """The handler of an endpoint, behind its scope."""

        async def handle(request: Request, grant: Grant) -> Response:
            try:
                return await self._answered(endpoint, request, grant)
            except Refusal as error:
                return refused(error.text, error.status, error.headers)

        return handle

    async def _answered(self, endpoint: Endpoint, request: Request, grant: Grant) -> Response:
        if not grant.link:
            check_scope(grant, endpoint.scope)
        # The parser of a filter knows which of its parameters may be repeated.
        check_names(request.query_params, endpoint.parameters, repeated=FILTER_NAMES if endpoint.parameters >= FILTER_NAMES else ())
        ids = [str(request.path_params.get(name, "")) for name in ("id", "event")]
        if any(len(one) > NAME_CHARS_MAX or "\0" in one for one in ids):
            raise BadRequest(f"an id has at most {NAME_CHARS_MAX} characters, and no null character")
        raw = await _read(request, endpoint.body_bytes_max) if endpoint.has_body else b""
        if self._waiting >= WAITING_MAX:
            raise Refusal("too many requests wait now; try again later", 503, {"Retry-After": str(RETRY_AFTER_S)})
        call = Call(request.query_params, request.headers, grant, ids[0], None, raw, ids[1])
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, partial(_answer, endpoint, call, self._linked))
        finally:
            self._waiting -= 1


def _answer(endpoint: Endpoint, call: Call, linked: Callable[[Grant], Grant]) -> Response:
    """Runs in a thread. What is away is a 503, which names what to look at."""
    again = {"Retry-After": str(RETRY_AFTER_S)}
    try:
        if call.grant.link:
            call = replace(call, grant=linked(call.grant))
        if endpoint.has_body:
            call = replace(call, body=_json(call.raw))
        return endpoint.answer(call)
    except StoreUnavailable as error:
        raise Refusal(f"the result store does not answer now ({error}); try again later", 503, again) from None
    except ArchiveAway as error:
        raise Refusal(f"the archive does not answer now ({error.code}); try again later", 503, again) from None
    except Undecipherable:
        raise Refusal("the archive's object cannot be decrypted here; check archive.key_file of this service", 503) from None
    except NoArchive:
        raise Refusal("there is no archive here, so no texts are kept; see docs/archive.md, and check that archive.url is the archiver's", 503) from None
    except ConfigError as error:
        # Its text names files of this machine, which are for its operators.
        log.warning("api_without_store", message=str(error))
        raise Refusal("the result store or the archive cannot be opened; the service's log says why", 503, again) from None


async def _read(request: Request, bytes_max: int) -> bytes:
    """The body within its bound. Raises `Refusal`."""
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    # A form of another page can send text/plain without asking, and never JSON.
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise Refusal("send JSON: Content-Type: application/json", 415)
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Refusal("send the body without Content-Encoding", 415)
    found = bytearray()
    try:
        async for part in request.stream():
            found += part
            if len(found) > bytes_max:
                raise Refusal(f"the body has more than {bytes_max:,} bytes", 413)
    except ClientDisconnect:
        raise Refusal("the connection ended before the body", 400) from None
    return bytes(found)


def _json(raw: bytes) -> Any:
    """The body's JSON, not too deep and with each key once. Raises `Refusal`."""
    try:
        document = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise Refusal(_what_is_wrong(raw, error), 422) from None
    if depth_exceeds(document, DEPTH_MAX):
        raise Refusal(f"the body is nested deeper than {DEPTH_MAX} levels", 422)
    if has_key_twice(raw, document):
        raise Refusal("an object of the body has a key twice; keep one", 422)
    return document


def _what_is_wrong(raw: bytes, error: orjson.JSONDecodeError) -> str:
    """Why a body is no JSON, by its place and never by its text."""
    if not raw:
        return "the body is empty; send JSON"
    if "depth limit" in str(error):
        return f"the body is nested deeper than {DEPTH_MAX} levels"
    return f"the body is not JSON in UTF-8 (line {error.lineno}, column {error.colno})"


def depth_exceeds(document: Any, levels: int) -> bool:
    """True if objects and arrays are nested deeper than this."""
    level = [document] if isinstance(document, dict | list) else []
    for _ in range(levels):
        children = (child for part in level for child in (part.values() if isinstance(part, dict) else part))
        level = [child for child in children if isinstance(child, dict | list)]
        if not level:
            return False
    return True
