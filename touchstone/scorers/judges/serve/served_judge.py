"""The judge behind an OpenAI-compatible server.

A case waits for its turn, reserves the most that its request may cost, sends it, and settles the cost. Requests that fail for a temporary reason are sent again
after a random delay. While nobody is answered, one case at a time tries (see `gate`).
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Final

from touchstone.scorers.base import Reading, Unavailable
from touchstone.scorers.judges.ask.form import Form, form_of
from touchstone.scorers.judges.ask.judge import Answer, NoAnswer, OverBudget, Prompt, Unanswered, Usage, VerdictT
from touchstone.scorers.judges.ask.message import Message, render
from touchstone.scorers.judges.serve.budget import Budget
from touchstone.scorers.judges.serve.client import Client
from touchstone.scorers.judges.serve.counts import Counts
from touchstone.scorers.judges.serve.faults import OF_ALL
from touchstone.scorers.judges.serve.gate import Gate
from touchstone.scorers.judges.serve.in_flight import InFlight
from touchstone.scorers.judges.serve.limits import Limits
from touchstone.scorers.judges.serve.question import Question, Server
from touchstone.scorers.judges.serve.server_state import ServerState
from touchstone.scorers.judges.serve.spending import Purse
from touchstone.scorers.judges.serve.verdict_cache import KeptVerdict, VerdictCache, question_of
from touchstone.scorers.judges.settings import JudgeSettings

#: If so many other cases are answered while one fails until its deadline, the server fails on this case, and the case is given up.
_OTHERS_MIN: Final = 5
_FORMS_MAX: Final = 64
Outcome = Answer[Any] | Unanswered | OverBudget | Unavailable


class ServedJudge:
    """A `Judge`, one for each suite and process. All its cases share limits, budget and cache."""

    def __init__(self, settings: JudgeSettings, client: Client, *, budget: Budget | None, cache: VerdictCache) -> None:
        self._settings = settings
        counts = Counts(settings.model)
        purse = Purse(settings, budget, counts)
        self._server = Server(settings, client, Limits(settings), purse, ServerState(settings.structured), Gate(settings, purse.pace_s), counts)
        self._cache = cache
        self._in_flight: InFlight[Outcome] = InFlight()
        self._forms: dict[type, Form] = {}
        self._is_closing = False

    async def ask(self, prompt: Prompt, fields: Mapping[str, str], verdict: type[VerdictT]) -> Answer[VerdictT]:
        """The verdict on a case; see `Judge.ask`. Raises `Unanswered`, `OverBudget`, `Unavailable`, and `Lost` if the settings can never work."""
        form = self._form(verdict)
        key = question_of(self._settings, prompt, form, fields)
        if (kept := self._cache.find(key)) is not None and (answer := _revived(kept, verdict)) is not None:
            self._server.counts.questions["cached"] += 1
            return answer
        try:
            spare = self._settings.context_tokens - self._settings.max_tokens
            message = render(prompt, fields, chars_max=self._settings.prompt_chars_max, tokens_max=spare)
        except Unanswered as error:
            self._count(error)
            raise
        outcome, shared = await self._in_flight.ask((key, verdict), lambda: self._outcome(message, form, verdict, key))
        if isinstance(outcome, Answer) and shared:
            self._server.counts.questions["shared"] += 1
            return Answer(outcome.verdict, outcome.model, Usage(), cached=True)
        self._count(outcome)
        if isinstance(outcome, Answer):
            return outcome
        raise _own_exception(outcome, shared=shared)

    def readings(self) -> Iterable[Reading]:
        """Its current metrics; may be called from any thread."""
        limits, server = self._server.limits, self._server
        return server.counts.readings(
            is_up=server.state.lost() is None and server.gate.is_up,
            in_flight=limits.places.used,
            limit=limits.places.limit,
            paused_s=limits.pause_left_s,
            left_usd=server.purse.left_usd(),
            balance=server.purse.balance(),
            settings=self._settings,
        )

    async def close(self) -> None:
        """End what is in flight, and release connections and files."""
        self._is_closing = True
        await self._in_flight.close()
        await self._server.client.close()
        self._cache.close()
        self._server.purse.close()

    async def _outcome(self, message: Message, form: Form, verdict: type[VerdictT], key: bytes) -> Outcome:
        """The outcome of a question within the deadline of its case."""
        question: Question[VerdictT] | None = None
        try:
            async with asyncio.timeout(self._settings.deadline_s) as deadline:
                question = Question(self._server, message, form, verdict, key, deadline)
                outcome = await question.until_outcome()
        except (TimeoutError, Unavailable):
            return self._ended(question, key)
        except asyncio.CancelledError:
            if self._is_closing:
                return Unavailable("judge_closed")
            raise
        self._server.state.forget(key)
        if isinstance(outcome, Answer):
            self._cache.keep(key, KeptVerdict(outcome.model, outcome.verdict.model_dump_json(by_alias=True)))
        return outcome

    def _ended(self, question: Question[Any] | None, key: bytes) -> Outcome:
        """The outcome of a question that has waited long enough."""
        gate, others = self._server.gate, self._server.state.answers_since_failure(key)
        if question is not None and question.awaits_budget:
            return OverBudget(self._server.purse.over().resets_in_s, question.spent)
        if question is None or not question.was_sent:
            # It was still waiting; the requests of others show why.
            return Unavailable(gate.code or ("judge_429" if self._server.limits.pause_left_s else "judge_timeout"))
        code = question.code or "judge_timeout"
        gate.waited_in_vain(key, code, question.answers_before)
        if question.code not in OF_ALL and others >= _OTHERS_MIN:
            self._server.state.forget(key)
            return question.unanswered("failing")
        return NoAnswer(code, question.spent)

    def _count(self, outcome: Outcome) -> None:
        """Count the outcome of a question."""
        names = {Answer: "answered", Unanswered: "unanswered", OverBudget: "over_budget"}
        self._server.counts.questions[names.get(type(outcome), "unavailable")] += 1
        if isinstance(outcome, Unanswered):
            self._server.counts.unanswered[outcome.code] += 1

    def _form(self, verdict: type[VerdictT]) -> Form:
        if len(self._forms) >= _FORMS_MAX:
            self._forms.clear()
        return self._forms.get(verdict) or self._forms.setdefault(verdict, form_of(verdict))


def _revived(kept: KeptVerdict, verdict: type[VerdictT]) -> Answer[VerdictT] | None:
    """A kept verdict; None if it no longer has the form."""
    try:
        return Answer(verdict.model_validate_json(kept.verdict), kept.model, Usage(), cached=True)
    except ValueError:
        return None


def _own_exception(shared_one: Unanswered | OverBudget | Unavailable, *, shared: bool) -> Unanswered | OverBudget | Unavailable:
    """A new exception for each caller, so that none has the traceback of another. The cost counts once."""
    match shared_one:
        case Unanswered() | NoAnswer():
            return type(shared_one)(shared_one.code, Usage() if shared else shared_one.usage)
        case OverBudget():
            return OverBudget(shared_one.resets_in_s, Usage() if shared else shared_one.usage, was_asked=shared_one.was_asked)
    return type(shared_one)(shared_one.code)
