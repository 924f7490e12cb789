"""What all handlers share, and two kinds of response."""

import re
import zlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from touchstone.ops.web.access import Grant
from touchstone.ops.web.streams import Abort, DirectWriter
from touchstone.schemas.settings.house import Settings
from touchstone.scorers.suite import Suite
from touchstone.streams.subscription.hub import Hub
from touchstone.streams.subscription.past import Past

Handler = Callable[[Request, Grant], Awaitable[Response]]


@dataclass(slots=True)
class FilesRead:
    """How far a service on files has read them. `to_read`: None before they are counted, and once all are read."""

    read: int = 0
    to_read: int | None = None


@dataclass(slots=True)
class Service:
    """What all handlers share. `lag`: suite → lag of its workers. `registry`: the metrics. `abort`: ends a connection. `direct_writer`: writes to one.

    `open_sources`: opens the store and the archive of the API; without it, those of the settings are opened. `files`: of a service on files, to which no
    live events come.
    """

    settings: Settings
    hub: Hub
    past: Past
    suites: Mapping[str, Suite]
    registry: Any
    lag: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    abort: Abort = lambda _: None
    direct_writer: DirectWriter = lambda _: None
    open_sources: Callable[[], Any] | None = None
    files: FilesRead | None = None


#: Smaller responses are sent as they are.
PACKED_BYTES_MIN = 65_536


class Json(Response):
    """JSON by orjson; NaN and infinities become null."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The bytes."""
        return orjson.dumps(content)


def packed(body: bytes, asked: Headers) -> Response:
    """JSON, compressed if it is large and the client takes gzip: a document of megabytes shrinks to a tenth in some 10 ms a megabyte.

    Call it in a thread. Only for what holds nothing that the same request can choose, so that its size tells nothing.
    """
    headers = {"Vary": "Accept-Encoding"}
    if len(body) >= PACKED_BYTES_MIN and _takes_gzip(asked):
        compressor = zlib.compressobj(level=1, wbits=31)
        body, headers["Content-Encoding"] = compressor.compress(body) + compressor.flush(), "gzip"
    return Response(body, media_type="application/json", headers=headers)


def _takes_gzip(asked: Headers) -> bool:
    """True if `Accept-Encoding` has gzip, and not with the weight 0."""
    parts = (one.replace(" ", "").partition(";") for one in asked.get("accept-encoding", "").lower().split(","))
    return any(name == "gzip" and not re.fullmatch(r"q=0(\.0*)?", weight) for name, _, weight in parts)


def refused(text: str, status: int, headers: Mapping[str, str] | None = None) -> Response:
    """A response that says in one line what is wrong."""
    return JSONResponse({"error": text}, status, headers)
