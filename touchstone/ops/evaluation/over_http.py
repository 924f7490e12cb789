"""A system under test that is asked over HTTP: a prompt for a persona, then the persona for each format."""

import asyncio
import ssl
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import orjson

from touchstone.ops.evaluation.items import Item
from touchstone.ops.evaluation.settings import SystemSettings
from touchstone.ops.evaluation.systems import Content, StepFailed, Told
from touchstone.schemas.trace import ClinicalFormat
from touchstone.scorers.backoff import Backoff
from touchstone.scorers.base import ConfigError
from touchstone.scorers.http.retry_after import retry_after_s

#: Answers below 500 after which the same request may succeed; all from 500 on may.
_PASSING: Final = frozenset({408, 425, 429})

#: What an answer that tells an error may hold.
_COMPLAINT: Final = frozenset({"error", "errors", "message", "detail", "details", "code", "status", "success"})


class HttpSystem:
    """A client of one system. It follows no redirect, keeps no cookie, takes neither proxies nor credentials from the environment.

    A persona is the answer's object, or what stands under its `persona`; a document is the answer's text, or what stands under its `content`.
    Raises `ConfigError`.
    """

    def __init__(self, settings: SystemSettings) -> None:
        """Opens no connection."""
        assert settings.url is not None
        self._settings = settings
        headers = {"Accept-Encoding": "identity", "User-Agent": "touchstone"}
        if settings.token is not None:
            headers[settings.token_header] = f"{settings.token_scheme} {settings.token.get_secret_value()}".strip()
        try:
            self._client = httpx.AsyncClient(
                headers=headers,
                verify=ssl.create_default_context(),
                timeout=settings.timeout_s,
                limits=httpx.Limits(max_connections=settings.concurrency, max_keepalive_connections=settings.concurrency),
                follow_redirects=False,
                trust_env=False,
            )
            httpx.URL(settings.url)
        except (httpx.InvalidURL, ValueError):
            raise ConfigError("--system: the URL names no host that can be asked") from None

    @property
    def where(self) -> str:
        """The host, with its port."""
        return urlsplit(self._settings.url or "").netloc

    async def persona(self, item: Item) -> Told:
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
        return Told(answer, attempts)

    async def document(self, item: Item, persona: Mapping[str, Any] | None, form: ClinicalFormat) -> Told:
        """What the system generates of a persona in one format."""
        body, attempts = await self._asked(self._settings.path_of(form), {"persona": persona})
        content = _content(body, form)
        if content is None:
            raise StepFailed("no_content", attempts)
        return Told(content, attempts)

    def made_at(self, item: Item) -> datetime | None:
        """Now."""
        return None

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _asked(self, path: str, question: dict[str, Any]) -> tuple[bytes, int]:
        """The body of a good answer, and after how many attempts. Raises `StepFailed`."""
        settings = self._settings
        backoff = Backoff(settings.retry_min_s, settings.retry_max_s)
        data = orjson.dumps(question)
        attempt = 0
        while True:
            attempt += 1
            asked_pause_s = 0.0
            try:
                async with asyncio.timeout(settings.timeout_s):
                    status, body, asked_pause_s = await self._once(f"{settings.url}{path}", data)
                if status < 300:
                    return body, attempt
                code = "redirected" if status < 400 else f"status_{status}"
                if status < 500 and status not in _PASSING:
                    raise StepFailed(code, attempt)
            except (TimeoutError, httpx.TimeoutException):
                code = "timeout"
            except _TooLargeError:
                raise StepFailed("too_large", attempt) from None
            except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError):
                code = "connection"
            if attempt >= settings.attempts_max:
                raise StepFailed(code, attempt)
            await asyncio.sleep(max(backoff.next_s(), min(asked_pause_s, settings.retry_max_s)))

    async def _once(self, url: str, data: bytes) -> tuple[int, bytes, float]:
        """Status, body and the pause that the system asks for. The body of an answer that is none is not read."""
        async with self._client.stream("POST", url, content=data, headers={"Content-Type": "application/json"}) as answer:
            if answer.status_code >= 300:
                return answer.status_code, b"", retry_after_s(answer.headers) or 0.0
            body = bytearray()
            async for piece in answer.aiter_raw():
                body += piece
                if len(body) > self._settings.answer_bytes_max:
                    raise _TooLargeError
            return answer.status_code, bytes(body), 0.0


def _is_complaint(answer: dict[str, Any]) -> bool:
    """Whether an object tells an error, although the status said that all went well."""
    return "error" in answer and answer.keys() <= _COMPLAINT


class _TooLargeError(Exception):
    """An answer beyond the bound."""


def _content(body: bytes, form: ClinicalFormat) -> Content | list[Content] | None:
    """The document, or documents, of an answer; None where it holds none. A document that is broken is the validator's to judge."""
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
