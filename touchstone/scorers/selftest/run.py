"""One run of a self-test: for each scenario a request, the system's answer, the judge's verdict, and the replies where it asks back."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from touchstone.schemas.reports.selftest import SelftestCase, SelftestFailure, SelftestJudge, SelftestScores, SelftestStep
from touchstone.scorers.base import Unavailable
from touchstone.scorers.judges.ask.judge import Answer, Judge, OverBudget, Prompt, Unanswered, Usage, VerdictT
from touchstone.scorers.reporting.words import counted
from touchstone.scorers.selftest.checks import check, check_format_score
from touchstone.scorers.selftest.generator import NoRequest, Request
from touchstone.scorers.selftest.rubric import WEIGHTS, Rating, RubricVerdict
from touchstone.scorers.selftest.settings import AWAITING, Scenario, SelftestSettings
from touchstone.scorers.selftest.system import Names, Outcome, SystemFault, SystemUnderTest, Task

#: The status of a case that never reached the system.
NOT_RUN: Final = "NOT_RUN"
_FAULTS: Final = {
    "timeout": "the system did not end in time",
    "unreachable": "the system cannot be reached",
    "refused": "the system answered with an error",
    "failed": "the function raised",
    "unreadable": "what the system sent cannot be read",
    "too_large": "the system sent too much",
}
_UNANSWERED: Final = {
    "refused": "the model refused to answer",
    "truncated": "the answer was cut off; raise max_tokens",
    "no_json": "the answer holds no JSON",
    "wrong_form": "the answer has a category missing or outside 0 to 1",
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
    """A run. `write` gives a scenario's request: from a generator, or from an earlier run. `cases` and `stopped`: the state so far."""

    settings: SelftestSettings
    scenarios: Sequence[Scenario]
    names: Names
    system: SystemUnderTest
    judge: Judge
    rubric: Prompt
    write: Callable[[Scenario], Awaitable[Request]]
    cases: list[SelftestCase] = field(default_factory=list)
    stopped: str | None = None

    async def run(self, on_case: Callable[[SelftestCase], None] = lambda _: None) -> None:
        """Run all scenarios one after another. Ends early, and sets `stopped`, if no model answers or the budget is spent."""
        for number, scenario in enumerate(self.scenarios, 1):
            case = await self._case(scenario, self.names.session(number))
            self.cases.append(case)
            on_case(case)
            if self.stopped is not None:
                return

    async def _case(self, scenario: Scenario, session_id: str) -> SelftestCase:
        """One scenario; failures become its case."""
        try:
            request = await self.write(scenario)
        except NoRequest as error:
            rules = ", ".join(dict.fromkeys(error.refused))
            told = f"no request that may be sent in {counted(len(error.refused), 'attempt')} ({rules})"
            failure = SelftestFailure(kind="generator", code=error.code, message=told)
            return _reported(scenario, Request("", "", error.refused, len(error.refused)), session_id, [], failure)
        except (Unavailable, OverBudget) as error:
            return _reported(scenario, Request("", ""), session_id, [], self._stop("generator", error))
        steps: list[SelftestStep] = []
        task = Task(session_id, self.names.run_id, request.prompt)
        left_s = self.settings.timeout_seconds
        expected, sent, outcome = scenario.expected_status, request.prompt, None
        said: list[str] = []
        for reply in (None, *scenario.reply_flow):
            if reply is not None:
                # A reply is only sent to a system that waits for it, and after a verdict.
                if outcome is None or outcome.status != AWAITING or self.stopped is not None:
                    break
                said += [f"[the system, {outcome.status}]\n{outcome.output}", f"[the user]\n{reply.reply}"]
                expected, sent = reply.expected_status, reply.reply
            began = time.perf_counter()
            try:
                outcome = await (self.system.ask(task, left_s) if outcome is None else self.system.reply(task, outcome, sent, left_s))
            except SystemFault as error:
                steps.append(_faulty(sent, expected, error, _ms_since(began)))
                break
            duration_ms = _ms_since(began)
            left_s = max(0.001, left_s - duration_ms / 1000)
            steps.append(await self._judged(request, "\n\n".join(said), sent, expected, outcome, duration_ms))
        return _reported(scenario, request, session_id, steps)

    async def _judged(self, request: Request, said: str, sent: str, expected: str, outcome: Outcome, duration_ms: int) -> SelftestStep:
        is_match = outcome.status == expected
        fields = {
            "original_prompt": request.prompt,
            "conversation": said or "none",
            "system_output": outcome.output,
            "generator_hints": request.hints,
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
            sent=sent,
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


def _reported(
    scenario: Scenario,
    request: Request,
    session_id: str,
    steps: Sequence[SelftestStep],
    failure: SelftestFailure | None = None,
) -> SelftestCase:
    """A case's entry: the last step's status, the weakest step's scores, the first failure."""
    last = steps[-1] if steps else None
    scored = [step.scores for step in steps if step.scores is not None]
    weakest = min(scored, key=lambda scores: scores.overall_score) if scored else None
    return SelftestCase(
        id=scenario.id,
        prompt=request.prompt,
        output=last.output if last else "",
        expected_status=last.expected_status if last else scenario.expected_status,
        actual_status=last.actual_status if last else NOT_RUN,
        scores=weakest,
        # A status mismatch may end a reply flow early; it has failed its step already.
        pass_=bool(steps) and all(step.pass_ for step in steps),
        duration_ms=sum(step.duration_ms for step in steps),
        description=scenario.description,
        hints=request.hints,
        session_id=session_id,
        generator_attempts=request.attempts,
        generator_refused=request.refused,
        failure=failure or next((step.failure for step in steps if step.failure is not None), None),
        findings=tuple(finding for step in steps for finding in step.findings),
        steps=tuple(steps),
    )


def _faulty(sent: str, expected: str, error: SystemFault, duration_ms: int) -> SelftestStep:
    """A step without an answer from the system: nothing was judged, so there are no scores."""
    told = _FAULTS[error.code] + (f" ({error.detail})" if error.detail else "")
    failure = SelftestFailure(kind="system", code=f"system_{error.code}", message=told)
    return SelftestStep(
        sent=sent,
        output="",
        expected_status=expected,
        actual_status=error.code.upper(),
        scores=None,
        pass_=False,
        duration_ms=duration_ms,
        failure=failure,
        findings=(),
        judge=None,
    )


def _ms_since(began: float) -> int:
    return round((time.perf_counter() - began) * 1000)
