"""What the addresses are about, and how they answer."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from touchstone.ops.web.access import Grant
from touchstone.ops.web.streams import Abort, Straight
from touchstone.schemas.settings.house import Settings
from touchstone.scorers.suite import Suite
from touchstone.streams.subscription.hub import Hub
from touchstone.streams.subscription.past import Past

Handler = Callable[[Request, Grant], Awaitable[Response]]


@dataclass(slots=True)
class Service:
    """What the addresses are about. `lag`: suite → what is known of its workers. `registry`: the metrics.

    `abort` ends a connection; `straight` writes to one.
    """

    settings: Settings
    hub: Hub
    past: Past
    suites: Mapping[str, Suite]
    registry: Any
    lag: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    abort: Abort = lambda _: None
    straight: Straight = lambda _: None


class Json(Response):
    """JSON by orjson; a number that JSON does not have becomes null."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The bytes."""
        return orjson.dumps(content)


def refused(text: str, status: int, headers: Mapping[str, str] | None = None) -> Response:
    """An answer that says in one line what is wrong."""
    return JSONResponse({"error": text}, status, headers)
