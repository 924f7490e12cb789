"""What the service answers over HTTP: one document at a time to a validator, and how the validators are."""

import asyncio
import hmac
import re
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from touchstone.ops.local.fhir_validator.artifacts import VALIDATOR_VERSION
from touchstone.ops.local.fhir_validator.pool import Pool, Refused
from touchstone.schemas.settings.house import LOOPBACK, FhirValidatorSettings
from touchstone.scorers.http.host_names import is_own, own_names

#: Parameters of the validator that are passed on. Not among them: those by which it would read or write files, or answer otherwise than as JSON.
PARAMETERS: Final = frozenset({
    "profile", "level", "bestPractice", "resourceIdRule", "checkDisplay", "htmlInMarkdown", "questionnaire", "jurisdiction", "extension",
    "assumeValidRestReferences", "hintAboutNonMustSupport", "wantInvariantsInMessages", "noInvariants", "unknownCodeSystemsCauseErrors", "forPublication",
    "noUnicodeBidiControlChars", "verbose", "showMessageIds", "allowExampleUrls", "showReferenceMessages", "securityChecks", "noExperimentalContent",
    "implicitFhirpathStringConversions", "allowDoubleQuotesInFhirpath", "checkIpsCodes", "maxValidationMessages", "validationTimeout",
    "codeSystemValidationSizeLimit", "r5BundleRelativeReferencePolicy", "bundleValidationRule", "bundleValidationProfile",
})  # fmt: skip
#: The validator decodes its query twice, so a value with one of & % + ; would be several parameters to it.
_VALUE: Final = re.compile(r"[A-Za-z0-9:/._|#~=?,@$-]{1,500}")
_PARAMETERS_MAX: Final = 50
#: A client holds a place in the queue while it sends, so it may not take for ever.
SENDING_S: Final = 60.0
_JSON: Final = "application/fhir+json"
#: Content type of a request → content type for the validator.
_TYPES: Final = {
    "": _JSON, "application/json": _JSON, _JSON: _JSON,
    "application/xml": "application/fhir+xml", "text/xml": "application/fhir+xml", "application/fhir+xml": "application/fhir+xml",
}  # fmt: skip
_OK: Final = 200
_SERVER_ERROR: Final = 500


def make_app(settings: FhirValidatorSettings, pool: Pool) -> Starlette:
    """The ASGI application."""
    token = None if settings.token is None else settings.token.get_secret_value()
    names = own_names(settings.allowed_hosts, is_loopback=settings.host in LOOPBACK)

    def checked(answer: Callable[[Request], Awaitable[Response]], *, is_open: bool = False) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            # A page that leads a browser here by a trick with the domain name system does so under another name.
            if not is_own(request.headers.get("host", ""), names):
                return refusal(Refused(403, "host", "not a name of this service"))
            if token is not None and not is_open and not _has(request, token):
                return refusal(Refused(401, "token", "bearer token required"), {"WWW-Authenticate": "Bearer"})
            try:
                return await answer(request)
            except Refused as refused:
                return refusal(refused)

        return endpoint

    async def validate(request: Request) -> Response:
        return await _validated(request, settings, pool)

    async def status(_: Request) -> Response:
        return JSONResponse({"validator": VALIDATOR_VERSION, **pool.as_json()})

    async def healthz(_: Request) -> Response:
        return JSONResponse({"alive": True})

    async def readyz(_: Request) -> Response:
        return JSONResponse({"ready": pool.is_ready}, _OK if pool.is_ready else 503)

    routes = [
        Route("/validateResource", checked(validate), methods=["POST"]),
        Route("/status", checked(status)),
        Route("/healthz", checked(healthz, is_open=True)),
        Route("/readyz", checked(readyz, is_open=True)),
    ]
    return Starlette(routes=routes, exception_handlers={HTTPException: _wrong_address, Exception: _defect})


def refusal(refused: Refused, headers: dict[str, str] | None = None) -> Response:
    """An error in one line, without the document."""
    wait = {} if refused.retry_after_s is None else {"Retry-After": str(refused.retry_after_s)}
    return JSONResponse({"code": refused.code, "message": str(refused)}, refused.status, {**(headers or {}), **wait})


def _has(request: Request, token: str) -> bool:
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())


async def _validated(request: Request, settings: FhirValidatorSettings, pool: Pool) -> Response:
    """The validator's answer to the document of a request. Raises `Refused`."""
    path = _path(request)
    content_type = _TYPES.get(request.headers.get("content-type", "").partition(";")[0].strip().lower())
    if content_type is None:
        raise Refused(415, "content_type", f"send {_JSON} or application/fhir+xml")
    async with pool.admitted():
        body = await _body(request, settings.document_bytes_max, SENDING_S)

        async def is_wanted() -> bool:
            return not await request.is_disconnected()

        answer = await pool.ask(path, body, content_type, is_wanted)
    if answer is None:
        raise Refused(499, "gone", "the client has gone")
    if answer.status == _OK:
        return Response(answer.body, _OK, media_type=_JSON)
    for profile in request.query_params.getlist("profile"):
        if f"Unable to resolve profile {profile}".encode() in answer.body:
            raise Refused(400, "profile", f"the validator does not know the profile {profile}: install its implementation guide")
    if answer.status >= _SERVER_ERROR:
        raise Refused(502, "no_verdict", "the validator failed on this document, and goes on answering others")
    raise Refused(400, "parameters", "the validator does not accept this value of a parameter")


def _path(request: Request) -> str:
    """What the validator is asked, made anew from the parameters that may be passed on."""
    given = request.query_params.multi_items()
    if len(given) > _PARAMETERS_MAX:
        raise Refused(400, "parameters", f"more than {_PARAMETERS_MAX} parameters")
    if any(name not in PARAMETERS for name, _ in given):
        raise Refused(400, "parameters", f"an unknown parameter; known are {', '.join(sorted(PARAMETERS))}")
    for name, value in given:
        if not _VALUE.fullmatch(value):
            raise Refused(400, "parameters", f"{name}: an address or a word of at most 500 characters, none of them a blank or one of & % + ;")
    return f"/validateResource?{urlencode(given)}" if given else "/validateResource"


async def _body(request: Request, bytes_max: int, sending_s: float) -> bytes:
    """The document, within its bounds."""
    body = bytearray()
    length = 0
    try:
        async with asyncio.timeout(sending_s):
            async for piece in request.stream():  # to its end: a client that is answered before it has sent everything does not read the answer
                length += len(piece)
                if length <= bytes_max:
                    body += piece
    except ClientDisconnect:
        raise Refused(499, "gone", "the client has gone") from None
    except TimeoutError:
        raise Refused(408, "slow", f"the document was not sent within {sending_s:g} s") from None
    if length > bytes_max:
        raise Refused(413, "too_large", f"the document is larger than {bytes_max:,} bytes (fhir_validator.document_bytes_max)")
    return bytes(body)


async def _wrong_address(_: Request, error: Any) -> Response:
    return refusal(Refused(error.status_code, "address", "POST /validateResource, GET /status, /healthz, /readyz"), error.headers)


async def _defect(_: Request, error: Exception) -> Response:
    return refusal(Refused(500, "defect", f"a defect of Touchstone ({type(error).__name__})"))
