"""The judge behind an OpenAI-compatible server; the only module that imports its client.

A case waits for its turn, reserves what the request may cost at most, sends it, and settles. Requests that fail for a reason that may pass are sent again,
after a random delay; after a few in a row the server counts as down, and cases ask it one after the other until one is answered or their deadline is over.
No text of a request, an answer or an error leaves this module but in the verdict: the client's exceptions, which hold such text, end in `_send`.
"""

import asyncio
import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Generic

import httpx2
import openai
import orjson

from touchstone.scorers.backoff import Backoff
from touchstone.scorers.base import Lost, Reading, Unavailable
from touchstone.scorers.breaker import Breaker
from touchstone.scorers.judges.asking import Answer, OverBudget, Prompt, Unanswered, Usage, VerdictT
from touchstone.scorers.judges.budget import NANO, Budget, Reservation, cost_nano, dearest_nano
from touchstone.scorers.judges.counts import Counts
from touchstone.scorers.judges.forms import WAYS, Form, Misfit, Way, form_of, read_verdict
from touchstone.scorers.judges.limits import Limits
from touchstone.scorers.judges.prompts import Message, render
from touchstone.scorers.judges.responses import InFlight, Kept, Responses, question_of
from touchstone.scorers.judges.retrying import BROKEN_OFF, MEND, NO_CONNECTION, TIMED_OUT, Fault, fault_of
from touchstone.scorers.judges.settings import JudgeSettings

log = logging.getLogger("touchstone.judge")
#: Libraries that log what they send.
_TALKATIVE: Final = ("openai", "httpx2", "httpcore2", "httpx", "httpcore")
#: After an answer, so many refusals in a row that blame the settings are believed; a gateway may refuse a single text with them.
_REFUSALS_MAX: Final = 5
#: Answers with a mistake that a second request may mend. A refusal and an answer that is cut off would only be repeated.
_MENDABLE: Final = frozenset({"wrong_form", "no_json", "empty", "wrong_tool"})
_FORMAT_TOKENS: Final = 64
_MODEL_CHARS_MAX: Final = 200
_IDLE_S: Final = 15.0
#: Faults of a connection that was never made: nothing was sent, so nothing can have been charged.
_UNSENT: Final = (httpx2.ConnectError, httpx2.ProxyError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)
Outcome = Answer[Any] | Unanswered | OverBudget | Unavailable
#: So many answers in a row that had to be asked for twice show that the server does not heed the form.
_UNHEEDED_MAX: Final = 3
_FORMS_MAX: Final = 64


class OpenAiJudge:
    """A `Judge`. One for each suite and process; every case of it shares the limits, the budget and the verdicts."""

    def __init__(self, settings: JudgeSettings, *, budget: Budget | None, responses: Responses, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        """`transport`: what carries requests instead of the network."""
        for name in _TALKATIVE:
            logging.getLogger(name).setLevel(logging.WARNING)
        self.settings = settings
        self.counts = Counts(settings.model)
        self.limits = Limits(settings)
        self.budget = budget
        self.price = settings.price_of_model
        self.settled = asyncio.Event()
        #: The first way of asking that the server has not been seen to refuse, and what it wants parameters to be called.
        self.ladder = _ladder(settings.structured)
        self.rung = 0
        self.renames = False
        self._responses = responses
        self._in_flight: InFlight[Outcome] = InFlight()
        self._breaker = Breaker(lambda: Backoff(settings.retry_backoff_min_s, settings.retry_backoff_max_s), self.counts)
        self._forms: dict[type, Form] = {}
        self.lost: str | None = None
        self._answered = False
        self._refusals = 0
        self._unheeded = 0
        self._is_closing = False
        # Redirects are not followed: they would carry texts of cases to where nobody has sent them.
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=settings.concurrency, keepalive_expiry=_IDLE_S)
        timeout = httpx2.Timeout(settings.timeout_s, connect=settings.connect_timeout_s, pool=None)
        http = httpx2.AsyncClient(transport=transport, follow_redirects=False, limits=limits, timeout=timeout)
        key = settings.api_key.get_secret_value() if settings.api_key is not None else "none"
        self._client = openai.AsyncOpenAI(api_key=key, base_url=settings.base_url, timeout=timeout, max_retries=0, http_client=http)

    async def ask(self, prompt: Prompt, fields: Mapping[str, str], verdict: type[VerdictT]) -> Answer[VerdictT]:
        """The verdict on a case; see `Judge.ask`. Raises `Unanswered`, `OverBudget`, `Unavailable`, and `Lost` where the settings can never work."""
        form = self._form(verdict)
        question = question_of(self.settings, prompt, form, fields)
        if (kept := self._responses.find(question)) is not None and (answer := _revived(kept, verdict)) is not None:
            self.counts.questions["cached"] += 1
            return answer
        try:
            spare = self.settings.context_tokens - self.settings.max_tokens
            message = render(prompt, fields, chars_max=self.settings.prompt_chars_max, tokens_max=spare)
        except Unanswered as error:
            self._count(error)
            raise
        told, shared = await self._in_flight.ask((question, verdict), lambda: self._outcome(message, form, verdict, question))
        if shared and isinstance(told, Answer):
            self.counts.questions["shared"] += 1
            return Answer(told.verdict, told.model, Usage(), cached=True)
        self._count(told)
        if isinstance(told, Answer):
            return told
        # Each who waits raises an exception of its own.
        raise Unanswered(told.code, Usage() if shared else told.usage) if isinstance(told, Unanswered) else _again(told)

    def readings(self) -> Iterable[Reading]:
        """Its current readings; called from any thread."""
        places = self.limits.places
        left_usd = self.budget.left_usd() if self.budget is not None else None
        return self.counts.readings(in_flight=places.used, limit=places.limit, paused_s=self.limits.pause_left_s, left_usd=left_usd)

    async def close(self) -> None:
        """End what is in flight and release connections and files."""
        self._is_closing = True
        await self._in_flight.close()
        await self._client.close()
        self._responses.close()
        if self.budget is not None:
            self.budget.close()

    async def _outcome(self, message: Message, form: Form, verdict: type[VerdictT], question: bytes) -> Outcome:
        """What becomes of a question, within the deadline of its case."""
        case: _Case[VerdictT] | None = None
        try:
            async with asyncio.timeout(self.settings.deadline_s) as deadline:
                case = _Case(self, message, form, verdict, deadline)
                told: Outcome = await self._breaker.call(case.row)
        except TimeoutError:
            if case is not None and case.awaits_budget and self.budget is not None:
                return OverBudget(self.budget.resets_in_s())
            return Unavailable((case and case.code) or self._reason())
        except Unavailable as error:
            return Unavailable(error.code)
        except asyncio.CancelledError:
            if self._is_closing:
                return Unavailable("judge_closed")
            raise
        if isinstance(told, Answer):
            self._responses.keep(question, Kept(told.model, told.verdict.model_dump_json(by_alias=True)))
        return told

    def _reason(self) -> str:
        """Why a case was not even asked until its deadline."""
        return next(iter(self.counts.down), "judge_429" if self.limits.pause_left_s else "judge_busy")

    def _count(self, told: Outcome) -> None:
        """Count what has become of a question."""
        names = {Answer: "answered", Unanswered: "unanswered", OverBudget: "over_budget"}
        self.counts.questions[names.get(type(told), "unavailable")] += 1
        if isinstance(told, Unanswered):
            self.counts.unanswered[told.code] += 1

    def _form(self, verdict: type[VerdictT]) -> Form:
        if len(self._forms) >= _FORMS_MAX:
            self._forms.clear()
        return self._forms.get(verdict) or self._forms.setdefault(verdict, form_of(verdict))

    def heard(self, fault: Fault | None) -> Fault | None:
        """Note what came of a request; None: an answer. A refusal that blames the settings is the case's own while others are answered."""
        if fault is None:
            self._answered, self._refusals = True, 0
        elif fault.kind == "settings":
            self._refusals += 1
            if fault.code != "judge_key" and self._answered and self._refusals < _REFUSALS_MAX:
                return Fault("case", "rejected")
            if self.lost is None:
                self.lost, self.counts.lost = fault.code, True
                log.error("judge: %s", MEND[fault.code])
        return fault

    def learnt(self, rung: int, *, renames: bool, mended: bool) -> None:
        """Note how a verdict was got, so that the next case is asked in that way at once."""
        self.renames |= renames
        self.rung = max(self.rung, rung)
        self._unheeded = self._unheeded + 1 if mended else 0
        if self._unheeded >= _UNHEEDED_MAX:
            way = self.ladder[self.rung][0]
            self.rung = next((lower for lower in range(self.rung, len(self.ladder)) if self.ladder[lower][0] != way), self.rung)
            self._unheeded = 0

    async def send(self, body: Mapping[str, Any]) -> Mapping[str, Any] | Fault:
        """Send one request: what the server answers, or what was wrong. All exceptions of the client end here."""
        begun = time.perf_counter()
        try:
            async with asyncio.timeout(self.settings.timeout_s):
                response = await self._client.post("/chat/completions", cast_to=httpx2.Response, body=body)
            answer = orjson.loads(response.content)
        except (TimeoutError, openai.APITimeoutError) as error:
            fault = NO_CONNECTION if isinstance(error.__cause__, _UNSENT) else TIMED_OUT
        except openai.APIConnectionError as error:
            fault = NO_CONNECTION if isinstance(error.__cause__, _UNSENT) else BROKEN_OFF
        except openai.APIStatusError as error:
            fault = fault_of(error.status_code, error.body, error.response.headers)
        except (openai.OpenAIError, httpx2.HTTPError, ValueError):
            fault = BROKEN_OFF
        else:
            self.counts.call_s.observe(time.perf_counter() - begun)
            return answer if isinstance(answer, Mapping) and _is_answer(answer) else _fault_within(answer)
        self.counts.call_s.observe(time.perf_counter() - begun)
        return fault


class _Case(Generic[VerdictT]):
    """One question on its way to a verdict. `code`: why the last request failed; `awaits_budget`: it waits for others to settle."""

    def __init__(self, judge: OpenAiJudge, message: Message, form: Form, verdict: type[VerdictT], deadline: asyncio.Timeout) -> None:
        self._judge = judge
        self._message = message
        self._form = form
        self._verdict = verdict
        self._deadline = deadline
        self._rung = judge.rung
        self._renames = judge.renames
        self._mistake: Misfit | None = None
        self._failed = self._calls = self._tokens_in = self._tokens_out = self._nano = 0
        self.code: str | None = None
        self.awaits_budget = False

    async def row(self) -> Answer[VerdictT] | Unanswered | OverBudget | Lost:
        """Requests in a row until there is an outcome. Raises `Unavailable` after as many as the settings allow, and from then on after each."""
        settings = self._judge.settings
        backoff = Backoff(settings.retry_backoff_min_s, settings.retry_backoff_max_s)
        while True:
            told = await self._once()
            if not isinstance(told, Fault):
                return told
            if told.kind == "way":
                if not self._descend(told):
                    return self._unanswered("rejected")
            elif told.kind == "case":
                return self._unanswered(told.code)
            else:
                self.code = told.code
                self._failed += 1
                if self._failed >= settings.attempts_max or told.code == "judge_quota":
                    raise Unavailable(told.code)
                await asyncio.sleep(backoff.next_s())

    async def _once(self) -> Answer[VerdictT] | Unanswered | OverBudget | Lost | Fault:
        """One request, and a second one where the answer has another form: what came of it."""
        judge, limits = self._judge, self._judge.limits
        body = self._body()
        size = len(orjson.dumps(body))
        # What it costs at most is counted with a token for each byte; what it will be about, with one for every few.
        tokens_max = size + _FORMAT_TOKENS
        if (stop := self._stopped(tokens_max)) is not None:
            return stop
        with self._off_the_clock():
            await limits.line_up(size // 3 + judge.settings.max_tokens)
        try:
            await limits.pause()
            if (stop := self._stopped(tokens_max)) is not None:
                return stop
            reservation = await self._reserve(tokens_max)
            if isinstance(reservation, OverBudget):
                return reservation
            begun = time.monotonic()
            told: Mapping[str, Any] | Fault | None = None
            try:
                told = await judge.send(body)
            finally:
                self._settle(reservation, told, tokens_max)
        finally:
            limits.leave()
        if not isinstance(told, Fault):
            judge.heard(None)
            return await self._read(told)
        judge.counts.faults[told.code] += 1
        if told.code in {"judge_429", "judge_quota"}:
            limits.told_to_wait(begun, told.retry_after_s)
        elif told.retry_after_s is not None:
            limits.pause_for(told.retry_after_s)
        heard = judge.heard(told)
        return Lost(judge.lost) if judge.lost is not None else heard or told

    def _stopped(self, tokens_max: int) -> Lost | OverBudget | None:
        """Why nothing more is sent, where that is so."""
        judge = self._judge
        if judge.lost is not None:
            return Lost(judge.lost)
        if judge.budget is not None and judge.price is not None:
            nano = dearest_nano(judge.price, tokens_max, judge.settings.max_tokens)
            return OverBudget(judge.budget.resets_in_s()) if judge.budget.is_exhausted(nano) else None
        return None

    @contextmanager
    def _off_the_clock(self) -> Iterator[None]:
        """Stop the deadline while the case waits behind others of this process, for that is not the server's doing."""
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
        judge, choice = self._judge, told["choices"][0]
        found = read_verdict(choice["message"], choice.get("finish_reason"), self._verdict)
        if isinstance(found, Misfit):
            judge.counts.calls["misfit"] += 1
            if found.code not in _MENDABLE or self._mistake is not None:
                return self._unanswered(found.code)
            self._mistake = found
            judge.counts.repairs += 1
            return await self._once()
        judge.counts.calls["answered"] += 1
        judge.learnt(self._rung, renames=self._renames, mended=self._mistake is not None)
        return Answer(found, _named(told.get("model"), judge.settings.model), self._usage(wasted=self._calls - 1))

    def _body(self) -> dict[str, Any]:
        """The request."""
        settings, (way, strict) = self._judge.settings, self._judge.ladder[self._rung]
        user = self._message.user
        if self._mistake is not None:
            user += f"\n\nAn earlier answer of yours to this could not be used ({self._mistake.places}). {self._form.instruction()}"
        elif way == "text":
            user += f"\n\n{self._form.instruction()}"
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
        while self._rung + 1 < len(self._judge.ladder):
            self._rung += 1
            if self._form.strict or not self._judge.ladder[self._rung][1]:
                return True
        return False

    async def _reserve(self, tokens_max: int) -> Reservation | OverBudget | None:
        """Reserve the most that the request may cost; wait where only requests in flight stand in the way. None without a budget."""
        judge = self._judge
        if judge.budget is None or judge.price is None:
            return None
        nano = dearest_nano(judge.price, tokens_max, judge.settings.max_tokens)
        while (told := judge.budget.reserve(nano)) == "later":
            self.awaits_budget = True
            judge.settled.clear()
            await judge.settled.wait()
        self.awaits_budget = False
        return OverBudget(judge.budget.resets_in_s()) if told == "exhausted" else told

    def _settle(self, reservation: Reservation | None, told: Mapping[str, Any] | Fault | None, tokens_max: int) -> None:
        """Count what a request has cost; None: it was cancelled. Where the server does not say, it is the most that it may have cost."""
        judge = self._judge
        self._calls += 1
        if told is None or isinstance(told, Fault):
            judge.counts.calls["cancelled" if told is None else "fault"] += 1
        metered = _usage_of(told) if isinstance(told, Mapping) else None
        nano = 0
        if metered is not None:
            tokens_in, tokens_out, cached = metered
            self._tokens_in += tokens_in
            self._tokens_out += tokens_out
            judge.counts.tokens["input"].observe(tokens_in)
            judge.counts.tokens["output"].observe(tokens_out)
            nano = cost_nano(judge.price, tokens_in, tokens_out, cached) if judge.price is not None else 0
        elif not isinstance(told, Fault) or told.billed:
            judge.counts.unmetered += 1
            nano = dearest_nano(judge.price, tokens_max, judge.settings.max_tokens) if judge.price is not None else 0
        self._nano += nano
        judge.counts.cost_nano += nano
        if reservation is not None and judge.budget is not None:
            judge.budget.settle(reservation, nano)
            judge.settled.set()

    def _usage(self, wasted: int) -> Usage:
        return Usage(self._tokens_in, self._tokens_out, self._nano / NANO, self._calls, wasted)

    def _unanswered(self, code: str) -> Unanswered:
        return Unanswered(code, self._usage(wasted=self._calls))


def _ladder(structured: str) -> tuple[tuple[Way, bool], ...]:
    """The ways of asking, from the most binding; each strictly first."""
    ways = WAYS if structured == "auto" else tuple(way for way in WAYS if way == structured)
    return tuple((way, strict) for way in ways for strict in ((True, False) if way != "text" else (False,)))


def _is_answer(answer: Mapping[str, Any]) -> bool:
    choices = answer.get("choices")
    return isinstance(choices, list) and bool(choices) and isinstance(choices[0], Mapping) and isinstance(choices[0].get("message"), Mapping)


def _fault_within(answer: Any) -> Fault:
    """The fault that a body tells although its status is good, as gateways do."""
    error = answer.get("error") if isinstance(answer, Mapping) else None
    if not error:
        return BROKEN_OFF
    code = error.get("code") if isinstance(error, Mapping) else None
    return fault_of(code if isinstance(code, int) and 400 <= code < 600 else 500, error, {})


def _usage_of(answer: Mapping[str, Any]) -> tuple[int, int, int] | None:
    """Prompt tokens, answer tokens, and those of the prompt that were cached; None where the server does not say, or says what cannot be."""
    usage = answer.get("usage")
    if not isinstance(usage, Mapping):
        return None
    tokens_in, tokens_out, details = usage.get("prompt_tokens"), usage.get("completion_tokens"), usage.get("prompt_tokens_details")
    if type(tokens_in) is not int or type(tokens_out) is not int or tokens_in <= 0 or tokens_out < 0:
        return None
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else 0
    return tokens_in, tokens_out, cached if type(cached) is int and 0 <= cached <= tokens_in else 0


def _named(model: Any, asked: str) -> str:
    return model if isinstance(model, str) and model.isprintable() and 0 < len(model) <= _MODEL_CHARS_MAX else asked


def _revived(kept: Kept, verdict: type[VerdictT]) -> Answer[VerdictT] | None:
    """A kept verdict; None where it no longer has the form."""
    try:
        return Answer(verdict.model_validate_json(kept.verdict), kept.model, Usage(), cached=True)
    except ValueError:
        return None


def _again(error: OverBudget | Unavailable) -> OverBudget | Unavailable:
    return OverBudget(error.resets_in_s) if isinstance(error, OverBudget) else type(error)(error.code)
