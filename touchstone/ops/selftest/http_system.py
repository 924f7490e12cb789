"""A system under test behind HTTP: a task is posted, its state is asked for until it ends, and replies are posted."""

import asyncio
import json
import os
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote, urlsplit

from touchstone.scorers.base import ConfigError
from touchstone.scorers.http.client import HttpClient
from touchstone.scorers.http.responses import ConnectError, HttpError
from touchstone.scorers.selftest.system import Outcome, SystemFault, Task, outcome_of, task_id_of
from touchstone.scorers.selftest.system_settings import HttpSystem

BODY_BYTES_MAX: Final = 8 * 1024 * 1024
#: Errors in a row while asking for a task's state that are tolerated: a server may restart meanwhile.
_LOST_MAX: Final = 3


def fault_of(error: HttpError) -> SystemFault:
    """The fault of a connection: it was not made, or it ended before the answer did."""
    return SystemFault("unreachable" if isinstance(error, ConnectError) else "broken", type(error).__name__)


class HttpEndpoint:
    """`POST submit_path` with the task, `GET status_path` until the status is final, `POST reply_path` with a reply.

    If the server answers the POST with a final status, no state is asked for. Redirects are not followed, and
    neither proxies nor credentials come from the environment.
    """

    def __init__(self, settings: HttpSystem) -> None:
        """Opens no connection. Raises `ConfigError`."""
        parts = urlsplit(settings.url)
        if parts.username or parts.password:
            raise ConfigError("system.url: holds a user or password; name an environment variable with a token in token_variable")
        if not parts.hostname:
            raise ConfigError("system.url: has no host; write http://host:port")
        self.name = settings.url
        self._settings = settings
        headers = {"Accept": "application/json"}
        if settings.token_variable is not None:
            token = os.environ.get(settings.token_variable, "").strip()
            if not token:
                raise ConfigError(f"system.token_variable: {settings.token_variable} is not set; set it to the system's token")
            if not token.isascii() or not token.isprintable():
                raise ConfigError(f"system.token_variable: {settings.token_variable} cannot be sent in a header; write it in ASCII")
            headers["Authorization"] = f"Bearer {token}"
        try:
            self._client = HttpClient(settings.url, headers, bytes_max=BODY_BYTES_MAX, connect_s=None)  # a whole task has one time limit
        except ValueError:
            raise ConfigError("system.url: names no host that can be asked; write http://host:port") from None

    async def open(self) -> None:
        """Nothing to connect beforehand."""

    async def ask(self, task: Task, timeout_s: float) -> Outcome:
        """Submit the task and wait for its end."""
        return await self._within(self._submitted(task), timeout_s)

    async def reply(self, task: Task, before: Outcome, text: str, timeout_s: float) -> Outcome:
        """Reply and wait for the next end."""
        same: list[Outcome] = []
        try:
            return await self._within(self._replied(task, before, text, same), timeout_s)
        except SystemFault as fault:
            if fault.code != "timeout" or not same:
                raise
            return same[-1]

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _within(self, work: Any, timeout_s: float) -> Outcome:
        try:
            async with asyncio.timeout(timeout_s):
                outcome: Outcome = await work
                return outcome
        except TimeoutError:
            raise SystemFault("timeout") from None

    async def _submitted(self, task: Task) -> Outcome:
        document = await self._asked("POST", self._settings.submit_path, task.document())
        if isinstance(document, dict) and document.get("status") is not None:
            outcome = outcome_of(document, task.session_id)
            if outcome.is_final:
                return outcome
        task_id = task_id_of(document)
        if task_id is None:
            raise SystemFault("unreadable", "neither a final status nor a task_id")
        return await self._ended(task_id)

    async def _replied(self, task: Task, before: Outcome, text: str, same: list[Outcome]) -> Outcome:
        document = await self._asked("POST", self._path(self._settings.reply_path, before.task_id), task.document(task_id=before.task_id, reply=text))
        if isinstance(document, dict) and document.get("status") is not None:
            outcome = outcome_of(document, before.task_id)
            if outcome.is_final and outcome != before:
                return outcome
        return await self._ended(before.task_id, before, same)

    async def _ended(self, task_id: str, before: Outcome | None = None, same: list[Outcome] | None = None) -> Outcome:
        """The final outcome of a task.

        Trap: right after a reply a server may still return the state from before it. The same answer in the same words counts as that state and goes
        into `same`; if nothing else arrives within the limit, it is the answer.
        """
        lost = 0
        while True:
            try:
                told = await self._asked("GET", self._path(self._settings.status_path, task_id))
                outcome = replace(outcome_of(told, task_id), task_id=task_id)  # whatever else the server calls it
                lost = 0
            except SystemFault as fault:
                lost += 1
                if fault.code not in {"unreachable", "broken", "refused"} or fault.detail.startswith("HTTP 4") or lost > _LOST_MAX:
                    raise
            else:
                if outcome.is_final and outcome != before:
                    return outcome
                if outcome.is_final and same is not None:
                    same[:] = [outcome]
            await asyncio.sleep(self._settings.poll_interval_seconds)

    def _path(self, path: str, task_id: str) -> str:
        return path.replace("{task_id}", quote(task_id, safe=""))

    async def _asked(self, method: str, path: str, document: dict[str, Any] | None = None) -> Any:
        """The JSON of one answer. Raises `SystemFault`, which does not quote it."""
        body, headers = b"", {}
        if document is not None:
            body = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
            headers = {"Content-Type": "application/json"}
        try:
            response = await self._client.send(method, path, body, headers)
        except HttpError as error:
            raise fault_of(error) from None
        if response.body is None:
            raise SystemFault("too_large", f"an answer of more than {BODY_BYTES_MAX} bytes")
        if response.status >= 300:
            raise SystemFault("refused", f"HTTP {response.status} to a {method}")
        try:
            return json.loads(response.body) if response.body.strip() else {}
        except (ValueError, RecursionError):
            raise SystemFault("unreadable", "no JSON") from None
