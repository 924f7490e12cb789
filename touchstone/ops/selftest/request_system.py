"""A system under test behind HTTP that gets each turn as one request, made from a template."""

import asyncio
import json
import os
from collections.abc import Callable
from typing import Final
from urllib.parse import quote, urlsplit

from touchstone.ops.selftest.http_system import BODY_BYTES_MAX, fault_of
from touchstone.scorers.base import ConfigError
from touchstone.scorers.http.client import HttpClient
from touchstone.scorers.http.responses import HttpError
from touchstone.scorers.selftest.system import Outcome, SystemFault, Task
from touchstone.scorers.selftest.system_settings import VARIABLE, RequestSystem
from touchstone.scorers.selftest.template import filled
from touchstone.scorers.selftest.turns import outcome_of_answer, sendable, values_of

_JSON: Final = "application/json"


class HttpRequest:
    """Sends `method url` with the body of the template, and reads the answer at its path. Redirects are not followed, and nothing is sent twice."""

    def __init__(self, settings: RequestSystem) -> None:
        """Opens no connection. Raises `ConfigError`, also for an environment variable that is not set."""
        parts = urlsplit(settings.url)
        # Without the query, which may hold a key.
        self.name = f"{settings.method} {parts.scheme}://{parts.netloc}{parts.path}"
        self._settings = settings
        query = _with_variables("system.url", parts.query, _quoted)
        self._path = f"{parts.path or '/'}{f'?{query}' if query else ''}"
        headers = {"Accept": _JSON, **({"Content-Type": _JSON} if settings.template is not None else {})}
        # In one way of writing, so that none of them is sent twice.
        headers |= {name.title(): _with_variables(f"system.headers.{name}", value) for name, value in settings.headers.items()}
        try:
            self._client = HttpClient(f"{parts.scheme}://{parts.netloc}", headers, bytes_max=BODY_BYTES_MAX, connect_s=None)
        except ValueError:
            raise ConfigError("system.url: names no host that can be asked, or a header cannot be sent; write http://host:port/path") from None

    async def open(self) -> None:
        """Nothing to connect beforehand."""

    async def ask(self, task: Task, timeout_s: float) -> Outcome:
        """Send the first turn."""
        return await self._asked(task, task.prompt, None, timeout_s)

    async def reply(self, task: Task, before: Outcome, text: str, timeout_s: float) -> Outcome:
        """Send the next turn."""
        return await self._asked(task, text, before, timeout_s)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _asked(self, task: Task, text: str, before: Outcome | None, timeout_s: float) -> Outcome:
        settings = self._settings
        values = values_of(settings, task, text, before)
        with sendable():
            path = filled(self._path, values, _quoted)
            body = b"" if settings.template is None else json.dumps(filled(settings.template, values), ensure_ascii=False).encode("utf-8", "replace")
        try:
            async with asyncio.timeout(timeout_s):
                response = await self._client.send(settings.method, path, body)
        except TimeoutError:
            raise SystemFault("timeout") from None
        except HttpError as error:
            raise fault_of(error) from None
        if response.body is None:
            raise SystemFault("too_large", f"an answer of more than {BODY_BYTES_MAX} bytes")
        if response.status >= 300:
            raise SystemFault("refused", f"HTTP {response.status}")
        return outcome_of_answer(settings, response.body, task, text, before)


def _quoted(value: str) -> str:
    return quote(value, safe="", errors="replace")


def _with_variables(key: str, value: str, quoted: Callable[[str], str] = str) -> str:
    """A text with the variables it names. Raises `ConfigError`, which never shows a value."""
    for variable in VARIABLE.findall(value):
        if not os.environ.get(variable, "").strip():
            raise ConfigError(f"{key}: {variable} is not set; set it to what the system expects")
    filled_in = VARIABLE.sub(lambda found: quoted(os.environ[found[1]].strip()), value)
    if quoted is str and not (filled_in.isascii() and filled_in.isprintable()):
        raise ConfigError(f"{key}: its value cannot be sent in a header; write it in ASCII, in one line")
    return filled_in
