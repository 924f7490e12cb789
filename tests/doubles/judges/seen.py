"""What the server was asked, and how it ended: for assertions. No text of a request is kept unless that was asked for."""

import time
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.doubles.judges.asked import Asked, Form

ARRIVALS_MAX = 200_000


@dataclass(slots=True)
class Arrival:
    """One request. `kind`: the fault it met, `rejected` or `limited`, else `answered`; `finished`: the response was sent as it was meant to be.

    `tokens_in`, `tokens_out`: as a provider would bill them, even if the client never got the answer.
    `body`: only with `keep_bodies`.
    """

    number: int
    at_s: float
    key: str
    model: str
    form: Form | None
    digest: str
    attempt: int
    kind: str = "answered"
    finished: bool = False
    tokens_in: int = 0
    tokens_out: int = 0
    body: Mapping[str, Any] | None = None


@dataclass(slots=True)
class Seen:
    """A count of requests for completions. `at_once_max`: most of them in the server at one time, those that hang included.

    `kinds`: how many ended in which way; `abandoned`: the client hung up before the response was sent.
    """

    keep_bodies: bool = False
    requests: int = 0
    at_once: int = 0
    at_once_max: int = 0
    abandoned: int = 0
    connections: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    by_key: Counter[str] = field(default_factory=Counter)
    by_model: Counter[str] = field(default_factory=Counter)
    attempts: Counter[str] = field(default_factory=Counter)
    arrivals: deque[Arrival] = field(default_factory=lambda: deque(maxlen=ARRIVALS_MAX))
    began_s: float | None = None

    def arrived(self, key: str, digest: str) -> Arrival:
        """Note a request before its body is read."""
        now = time.monotonic()
        self.began_s = now if self.began_s is None else self.began_s
        self.requests += 1
        self.at_once += 1
        self.at_once_max = max(self.at_once_max, self.at_once)
        self.attempts[digest] += 1
        self.by_key[key] += 1
        arrival = Arrival(self.requests, now - self.began_s, key, "", None, digest, self.attempts[digest])
        self.arrivals.append(arrival)
        return arrival

    def understood(self, arrival: Arrival, asked: Asked) -> None:
        """Note the body of a request."""
        arrival.model, arrival.form = asked.model, asked.form
        self.by_model[asked.model] += 1
        if self.keep_bodies:
            arrival.body = asked.body

    def settled(self, arrival: Arrival, kind: str) -> None:
        """Note what its answer will be."""
        arrival.kind = kind
        self.kinds[kind] += 1

    def charged(self, arrival: Arrival, tokens_in: int, tokens_out: int) -> None:
        """Note the tokens that the model took, for a response that gets lost too."""
        arrival.tokens_in, arrival.tokens_out = tokens_in, tokens_out
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out

    def ended(self, arrival: Arrival, *, finished: bool) -> None:
        """Note that the server is through with it."""
        self.at_once -= 1
        arrival.finished = finished
        self.abandoned += not finished

    @property
    def answered(self) -> int:
        """Requests that met no fault, were answered and stayed to the end."""
        return sum(each.kind == "answered" and each.finished for each in self.arrivals)

    def summary(self) -> dict[str, Any]:
        """The counts as JSON: `GET /seen`."""
        names = ("requests", "at_once", "at_once_max", "abandoned", "connections", "tokens_in", "tokens_out")
        return {name: getattr(self, name) for name in names} | {"prompts": len(self.attempts), "kinds": dict(self.kinds), "models": dict(self.by_model)}
