"""The cases of a run: what is sent in each turn, and what the report has of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from touchstone.schemas.reports.selftest import SelftestCase, SelftestFailure, SelftestStep
from touchstone.scorers.selftest.generator import Request
from touchstone.scorers.selftest.settings import Scenario
from touchstone.scorers.selftest.system import SystemFault

#: The status of a case that never reached the system.
NOT_RUN: Final = "NOT_RUN"
_FAULTS: Final = {
    "timeout": "the system did not end in time",
    "unreachable": "the system cannot be reached",
    "broken": "the connection ended before the answer did",
    "refused": "the system answered with an error",
    "failed": "the function raised, or the program ended with an error",
    "unreadable": "what the system sent cannot be read",
    "too_large": "the system sent too much",
}


@dataclass(frozen=True, slots=True)
class Turn:
    """What is sent in one turn. `is_reply`: only to a system that waits for it."""

    sent: str
    expected_status: str
    hints: str
    is_reply: bool = False


def turns_of(scenario: Scenario, request: Request) -> Iterator[Turn]:
    """The request, the replies and the follow-ups of a scenario."""
    yield Turn(request.prompt, scenario.expected_status, request.hints)
    for reply in scenario.reply_flow:
        yield Turn(reply.reply, reply.expected_status, request.hints, is_reply=True)
    for later in scenario.follow_ups:
        yield Turn(later.prompt, later.expected_status, later.hints or request.hints)


def reported(
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


def faulty(sent: str, expected: str, error: SystemFault, duration_ms: int) -> SelftestStep:
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
