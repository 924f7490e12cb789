"""The judge behind an OpenAI-compatible server.

A case waits for its turn, reserves what the request may cost at most, sends it, and settles. Requests that fail for a reason that may pass are sent again,
after a random delay; after a few in a row the server counts as down, and cases ask it one after the other until one is answered or their deadline is over.
Once some have waited in vain until then, the others are told at once, and one of them asks now and then.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Final

from touchstone.scorers.backoff import Backoff
from touchstone.scorers.base import Reading, Unavailable
from touchstone.scorers.breaker import Breaker
from touchstone.scorers.judges.ask.form import Form, form_of
from touchstone.scorers.judges.ask.judge import Answer, NoAnswer, OverBudget, Prompt, Unanswered, Usage, VerdictT
from touchstone.scorers.judges.ask.prompt import Message, render
from touchstone.scorers.judges.serve.budget import Budget
from touchstone.scorers.judges.serve.client import Client
from touchstone.scorers.judges.serve.counts import Counts
from touchstone.scorers.judges.serve.faults import OF_ALL
from touchstone.scorers.judges.serve.limits import Limits
from touchstone.scorers.judges.serve.question import FailsAlone, Line, Question
from touchstone.scorers.judges.serve.server_state import Known
from touchstone.scorers.judges.serve.spending import Purse
from touchstone.scorers.judges.serve.verdict_cache import InFlight, Kept, Responses, question_of
from touchstone.scorers.judges.settings import JudgeSettings
from touchstone.scorers.outage import Away

#: A case that fails until its deadline while so many others are answered fails by itself; it must not be asked forever.
_OTHERS_MIN: Final = 5
_FORMS_MAX: Final = 64
Outcome = Answer[Any] | Unanswered | OverBudget | Unavailable


class ServedJudge:
    """A `Judge`. One for each suite and process; all its cases share the limits, the budget and the verdicts."""

    def __init__(self, settings: JudgeSettings, client: Client, *, budget: Budget | None, responses: Responses) -> None:
        self._settings = settings
        counts = Counts(settings.model)
        self._line = Line(settings, client, Limits(settings), Purse(settings, budget, counts), Known(settings.structured), counts)
        self._responses = responses
        self._in_flight: InFlight[Outcome] = InFlight()
        self._breaker = Breaker(lambda: Backoff(settings.retry_backoff_min_s, settings.retry_backoff_max_s), counts)
        self._forms: dict[type, Form] = {}
        self._away = Away(settings.retry_backoff_max_s)
        self._is_closing = False

    async def ask(self, prompt: Prompt, fields: Mapping[str, str], verdict: type[VerdictT]) -> Answer[VerdictT]:
        """The verdict on a case; see `Judge.ask`. Raises `Unanswered`, `OverBudget`, `Unavailable`, and `Lost` where the settings can never work."""
        form = self._form(verdict)
        key = question_of(self._settings, prompt, form, fields)
        if (kept := self._responses.find(key)) is not None and (answer := _revived(kept, verdict)) is not None:
            self._line.counts.questions["cached"] += 1
            return answer
        try:
            spare = self._settings.context_tokens - self._settings.max_tokens
            message = render(prompt, fields, chars_max=self._settings.prompt_chars_max, tokens_max=spare)
        except Unanswered as error:
            self._count(error)
            raise
        self._away.check()
        told, shared = await self._in_flight.ask((key, verdict), lambda: self._outcome(message, form, verdict, key))
        if isinstance(told, Answer) and shared:
            self._line.counts.questions["shared"] += 1
            return Answer(told.verdict, told.model, Usage(), cached=True)
        self._count(told)
        if isinstance(told, Answer):
            return told
        raise _own(told, shared=shared)

    def readings(self) -> Iterable[Reading]:
        """Its current readings; called from any thread."""
        limits, line = self._line.limits, self._line
        is_up = line.known.lost() is None
        return line.counts.readings(
            is_up=is_up,
            in_flight=limits.places.used,
            limit=limits.places.limit,
            paused_s=limits.pause_left_s,
            left_usd=line.purse.left_usd(),
            budget_usd=self._settings.budget_usd,
        )

    async def close(self) -> None:
        """End what is in flight, and release connections and files."""
        self._is_closing = True
        await self._in_flight.close()
        await self._line.client.close()
        self._responses.close()
        self._line.purse.close()

    async def _outcome(self, message: Message, form: Form, verdict: type[VerdictT], key: bytes) -> Outcome:
        """What becomes of a question, within the deadline of its case."""
        question: Question[VerdictT] | None = None
        try:
            async with asyncio.timeout(self._settings.deadline_s) as deadline:
                question = Question(self._line, message, form, verdict, key, deadline)
                while isinstance(told := await self._breaker.call(question.row), FailsAlone):
                    pass  # the server answers others, so they need not wait for this one
        except TimeoutError:
            overdue = self._overdue(question, key)
            if isinstance(overdue, Unavailable):
                self._away.waited(overdue.code)
            return overdue
        except Unavailable as error:
            return error
        except asyncio.CancelledError:
            if self._is_closing:
                return Unavailable("judge_closed")
            raise
        self._line.known.over(key)
        if not isinstance(told, OverBudget):
            self._away.answered()
        if isinstance(told, Answer):
            self._responses.keep(key, Kept(told.model, told.verdict.model_dump_json(by_alias=True)))
        return told

    def _overdue(self, question: Question[Any] | None, key: bytes) -> Outcome:
        """What a question is that was not answered in its time."""
        others = self._line.known.others_since(key)
        if question is not None and question.awaits_budget:
            return OverBudget(self._line.purse.over().resets_in_s, question.spent)
        if question is None or not question.was_sent:
            # It waited in line while others found out why.
            return Unavailable(next(iter(self._line.counts.down), "judge_429" if self._line.limits.pause_left_s else "judge_timeout"))
        if question.code not in OF_ALL and others >= _OTHERS_MIN:
            self._line.known.over(key)
            return question.unanswered("failing")
        return NoAnswer(question.code or "judge_timeout", question.spent)

    def _count(self, told: Outcome) -> None:
        """Count what has become of a question."""
        names = {Answer: "answered", Unanswered: "unanswered", OverBudget: "over_budget"}
        self._line.counts.questions[names.get(type(told), "unavailable")] += 1
        if isinstance(told, Unanswered):
            self._line.counts.unanswered[told.code] += 1

    def _form(self, verdict: type[VerdictT]) -> Form:
        if len(self._forms) >= _FORMS_MAX:
            self._forms.clear()
        return self._forms.get(verdict) or self._forms.setdefault(verdict, form_of(verdict))


def _revived(kept: Kept, verdict: type[VerdictT]) -> Answer[VerdictT] | None:
    """A kept verdict; None where it no longer has the form."""
    try:
        return Answer(verdict.model_validate_json(kept.verdict), kept.model, Usage(), cached=True)
    except ValueError:
        return None


def _own(told: Unanswered | OverBudget | Unavailable, *, shared: bool) -> Unanswered | OverBudget | Unavailable:
    """An exception for each who waits, without a trace of the other's; what it has cost counts once."""
    match told:
        case Unanswered() | NoAnswer():
            return type(told)(told.code, Usage() if shared else told.usage)
        case OverBudget():
            return OverBudget(told.resets_in_s, Usage() if shared else told.usage)
    return type(told)(told.code)
