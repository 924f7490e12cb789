"""One question: the requests that it takes, the way in which each asks, and the meaning of each answer."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, Final, Generic

import orjson

from touchstone.scorers.backoff import Backoff
from touchstone.scorers.base import Lost, Unavailable
from touchstone.scorers.judges.ask.form import Form
from touchstone.scorers.judges.ask.judge import Answer, LostJudge, OverBudget, Unanswered, Usage, VerdictT
from touchstone.scorers.judges.ask.message import Message
from touchstone.scorers.judges.ask.verdict import Misfit, read_verdict
from touchstone.scorers.judges.serve.budget import NANO, Reservation
from touchstone.scorers.judges.serve.client import Client
from touchstone.scorers.judges.serve.counts import Counts
from touchstone.scorers.judges.serve.faults import Fault
from touchstone.scorers.judges.serve.gate import Gate, Passage
from touchstone.scorers.judges.serve.limits import Limits
from touchstone.scorers.judges.serve.server_state import ServerState
from touchstone.scorers.judges.serve.spending import Purse, Spent
from touchstone.scorers.judges.settings import JudgeSettings

#: Mistakes that a second request may repair. A refusal, or an answer that was cut off, would only be repeated.
_REPAIRABLE: Final = frozenset({"wrong_form", "no_json", "empty", "wrong_tool"})
#: Estimated bytes of a token, for rate limits. The most that a request may cost counts each byte as a token, and adds some for the chat format.
_BYTES_PER_TOKEN: Final = 3
_FORMAT_TOKENS: Final = 64
_MODEL_CHARS_MAX: Final = 200
#: How often a question looks whether money that may have been spent was not: only other processes, or the next period, can change that.
_MONEY_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Server:
    """What all questions of a judge share."""

    settings: JudgeSettings
    client: Client
    limits: Limits
    purse: Purse
    state: ServerState
    gate: Gate
    counts: Counts


class Question(Generic[VerdictT]):
    """A question with its own deadline. `code`: why its last request failed. `awaits_budget`: it can be paid only after other requests settle.

    `answers_before`: how many answers the server had given when the question began.
    """

    def __init__(self, server: Server, message: Message, form: Form, verdict: type[VerdictT], key: bytes, deadline: asyncio.Timeout) -> None:
        """`key`: identifies the question."""
        self._server = server
        self._message = message
        self._form = form
        self._verdict = verdict
        self._key = key
        self._deadline = deadline
        self._backoff = Backoff(server.settings.retry_backoff_min_s, server.settings.retry_backoff_max_s)
        self._rung = server.state.rung
        self._renames = server.state.renames
        self._mistake: Misfit | None = None
        self._calls = self._tokens_in = self._tokens_out = self._nano = self._uncertain_nano = 0
        self.code: str | None = None
        self.answers_before = server.gate.answers
        self.awaits_budget = False

    async def until_outcome(self) -> Answer[VerdictT] | Unanswered | OverBudget | LostJudge:
        """Send requests until there is an outcome. Raises `Unavailable` if the server is away."""
        while True:
            outcome = await self._once()
            if isinstance(outcome, OverBudget):
                return OverBudget(outcome.resets_in_s, self.spent)
            if isinstance(outcome, Lost):
                return LostJudge(outcome.code, self.spent)
            if not isinstance(outcome, Fault):
                return outcome
            if outcome.kind == "way":
                if not self._descend(outcome):
                    return self.unanswered("rejected")
                continue
            if outcome.kind == "case":
                return self.unanswered(outcome.code)
            self.code = outcome.code
            self._server.state.answers_since_failure(self._key)
            if outcome.code == "judge_uncertain":
                await asyncio.sleep(_MONEY_S)
            elif self._server.gate.code is None:  # a closed gate has its own delays
                await asyncio.sleep(self._backoff.next_s())

    @property
    def was_sent(self) -> bool:
        """True if a request has been sent."""
        return self._calls > 0

    @property
    def spent(self) -> Usage:
        """What it has cost so far, as wasted."""
        return self._usage(wasted=self._calls)

    def unanswered(self, code: str) -> Unanswered:
        """The outcome of a question that ends without a verdict."""
        return Unanswered(code, self.spent)

    async def _once(self) -> Answer[VerdictT] | Unanswered | OverBudget | Lost | Fault:
        """The outcome of one request, or of two if the first answer has the wrong form."""
        server, body = self._server, orjson.dumps(self._body())
        size = len(body)
        tokens_max = size + _FORMAT_TOKENS
        if (stop := server.state.lost() or server.purse.exhausted(tokens_max)) is not None:
            return stop
        async with self._passage(size // _BYTES_PER_TOKEN + server.settings.max_tokens) as passage:
            await server.limits.pause()
            if (lost := server.state.lost()) is not None:
                return lost
            reservation = await self._reserved(tokens_max)
            if not isinstance(reservation, Reservation | None):
                if isinstance(reservation, Fault):
                    server.gate.hindered()
                return reservation
            answer = await self._sent(body, reservation, tokens_max)
            if isinstance(answer, Fault):
                return self._note(answer, passage)
            server.gate.answered(passage)
            server.state.note(None)
        return await self._read(answer)

    @asynccontextmanager
    async def _passage(self, tokens: int) -> AsyncIterator[Passage]:
        """A place among the requests in flight, and the right to send one. `tokens`: estimate for it. Raises `Unavailable` if the server is away."""
        gate, limits = self._server.gate, self._server.limits
        while True:
            # Waiting for others is not the case's fault, and the gate limits the time by itself.
            passage = gate.enter_at_once(self._key)
            if passage is None:
                with self._off_the_clock():
                    passage = await gate.enter(self._key)
            try:
                if not limits.take_at_once():
                    with self._off_the_clock():
                        await limits.line_up(tokens)
                try:
                    if gate.begin(passage):
                        yield passage
                        return
                finally:
                    limits.leave()
            finally:
                gate.end(passage)

    def _note(self, fault: Fault, passage: Passage) -> Lost | Fault:
        """Note a request without an answer; returns what it means for the question."""
        server = self._server
        server.counts.faults[fault.code] += 1
        if fault.code in {"judge_429", "judge_quota"}:
            server.limits.slow_down(passage.begun or 0.0, fault.retry_after_s)
        elif fault.retry_after_s is not None:
            server.limits.pause_for(fault.retry_after_s)
        if fault.kind == "again":
            server.gate.failed(passage, fault)
        else:
            server.gate.answered(passage)
        noted = server.state.note(fault)
        return server.state.lost() or noted or fault

    async def _sent(self, body: bytes, reservation: Reservation | None, tokens_max: int) -> Mapping[str, Any] | Fault:
        """Send a request and settle its cost, even if the caller is cancelled meanwhile."""
        server, begun = self._server, time.monotonic()
        answer: Mapping[str, Any] | Fault | None = None
        try:
            answer = await server.client.send(body)
        finally:
            server.counts.call_s.observe(time.monotonic() - begun)
            self._pay(server.purse.settle(reservation, answer, tokens_max), answer)
        return answer

    async def _reserved(self, tokens_max: int) -> Reservation | OverBudget | Fault | None:
        """The money for a request. A question that is cancelled here was waiting for money."""
        self.awaits_budget = True
        try:
            reservation = await self._server.purse.reserve(tokens_max)
        except Unavailable as error:
            self.awaits_budget = False
            return Fault("again", error.code)
        self.awaits_budget = False
        return reservation

    def _pay(self, spent: Spent, answer: Mapping[str, Any] | Fault | None) -> None:
        """Add the cost of a request to that of the question."""
        self._calls += 1
        self._tokens_in += spent.tokens_in
        self._tokens_out += spent.tokens_out
        if spent.uncertain:
            self._uncertain_nano += spent.nano
        else:
            self._nano += spent.nano
        if answer is None or isinstance(answer, Fault):
            self._server.counts.calls["cancelled" if answer is None else "fault"] += 1

    @contextmanager
    def _off_the_clock(self) -> Iterator[None]:
        """Stop the deadline meanwhile."""
        clock, ends = asyncio.get_running_loop().time, self._deadline.when()
        left_s = ends - clock() if ends is not None else None
        self._deadline.reschedule(None)
        try:
            yield
        finally:
            if left_s is not None:
                self._deadline.reschedule(clock() + left_s)

    async def _read(self, answer: Mapping[str, Any]) -> Answer[VerdictT] | Unanswered | OverBudget | Lost | Fault:
        """The verdict in an answer. If the answer has the wrong form, ask once more."""
        server = self._server
        found = read_verdict(*_message_of(answer), self._verdict, self._message.key)
        if isinstance(found, Misfit):
            server.counts.calls["misfit"] += 1
            if found.code not in _REPAIRABLE or self._mistake is not None:
                return self.unanswered(found.code)
            self._mistake = found
            server.counts.repairs += 1
            return await self._once()
        server.counts.calls["answered"] += 1
        server.state.note_verdict(self._rung, renames=self._renames, repaired=self._mistake is not None)
        return Answer(found, _named(answer.get("model"), server.settings.model), self._usage(wasted=self._calls - 1))

    def _body(self) -> dict[str, Any]:
        """The request's body."""
        settings, (way, strict) = self._server.settings, self._server.state.ladder[self._rung]
        user = self._message.user
        if self._mistake is not None:
            user += f"\n\nAn earlier answer of yours to this could not be used ({self._mistake.places}). {self._form.instruction(self._message.key)}"
        elif way == "text":
            user += f"\n\n{self._form.instruction(self._message.key)}"
        parameters = {"temperature": settings.temperature, "seed": settings.seed}
        return {
            "model": settings.model,
            "messages": [{"role": "system", "content": self._message.system}, {"role": "user", "content": user}],
            "max_completion_tokens" if self._renames else "max_tokens": settings.max_tokens,
            **{name: value for name, value in parameters.items() if value is not None},
            # Besides a function call, no words could be told from the verdict.
            **(self._form.request(way, strict=strict) if self._mistake is None or way != "tools" else {}),
        }

    def _descend(self, fault: Fault) -> bool:
        """Go on to the next way of asking; False if there is none. The way is remembered once it has led to a verdict."""
        if fault.dialect is not None and not self._renames:
            self._renames = True
            return True
        rung = self._server.state.below(self._rung, self._form)
        self._rung = self._rung if rung is None else rung
        return rung is not None

    def _usage(self, wasted: int) -> Usage:
        return Usage(self._tokens_in, self._tokens_out, self._nano / NANO, self._calls, wasted, self._uncertain_nano / NANO)


def _message_of(answer: Mapping[str, Any]) -> tuple[Mapping[str, Any], Any]:
    """The message of an answer, and why it ended; an empty message if there is none."""
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and len(choices) == 1 else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    return (message, choice.get("finish_reason")) if isinstance(choice, Mapping) and isinstance(message, Mapping) else ({}, None)


def _named(model: Any, asked: str) -> str:
    return model if isinstance(model, str) and model.isprintable() and 0 < len(model) <= _MODEL_CHARS_MAX else asked
