"""What all handlers share, and two kinds of response."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
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
class Service:
    """What all handlers share. `lag`: suite → lag of its workers. `registry`: the metrics. `abort`: ends a connection. `direct_writer`: writes to one.

    `open_sources`: opens the store and the archive of the API; without it, those of the settings are opened.
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


class Json(Response):
    """JSON by orjson; NaN and infinities become null."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The bytes."""
        return orjson.dumps(content)


def refused(text: str, status: int, headers: Mapping[str, str] | None = None) -> Response:
    """A response that says in one line what is wrong."""
    return JSONResponse({"error": text}, status, headers)
