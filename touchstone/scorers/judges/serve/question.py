"""One question on its way to a verdict: the requests it takes, in which way each is sent, and what its answer means."""

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Generic

import orjson

from touchstone.scorers.backoff import Backoff
from touchstone.scorers.base import Lost, Unavailable
from touchstone.scorers.judges.ask.form import Case, Form, Misfit, read_verdict
from touchstone.scorers.judges.ask.judge import Answer, OverBudget, Unanswered, Usage, VerdictT
from touchstone.scorers.judges.ask.prompt import Message
from touchstone.scorers.judges.serve.budget import NANO, Reservation
from touchstone.scorers.judges.serve.client import Client
from touchstone.scorers.judges.serve.counts import Counts
from touchstone.scorers.judges.serve.faults import Fault
from touchstone.scorers.judges.serve.limits import Limits
from touchstone.scorers.judges.serve.server_state import Known
from touchstone.scorers.judges.serve.spending import Purse, Spent
from touchstone.scorers.judges.settings import JudgeSettings

#: Answers with a mistake that a second request may mend. A refusal and an answer that is cut off would only be repeated.
_MENDABLE: Final = frozenset({"wrong_form", "no_json", "empty", "wrong_tool"})
#: About so many bytes make a token; what it costs at most is counted with a token for each byte, and some for the format of the chat.
_BYTES_PER_TOKEN: Final = 3
_FORMAT_TOKENS: Final = 64
_MODEL_CHARS_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class Line:
    """What all questions of a judge share on their way to the server."""

    settings: JudgeSettings
    client: Client
    limits: Limits
    purse: Purse
    known: Known
    counts: Counts


class FailsAlone:
    """A row of requests has failed for one case while the server answers others."""


class Question(Generic[VerdictT]):
    """A question with its own deadline. `code`: why its last request failed; `awaits_budget`: others must settle before it can be paid."""

    def __init__(self, line: Line, message: Message, form: Form, verdict: type[VerdictT], key: bytes, deadline: asyncio.Timeout) -> None:
        """`key`: what tells the question apart from others."""
        self._line = line
        self._message = message
        self._form = form
        self._verdict = verdict
        self._key = key
        self._deadline = deadline
        self._backoff = Backoff(line.settings.retry_backoff_min_s, line.settings.retry_backoff_max_s)
        self._rung = line.known.rung
        self._renames = line.known.renames
        self._mistake: Misfit | None = None
        self._failed = self._calls = self._tokens_in = self._tokens_out = self._nano = 0
        self.code: str | None = None
        self.awaits_budget = False

    async def row(self) -> Answer[VerdictT] | Unanswered | OverBudget | Lost | FailsAlone:
        """Requests in a row until there is an outcome. Raises `Unavailable` after as many as the settings allow, and from then on after each."""
        attempts_max = self._line.settings.attempts_max
        while True:
            told = await self._once()
            if isinstance(told, OverBudget):
                return OverBudget(told.resets_in_s, self.spent)
            if not isinstance(told, Fault):
                return told
            if told.kind == "way":
                if not self._descend(told):
                    return self.unanswered("rejected")
                continue
            if told.kind == "case":
                return self.unanswered(told.code)
            self.code = told.code
            self._failed += 1
            others = self._line.known.others_since(self._key)
            if self._failed >= attempts_max or told.code == "judge_quota":
                if not others or told.code == "judge_quota":
                    raise Unavailable(told.code)
                self._failed = 0
                await asyncio.sleep(self._backoff.next_s())
                return FailsAlone()
            await asyncio.sleep(self._backoff.next_s())

    @property
    def was_sent(self) -> bool:
        """Whether any request has been sent for it."""
        return self._calls > 0

    @property
    def spent(self) -> Usage:
        """What it has cost, where that was in vain."""
        return self._usage(wasted=self._calls)

    def unanswered(self, code: str) -> Unanswered:
        """The question ends without a verdict."""
        return Unanswered(code, self.spent)

    async def _once(self) -> Answer[VerdictT] | Unanswered | OverBudget | Lost | Fault:
        """One request, and a second one where the answer has another form: what came of it."""
        line, body = self._line, orjson.dumps(self._body())
        size = len(body)
        tokens_max = size + _FORMAT_TOKENS
        if (stop := line.known.lost() or line.purse.exhausted(tokens_max)) is not None:
            return stop
        with self._off_the_clock():
            await line.limits.line_up(size // _BYTES_PER_TOKEN + line.settings.max_tokens)
        try:
            await line.limits.pause()
            if (lost := line.known.lost()) is not None:
                return lost
            reservation = await self._reserved(tokens_max)
            if isinstance(reservation, OverBudget):
                return reservation
            begun = time.monotonic()
            told: Mapping[str, Any] | Fault | None = None
            try:
                told = await line.client.send(body)
            finally:
                line.counts.call_s.observe(time.monotonic() - begun)
                self._pay(line.purse.settle(reservation, told, tokens_max), told)
        finally:
            line.limits.leave()
        if not isinstance(told, Fault):
            line.known.heard(None)
            return await self._read(told)
        line.counts.faults[told.code] += 1
        if told.code in {"judge_429", "judge_quota"}:
            line.limits.told_to_wait(begun, told.retry_after_s)
        elif told.retry_after_s is not None:
            line.limits.pause_for(told.retry_after_s)
        heard = line.known.heard(told)
        return line.known.lost() or heard or told

    async def _reserved(self, tokens_max: int) -> Reservation | OverBudget | None:
        """What is put aside for a request; whoever is cancelled here was waiting for money."""
        self.awaits_budget = True
        try:
            told = await self._line.purse.reserve(tokens_max)
        except Unavailable as error:
            self.awaits_budget, self.code = False, error.code
            raise
        self.awaits_budget = False
        return told

    def _pay(self, spent: Spent, told: Mapping[str, Any] | Fault | None) -> None:
        """Add what a request has cost to what the question has."""
        self._calls += 1
        self._tokens_in += spent.tokens_in
        self._tokens_out += spent.tokens_out
        self._nano += spent.nano
        if told is None or isinstance(told, Fault):
            self._line.counts.calls["cancelled" if told is None else "fault"] += 1

    @contextmanager
    def _off_the_clock(self) -> Iterator[None]:
        """Stop the deadline while the question waits behind others of this process, for that is not the server's doing."""
        clock, ends = asyncio.get_running_loop().time, self._deadline.when()
        left_s = ends - clock() if ends is not None else None
        self._deadline.reschedule(None)
        try:
            yield
        finally:
            if left_s is not None:
                self._deadline.reschedule(clock() + left_s)

    async def _read(self, told: Mapping[str, Any]) -> Answer[VerdictT] | Unanswered | OverBudget | Lost | Fault:
        """The verdict in an answer; where it has another form, ask once more."""
        line = self._line
        is_in_words = self._mistake is not None or line.known.ladder[self._rung][0] == "text"
        found = read_verdict(*_message_of(told), self._verdict, Case(self._message.key, self._message.user, is_in_words))
        if isinstance(found, Misfit):
            line.counts.calls["misfit"] += 1
            if found.code not in _MENDABLE or self._mistake is not None:
                return self.unanswered(found.code)
            self._mistake = found
            line.counts.repairs += 1
            return await self._once()
        line.counts.calls["answered"] += 1
        line.known.learnt(self._rung, renames=self._renames, mended=self._mistake is not None)
        return Answer(found, _named(told.get("model"), line.settings.model), self._usage(wasted=self._calls - 1))

    def _body(self) -> dict[str, Any]:
        """The request."""
        settings, (way, strict) = self._line.settings, self._line.known.ladder[self._rung]
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
            **self._form.request(way, strict=strict),
        }

    def _descend(self, fault: Fault) -> bool:
        """Ask in the next way; False where there is none. It is remembered once it has been answered."""
        if fault.dialect is not None and not self._renames:
            self._renames = True
            return True
        rung = self._line.known.below(self._rung, self._form)
        self._rung = self._rung if rung is None else rung
        return rung is not None

    def _usage(self, wasted: int) -> Usage:
        return Usage(self._tokens_in, self._tokens_out, self._nano / NANO, self._calls, wasted)


def _message_of(answer: Mapping[str, Any]) -> tuple[Mapping[str, Any], Any]:
    """The message of an answer and why it ended; an empty message where there is none."""
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    return (message, choice.get("finish_reason")) if isinstance(choice, Mapping) and isinstance(message, Mapping) else ({}, None)


def _named(model: Any, asked: str) -> str:
    return model if isinstance(model, str) and model.isprintable() and 0 < len(model) <= _MODEL_CHARS_MAX else asked
