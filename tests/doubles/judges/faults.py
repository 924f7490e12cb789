"""Faults between a client and a model's server: their kinds, when they happen, and how the protocol reports them."""

import time
from email.utils import formatdate
from enum import StrEnum
from hashlib import blake2b
from math import ceil
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from tests.doubles.judges.asked import Asked, Refused


class Kind(StrEnum):
    """Kinds of faults: errors of the protocol, then wrong answers of the model, then wrong ways of sending."""

    RATE_LIMITED = "rate_limited"
    NO_QUOTA = "no_quota"
    ERROR_500 = "error_500"
    ERROR_502 = "error_502"
    ERROR_503 = "error_503"
    NO_KEY = "no_key"
    NO_PERMISSION = "no_permission"
    NO_MODEL = "no_model"
    TOO_LONG = "too_long"
    FILTERED_PROMPT = "filtered_prompt"
    NO_RESPONSE_FORMAT = "no_response_format"  # neither JSON schema nor JSON mode; other requests are answered
    NO_JSON_SCHEMA = "no_json_schema"  # JSON mode is there
    NO_TOOLS = "no_tools"

    BAD_JSON = "bad_json"
    WRONG_FORM = "wrong_form"
    REPEATED = "repeated"  # another verdict comes before the one that counts
    CHATTY = "chatty"  # prose around a fenced verdict; it can be read
    REFUSAL = "refusal"
    CONTENT_FILTER = "content_filter"
    TRUNCATED = "truncated"
    EMPTY = "empty"
    NO_CHOICES = "no_choices"
    NESTED = "nested"  # brackets deeper than a parser's stack
    LONE_SURROGATE = "lone_surrogate"  # strings that no UTF-8 can hold
    NO_USAGE = "no_usage"

    HANG = "hang"
    STALLED = "stalled"  # half of the response, then nothing
    HALF_CLOSED = "half_closed"  # half of the response, then the end
    RESET = "reset"
    HANG_UP = "hang_up"  # a whole response, and the connection is closed without a word
    DRIP = "drip"
    ENORMOUS = "enormous"
    GZIP_BOMB = "gzip_bomb"
    BAD_BODY = "bad_body"
    BAD_TEXT = "bad_text"  # no UTF-8
    HTML = "html"


_ERRORS: dict[Kind, tuple[int, str, str | None, str]] = {
    Kind.RATE_LIMITED: (429, "requests", "rate_limit_exceeded", "Rate limit reached for requests per minute. Please try again later."),
    Kind.NO_QUOTA: (429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota, please check your plan and billing details."),
    Kind.ERROR_500: (500, "server_error", None, "The server had an error while processing your request. Sorry about that!"),
    Kind.ERROR_502: (502, "server_error", None, "Bad gateway."),
    Kind.ERROR_503: (503, "service_unavailable_error", None, "The engine is currently overloaded, please try again later."),
    Kind.NO_KEY: (401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    Kind.NO_PERMISSION: (403, "invalid_request_error", None, "You are not allowed to sample from this model."),
    Kind.NO_MODEL: (404, "invalid_request_error", "model_not_found", "The model does not exist or you do not have access to it."),
    Kind.TOO_LONG: (400, "invalid_request_error", "context_length_exceeded", "This model's maximum context length is 8192 tokens. Please reduce the messages."),
    Kind.FILTERED_PROMPT: (400, "invalid_request_error", "content_filter", "The response was filtered due to the prompt triggering a content policy."),
    Kind.NO_RESPONSE_FORMAT: (400, "invalid_request_error", None, "'response_format' is not supported with this model."),
    Kind.NO_JSON_SCHEMA: (400, "invalid_request_error", None, "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."),
    Kind.NO_TOOLS: (400, "invalid_request_error", None, "'tools' is not supported with this model."),
}
_PARAMS = {
    Kind.NO_MODEL: "model", Kind.TOO_LONG: "messages", Kind.FILTERED_PROMPT: "prompt",
    Kind.NO_RESPONSE_FORMAT: "response_format", Kind.NO_JSON_SCHEMA: "response_format", Kind.NO_TOOLS: "tools",
}  # fmt: skip


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class Fault:
    """A fault and when it happens: whenever all of its conditions hold; always, without one.

    `attempts`: only the first so many tries of a prompt (the same body). `requests`: only these, counted from 1 over all. `share`: so many of 1, chosen by
    seed, prompt and try, so they do not depend on the order of arrival. `seconds`: only so long after the first request.
    `retry_after_s` and `retry_as`: the Retry-After of an error. `pace_s`: between two bytes of a drip. `size_bytes`: of what is too much.
    """

    kind: Kind
    attempts: Annotated[int, Ge(1)] | None = None
    requests: frozenset[int] | None = None
    share: Annotated[float, Gt(0), Le(1)] | None = None
    seconds: Annotated[float, Gt(0)] | None = None
    retry_after_s: Annotated[float, Ge(0)] | None = None
    retry_as: Literal["seconds", "date", "milliseconds"] = "seconds"
    pace_s: Annotated[float, Ge(0)] = 0.01
    size_bytes: Annotated[int, Ge(1)] = 64 * 1024 * 1024

    def strikes(self, asked: Asked, seed: int, elapsed_s: float) -> bool:
        """True if it happens to this request."""
        return (
            (self.attempts is None or asked.attempt <= self.attempts)
            and (self.requests is None or asked.number in self.requests)
            and (self.seconds is None or elapsed_s <= self.seconds)
            and self._concerns(asked)
            and (self.share is None or _chance(seed, self.kind, asked) < self.share)
        )

    def _concerns(self, asked: Asked) -> bool:
        """A server that lacks something only says so to those who ask for it."""
        if self.kind is Kind.NO_RESPONSE_FORMAT:
            return "response_format" in asked.body and asked.body["response_format"].get("type", "text") != "text"
        if self.kind is Kind.NO_JSON_SCHEMA:
            return asked.form == "json_schema"
        return self.kind is not Kind.NO_TOOLS or "tools" in asked.body

    def error(self) -> Refused | None:
        """The error to answer with, where this fault is one."""
        if self.kind not in _ERRORS:
            return None
        status, sort, code, message = _ERRORS[self.kind]
        return Refused(status, sort, message, code, _PARAMS.get(self.kind), self._retry_headers())

    def _retry_headers(self) -> dict[str, str]:
        if self.retry_after_s is None:
            return {}
        if self.retry_as == "date":
            return {"retry-after": formatdate(ceil(time.time() + self.retry_after_s), usegmt=True)}
        if self.retry_as == "milliseconds":
            return {"retry-after-ms": f"{self.retry_after_s * 1000:.0f}"}
        return {"retry-after": f"{self.retry_after_s:g}"}


def _chance(seed: int, kind: Kind, asked: Asked) -> float:
    """A number from 0 to 1 that is the same for the same seed, fault, prompt and try."""
    return int.from_bytes(blake2b(f"{seed} {kind} {asked.digest} {asked.attempt}".encode(), digest_size=6).digest()) / 2**48
