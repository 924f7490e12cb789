"""What a failed request means: ask again, ask in another way, give up this case, or stop because of the settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from touchstone.scorers.http.retry_after import retry_after_s

#: again: it may work later. settings: it never works with these settings. case: it never works for this case. way: the server cannot be asked in this way.
Kind = Literal["again", "settings", "case", "way"]
_AGAIN: Final = {408: "judge_timeout", 409: "judge_conflict", 425: "judge_conflict", 429: "judge_429"}
_SETTINGS: Final = {401: "judge_key", 403: "judge_forbidden", 404: "judge_not_found"}
#: Words of servers that do not support forms or function calls.
_WAY_WORDS: Final = ("response_format", "json_schema", "json schema", "tool", "function", "strict", "grammar", "guided", "schema", "structured")
_LENGTH_WORDS: Final = ("context_length", "context length", "maximum context", "too long", "too many tokens", "context window")
_TEXT_CHARS: Final = 4_000


@dataclass(frozen=True, slots=True)
class Fault:
    """A request without an answer. It has no text of the server, which may repeat the question.

    `code`: of the `Unavailable`, `Lost` or `Unanswered` that it may become. `billed`: it may have cost something. `dialect`: a parameter that the server
    expects under another name.
    """

    kind: Kind
    code: str
    billed: bool = False
    retry_after_s: float | None = None
    dialect: Literal["max_completion_tokens"] | None = None


TIMED_OUT: Final = Fault("again", "judge_timeout", billed=True)
NO_CONNECTION: Final = Fault("again", "judge_connection")
#: The URL says http:// and the port speaks TLS, or the reverse.
OTHER_PROTOCOL: Final = Fault("settings", "judge_tls")
#: The connection failed after the request was sent, or the body does not match its headers.
BROKEN_OFF: Final = Fault("again", "judge_connection", billed=True)

#: Faults that do not depend on the question.
OF_ALL: Final = frozenset({"judge_429", "judge_quota", "judge_budget_file", "judge_uncertain"})


def fault_of(status: int, body: Any, headers: Mapping[str, str], now: datetime | None = None) -> Fault:
    """The fault that an HTTP status reports. `body`: searched for known codes and words, never kept. `headers`: with names in lower case."""
    error = body if isinstance(body, Mapping) else {}
    code, parameter = str(error.get("code") or ""), str(error.get("param") or "")
    text = str(body)[:_TEXT_CHARS].lower()
    if status == 429 and code == "insufficient_quota":
        return Fault("again", "judge_quota")
    if status in _AGAIN:
        return Fault("again", _AGAIN[status], retry_after_s=retry_after_s(headers, now))
    if status in _SETTINGS:
        return Fault("settings", _SETTINGS[status])
    if status >= 500 and status != 501 and not any(word in text for word in _WAY_WORDS[:5]):
        return Fault("again", "judge_5xx", retry_after_s=retry_after_s(headers, now))
    if status == 400 and "http request" in text and "https" in text:  # how a TLS server answers plain text, if it does
        return OTHER_PROTOCOL
    if 300 <= status < 400:
        return Fault("settings", "judge_redirected")
    if status == 413 or code == "context_length_exceeded" or any(word in text for word in _LENGTH_WORDS):
        return Fault("case", "too_long")
    if code in {"content_filter", "content_policy_violation"}:
        return Fault("case", "refused")
    if "max_completion_tokens" in text:
        return Fault("way", "rejected", dialect="max_completion_tokens")
    if parameter in {"temperature", "seed"}:
        return Fault("settings", f"judge_{parameter}")
    if any(word in text for word in _WAY_WORDS):
        return Fault("way", "rejected")
    return Fault("again", "judge_5xx") if status >= 500 else Fault("case", "rejected")


#: Code → what to do about a fault of the settings; logged once. Templates that take the code, because workers show only the template of such a log line.
ADVICE: Final = {
    "judge_key": "judge: the server refused the key (401); set TOUCHSTONE_JUDGE_API_KEY to a valid one (%s)",
    "judge_forbidden": "judge: the key may not use this model (403); change TOUCHSTONE_JUDGE_MODEL, or the key's rights (%s)",
    "judge_not_found": "judge: the server knows no such model or path (404); check TOUCHSTONE_JUDGE_MODEL and TOUCHSTONE_JUDGE_BASE_URL (…/v1) (%s)",
    "judge_tls": "judge: one end speaks TLS and the other does not; write https:// in TOUCHSTONE_JUDGE_BASE_URL for a TLS port, else http:// (%s)",
    "judge_redirected": "judge: the server sends requests elsewhere; set TOUCHSTONE_JUDGE_BASE_URL to the address itself (%s)",
    "judge_temperature": "judge: the model does not accept this temperature; set TOUCHSTONE_JUDGE_TEMPERATURE=none (%s)",
    "judge_seed": "judge: the model does not accept a seed; set TOUCHSTONE_JUDGE_SEED=none (%s)",
}
