"""One run of a self-test: for each scenario a request, the system's answer, the judge's verdict, and the replies where it asks back."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from touchstone.schemas.reports.selftest import SelftestCase, SelftestFailure, SelftestJudge, SelftestScores, SelftestStep
from touchstone.scorers.base import Unavailable
from touchstone.scorers.judges.ask.judge import Answer, Judge, OverBudget, Prompt, Unanswered, Usage, VerdictT
from touchstone.scorers.reporting.words import counted
from touchstone.scorers.selftest.cases import Turn, faulty, reported, turns_of
from touchstone.scorers.selftest.checks import check, check_format_score
from touchstone.scorers.selftest.generator import NoRequest, Request
from touchstone.scorers.selftest.rubric import WEIGHTS, Rating, RubricVerdict
from touchstone.scorers.selftest.settings import Scenario, SelftestSettings
from touchstone.scorers.selftest.system import Names, Outcome, SystemFault, SystemUnderTest, Task
from touchstone.scorers.selftest.system_settings import AWAITING

_UNANSWERED: Final = {
    "refused": "the model refused to answer",
    "truncated": "the answer was cut off; raise max_tokens",
    "no_json": "the answer holds no JSON",
    "wrong_form": "the answer is more than the verdict, or has a category missing or outside 0 to 1",
    "too_long": "the case is too long for the model",
    "rejected": "the server rejected the request",
}
#: Faults that only the user can fix.
_UNAVAILABLE: Final = {
    "judge_key": "is behind a server that refused the key; set TOUCHSTONE_JUDGE_API_KEY to a valid one",
    "judge_forbidden": "may not be used with this key; change its name in the file, or the key's rights",
    "judge_not_found": "is not known to the server; check its name in the file, and TOUCHSTONE_JUDGE_BASE_URL",
    "judge_temperature": "takes no such temperature; write temperature: null in the file",
    "judge_seed": "takes no seed; leave --seed and TOUCHSTONE_JUDGE_SEED out",
}


class Metered:
    """A judge that adds up what its answers cost, for one run."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.cost_usd = 0.0

    async def ask(self, prompt: Prompt, fields: Mapping[str, str], verdict: type[VerdictT]) -> Answer[VerdictT]:
        """Ask the judge, and add up the cost."""
        try:
            answer = await self._judge.ask(prompt, fields, verdict)
        except Unanswered as error:
            self._add(error.usage)
            raise
        self._add(answer.usage)
        return answer

    def _add(self, usage: Usage) -> None:
        self.cost_usd += usage.cost_usd

    def readings(self) -> tuple[()]:
        """None: a self-test has no metrics."""
        return ()

    async def close(self) -> None:
        """Close the judge."""
        await self._judge.close()


@dataclass(slots=True)
class Selftest:
    """A run. `write` gives a scenario's request: from a generator, or from an earlier run. `done` (number → case) and `stopped`: the state so far."""

    settings: SelftestSettings
    scenarios: Sequence[Scenario]
    names: Names
    system: SystemUnderTest
    judge: Judge
    rubric: Prompt
    write: Callable[[Scenario], Awaitable[Request]]
    done: dict[int, SelftestCase] = field(default_factory=dict)
    stopped: str | None = None
    _requests: dict[str, asyncio.Future[Request]] = field(default_factory=dict)

    @property
    def planned(self) -> int:
        """How many cases the whole run has."""
        return len(self.scenarios) * self.settings.repeat

    @property
    def cases(self) -> list[SelftestCase]:
        """The cases so far, in the order of the scenarios."""
        return [self.done[number] for number in sorted(self.done)]

    async def run(self, on_case: Callable[[SelftestCase], None] = lambda _: None) -> None:
        """Run all scenarios, `concurrency` cases at a time. Begins no further case, and sets `stopped`, if no model answers or the budget is spent."""
        waiting = iter([(scenario, repeat) for scenario in self.scenarios for repeat in range(1, self.settings.repeat + 1)])
        numbered = enumerate(waiting, 1)

        async def work() -> None:
            for number, (scenario, repeat) in numbered:
                case = await self._case(scenario, self.names.session(number), repeat)
                self.done[number] = case
                on_case(case)
                if self.stopped is not None:
                    return

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.settings.concurrency, self.planned)):
                    group.create_task(work())
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None

    async def _request(self, scenario: Scenario) -> Request:
        """A scenario's request, the same for every repeat."""
        if scenario.id not in self._requests:
            self._requests[scenario.id] = asyncio.ensure_future(self.write(scenario))
        return await self._requests[scenario.id]

    async def _case(self, scenario: Scenario, session_id: str, repeat: int) -> SelftestCase:
        """One scenario; failures become its case."""
        case = await self._case_of(scenario, session_id)
        return case.model_copy(update={"repeat": repeat})

    async def _case_of(self, scenario: Scenario, session_id: str) -> SelftestCase:
        try:
            request = await self._request(scenario)
        except NoRequest as error:
            rules = ", ".join(dict.fromkeys(error.refused))
            told = f"no request that may be sent in {counted(len(error.refused), 'attempt')} ({rules})"
            failure = SelftestFailure(kind="generator", code=error.code, message=told)
            return reported(scenario, Request("", "", error.refused, len(error.refused)), session_id, [], failure)
        except (Unavailable, OverBudget) as error:
            return reported(scenario, Request("", ""), session_id, [], self._stop("generator", error))
        steps: list[SelftestStep] = []
        task = Task(session_id, self.names.run_id, request.prompt)
        left_s = self.settings.timeout_seconds
        outcome: Outcome | None = None
        said: list[str] = []
        for turn in turns_of(scenario, request):
            sent, expected = turn.sent, turn.expected_status
            if outcome is not None:
                if self.stopped is not None:
                    break
                if turn.is_reply and outcome.status != AWAITING:
                    continue  # nothing waits for it, and the step before it has failed
                # A turn a line, as JSON, so that no output can pose as the user.
                said += [_line(system=outcome.output, status=outcome.status), _line(user=sent)]
            began = time.perf_counter()
            try:
                outcome = await (self.system.ask(task, left_s) if outcome is None else self.system.reply(task, outcome, sent, left_s))
            except SystemFault as error:
                steps.append(faulty(sent, expected, error, _ms_since(began)))
                break
            duration_ms = _ms_since(began)
            left_s = max(0.001, left_s - duration_ms / 1000)
            steps.append(await self._judged(request, "\n".join(said), turn, outcome, duration_ms))
        return reported(scenario, request, session_id, steps)

    async def _judged(self, request: Request, said: str, turn: Turn, outcome: Outcome, duration_ms: int) -> SelftestStep:
        expected = turn.expected_status
        is_match = outcome.status == expected
        fields = {
            "original_prompt": request.prompt,
            "conversation": said or "none",
            "system_output": outcome.output,
            "generator_hints": turn.hints,
            "expected_status": expected,
            "actual_status": outcome.status,
            "status_match": "true" if is_match else "false",
        }
        findings = check(self.settings, request.prompt if not said else "", outcome.output, outcome.status)
        failure = None
        if not is_match:
            failure = SelftestFailure(kind="system", code="status_mismatch", message=f"ended with {outcome.status}, not {expected}")
        scores = judge = None
        passed = False
        try:
            answer = await self.judge.ask(self.rubric, fields, RubricVerdict)
        except Unanswered as error:
            unanswered = SelftestFailure(kind="judge", code=f"judge_{error.code}", message=f"no verdict: {_UNANSWERED.get(error.code, error.code)}")
            failure = failure or unanswered
        except (Unavailable, OverBudget) as error:
            unavailable = self._stop("judge", error)
            failure = failure or unavailable
        else:
            verdict, rating = answer.verdict, Rating.of(answer.verdict)
            scores = SelftestScores(**{name: getattr(rating, name) for name in WEIGHTS}, overall_score=rating.overall)
            said_pass, said_overall = verdict.pass_, verdict.overall_score
            judge = SelftestJudge(model=answer.model, overall_score=said_overall, pass_=said_pass, reasoning=verdict.reasoning, cached=answer.cached)
            findings += check_format_score(self.settings, rating.format_score)
            passed = is_match and rating.reaches(self.settings.effective_threshold)
        return SelftestStep(
            sent=turn.sent,
            output=outcome.output,
            expected_status=expected,
            actual_status=outcome.status,
            scores=scores,
            pass_=passed,
            duration_ms=duration_ms,
            failure=failure,
            findings=findings,
            judge=judge,
        )

    def _stop(self, who: str, error: Unavailable | OverBudget) -> SelftestFailure:
        """Note that the run cannot go on, and why."""
        if isinstance(error, OverBudget):
            when = "" if error.resets_in_s is None else f"; the next period begins in {error.resets_in_s:.0f} s"
            code, told = "over_budget", f"the judge's budget is spent{when}"
        else:
            code, told = "unavailable", f"the {who}'s model {_UNAVAILABLE.get(error.code, 'does not answer')} ({error.code})"
        self.stopped = told
        return SelftestFailure(kind=who, code=f"{who}_{code}", message=told)


def _line(**said: str) -> str:
    return json.dumps(said, ensure_ascii=False)


def _ms_since(began: float) -> int:
    return round((time.perf_counter() - began) * 1000)
