"""The metrics of a judge, named as in OpenTelemetry where that has a name, without a metrics library."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from touchstone.scorers.base import Reading
from touchstone.scorers.histogram import Histogram
from touchstone.scorers.judges.serve.budget import Balance
from touchstone.scorers.judges.settings import JudgeSettings

#: The buckets that OpenTelemetry's conventions for generative models give.
_SECONDS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_TOKENS: Final = tuple(float(4**power) for power in range(14))
#: Outcomes of questions and of requests. Each is exported from the start, so that the first one shows as an increase.
ANSWERS: Final = ("answered", "cached", "shared", "unanswered", "over_budget", "unavailable")
CALLS: Final = ("answered", "misfit", "fault", "cancelled")


class Counts:
    """Counts of one model: written by one thread, read by any."""

    def __init__(self, model: str) -> None:
        self._model = ("model", model)
        self.call_s = Histogram(_SECONDS)
        self.tokens = {"input": Histogram(_TOKENS), "output": Histogram(_TOKENS)}
        self.questions: Counter[str] = Counter(dict.fromkeys(ANSWERS, 0))
        self.unanswered: Counter[str] = Counter()
        self.calls: Counter[str] = Counter(dict.fromkeys(CALLS, 0))
        self.faults: Counter[str] = Counter()
        self.repairs = 0
        self.cost_nano = self.uncertain_nano = 0
        self.unmetered = 0

    def readings(
        self, *, is_up: bool, in_flight: int, limit: int, paused_s: float, left_usd: float | None, balance: Balance | None, settings: JudgeSettings
    ) -> Iterable[Reading]:
        """All current metrics. `is_up`: the server answers, as far as is known. `limit`: requests that may be in flight now.

        `paused_s`: seconds until requests are sent again. `left_usd`: rest of the budget. `balance`: what has become of it.
        """
        yield self._histogram(
            "gen_ai_client_operation_duration_seconds", "one request to the judge's server, from its start to the end of its answer", self.call_s
        )
        for kind, seen in self.tokens.items():
            yield self._histogram("gen_ai_client_token_usage", "tokens of one request, as the server counts them", seen, ("token_type", kind))
        for outcome, count in list(self.questions.items()):
            yield self._counter("judge_questions", "questions asked of the judge, by outcome", count, ("outcome", outcome))
        for code, count in list(self.unanswered.items()):
            yield self._counter("judge_unanswered", "questions without a usable verdict, by code", count, ("code", code))
        for outcome, count in list(self.calls.items()):
            yield self._counter("judge_calls", "requests sent, by outcome; all but the answered ones are wasted", count, ("outcome", outcome))
        for code, count in list(self.faults.items()):
            yield self._counter("judge_faults", "requests that brought no answer, by code", count, ("code", code))
        yield self._counter("judge_repairs", "questions asked again because the first answer had the wrong form", self.repairs)
        yield self._counter("judge_cost_usd", "cost of requests; an answer of unknown cost counts with the most that it may have cost", self.cost_nano / 1e9)
        yield self._counter("judge_uncertain_cost_usd", "the most that requests without an answer may have cost", self.uncertain_nano / 1e9)
        yield self._counter("judge_unmetered_calls", "requests whose cost is not known", self.unmetered)
        yield self._gauge("judge_up", "0 while the server does not answer and cases ask in turn", float(is_up))
        yield self._gauge("judge_in_flight_calls", "requests in flight", in_flight)
        yield self._gauge("judge_in_flight_limit_calls", "requests that may be in flight now (lowered by 429)", limit)
        yield self._gauge("judge_pause_left_seconds", "seconds until requests are sent again, as the server asked", paused_s)
        if left_usd is not None:
            yield self._gauge("judge_budget_left_usd", "rest of the budget in this period, without reservations and what counts of the uncertain", left_usd)
        if balance is not None and settings.budget_usd is not None:
            yield self._gauge("judge_budget_usd", "the most that may be spent in a period", settings.budget_usd)
            yield self._gauge("judge_budget_spent_usd", "cost of answers in this period", balance.spent / 1e9)
            yield self._gauge("judge_budget_reserved_usd", "the most that requests in flight may cost", balance.reserved / 1e9)
            yield self._gauge("judge_budget_uncertain_usd", "the most that requests without an answer may have cost in this period", balance.uncertain / 1e9)
            share = settings.budget_usd * settings.budget_uncertain_share
            yield self._gauge("judge_budget_uncertain_max_usd", "how much of the uncertain counts as spent", share)

    def _counter(self, name: str, text: str, value: float, *labels: tuple[str, str]) -> Reading:
        return Reading(name, "counter", text, value, (self._model, *labels))

    def _gauge(self, name: str, text: str, value: float) -> Reading:
        return Reading(name, "gauge", text, value, (self._model,))

    def _histogram(self, name: str, text: str, seen: Histogram, *labels: tuple[str, str]) -> Reading:
        return Reading(name, "histogram", text, seen.sum, (self._model, *labels), seen.buckets())
