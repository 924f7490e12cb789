"""A system under test behind HTTP: it answers a prompt with a persona, and a persona with a document in each format."""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

import orjson

from touchstone.ops.evaluation.items import Item
from touchstone.ops.evaluation.settings import SystemSettings
from touchstone.ops.evaluation.systems import Answer, Content, StepFailed
from touchstone.schemas.trace import ClinicalFormat
from touchstone.scorers.backoff import Backoff
from touchstone.scorers.base import ConfigError
from touchstone.scorers.http.client import HttpClient
from touchstone.scorers.http.responses import ConnectTimeout, HttpError
from touchstone.scorers.http.retry_after import retry_after_s

#: Answers below 500 after which the same request may succeed; all from 500 on may.
_PASSING: Final = frozenset({408, 425, 429})

#: Keys of an answer that reports an error.
_COMPLAINT: Final = frozenset({"error", "errors", "message", "detail", "details", "code", "status", "success"})


class HttpSystem:
    """A client of one system. It follows no redirect, keeps no cookie, takes neither proxies nor credentials from the environment.

    A persona is the answer's object, or its `persona`; a document is the answer's text, or its `content`.
    Raises `ConfigError`.
    """

    def __init__(self, settings: SystemSettings) -> None:
        """Opens no connection."""
        assert settings.url is not None
        self._settings = settings
        headers = {"Content-Type": "application/json"}
        if settings.token is not None:
            headers[settings.token_header] = f"{settings.token_scheme} {settings.token.get_secret_value()}".strip()
        try:
            self._client = HttpClient(settings.url, headers, bytes_max=settings.answer_bytes_max, connect_s=settings.timeout_s, unpacks=False)
        except ValueError:
            raise ConfigError("--system: the URL names no host that can be asked") from None

    @property
    def where(self) -> str:
        """The host, with its port."""
        return urlsplit(self._settings.url or "").netloc

    async def persona(self, item: Item) -> Answer:
        """The persona that the system plans for a prompt."""
        body, attempts = await self._asked(self._settings.persona_path, {"prompt": item.prompt})
        try:
            answer = orjson.loads(body)
        except orjson.JSONDecodeError:
            raise StepFailed("not_json", attempts) from None
        if isinstance(answer, dict) and "persona" in answer:
            answer = answer["persona"]
        if not isinstance(answer, dict) or not answer or _is_complaint(answer):
            raise StepFailed("not_an_object", attempts)
        return Answer(answer, attempts)

    async def document(self, item: Item, persona: Mapping[str, Any] | None, form: ClinicalFormat) -> Answer:
        """The document that the system generates for a persona in one format."""
        body, attempts = await self._asked(self._settings.path_of(form), {"persona": persona})
        content = _content(body, form)
        if content is None:
            raise StepFailed("no_content", attempts)
        return Answer(content, attempts)

    def made_at(self, item: Item) -> datetime | None:
        """Now."""
        return None

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _asked(self, path: str, question: dict[str, Any]) -> tuple[bytes, int]:
        """The body of a successful answer, and the number of attempts. Raises `StepFailed`."""
        settings = self._settings
        backoff = Backoff(settings.retry_min_s, settings.retry_max_s)
        data = orjson.dumps(question)
        attempt = 0
        while True:
            attempt += 1
            asked_pause_s = 0.0
            try:
                async with asyncio.timeout(settings.timeout_s):
                    response = await self._client.send("POST", path, data)
                status = response.status
                if status < 300:
                    if response.body is None:
                        raise StepFailed("too_large", attempt)
                    return response.body, attempt
                asked_pause_s = retry_after_s(response.header_map()) or 0.0
                code = "redirected" if status < 400 else f"status_{status}"
                if status < 500 and status not in _PASSING:
                    raise StepFailed(code, attempt)
            except (TimeoutError, ConnectTimeout):
                code = "timeout"
            except HttpError:
                code = "connection"
            if attempt >= settings.attempts_max:
                raise StepFailed(code, attempt)
            await asyncio.sleep(max(backoff.next_s(), min(asked_pause_s, settings.retry_max_s)))


def _is_complaint(answer: dict[str, Any]) -> bool:
    """True if the object reports an error although the HTTP status is a success."""
    return "error" in answer and answer.keys() <= _COMPLAINT


def _content(body: bytes, form: ClinicalFormat) -> Content | list[Content] | None:
    """The document, or documents, of an answer; None if it has none. Broken documents are left to the validator."""
    if not body.strip():
        return None
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return body
    if text.lstrip()[:1] not in {"{", '"'}:
        return text
    try:
        answer = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    if isinstance(answer, str):
        return answer or None
    if form == "fhir" and "resourceType" in answer:
        return text
    if _is_complaint(answer):
        return None
    content = answer.get("content")
    if isinstance(content, list):
        return [one for one in content if isinstance(one, str | dict)] or None
    if isinstance(content, str) or (isinstance(content, dict) and form == "fhir"):
        return content or None
    return text if form == "fhir" and "content" not in answer else None
