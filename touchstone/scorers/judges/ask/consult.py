"""Asks a judge for a suite, and turns every outcome into data for its results: an answer, or the reason why there is none. Imports no client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from touchstone.schemas.result import Failure, Finding, Label, Scorecard
from touchstone.scorers.base import Shed, Unavailable
from touchstone.scorers.judges.ask.judge import Answer, Judge, NoAnswer, OnBudget, OverBudget, Prompt, Unanswered, Usage, VerdictT
from touchstone.scorers.reporting.findings import LABEL_BOUND

#: The code with which a worker waits for the next period of its budget.
OUT_OF_BUDGET: Final = "judge_budget"
NOTHING_SPENT: Final = Usage()


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A case without a verdict. `reason`: a stable code. `why`: the same for people. `failure`: set if it is a failure. `usage`: what was spent nevertheless.

    `wait`: raised if the case can be asked about later, so that a worker waits or sheds it. `was_asked`: True if the judge was asked in vain.
    """

    reason: str
    why: str
    failure: Failure | None = None
    usage: Usage = NOTHING_SPENT
    wait: Unavailable | Shed | None = None
    was_asked: bool = False


async def consult(
    judge: Judge | None, prompt: Prompt, fields: Mapping[str, str], verdict: type[VerdictT], *, component: str, on_budget: OnBudget
) -> Answer[VerdictT] | Unjudged:
    """The judge's answer, or why there is none. Raises none of the judge's exceptions. `component`: named in the failure."""
    if judge is None:
        return Unjudged("no_judge", "no judge is configured: there is no key for it")
    try:
        return await judge.ask(prompt, fields, verdict)
    except Unanswered as error:
        failure = Failure(component=component, kind="judge", code=error.code)
        return Unjudged("unanswered", f"the judge gave no verdict ({error.code})", failure, error.usage, was_asked=True)
    except OverBudget as error:
        wait = Shed("budget", error.resets_in_s) if on_budget == "shed" else Unavailable(OUT_OF_BUDGET)
        return Unjudged("shed", "the judge's budget is spent", Failure(component=component, kind="shed", code="budget"), error.usage, wait, error.was_asked)
    except Unavailable as error:
        failure = Failure(component=component, kind="unavailable", code=error.code)
        usage = error.usage if isinstance(error, NoAnswer) else NOTHING_SPENT
        return Unjudged("unavailable", "the judge does not answer", failure, usage, error, was_asked=True)


def incomplete(component: str) -> Failure:
    """The failure of a judge that left out a part of what it was asked."""
    return Failure(component=component, kind="judge", code="incomplete")


def why_bound(judged: Answer[Any] | Unjudged, left_out: Failure | None = None) -> str:
    """Completes "because …" if the judge was asked in vain; else empty. `left_out`: the failure of an answer that is no whole verdict."""
    if isinstance(judged, Unjudged):
        left_out = judged.failure if judged.was_asked else None
    return "" if left_out is None else f"the judge was asked and gave no verdict ({left_out.code})"


def bounded(label: Label, middle: Label, why: str) -> tuple[Label, tuple[Finding, ...]]:
    """The label, `middle` in place of Pass if `why` says that the judge was asked in vain, and the finding that explains it.

    Otherwise a text that makes the judge fail would beat a bad verdict.
    """
    if not why or label != "Pass":
        return label, ()
    return middle, (Finding(severity="info", code=LABEL_BOUND, path="label", message=f"the label is {middle} and not {label}, because {why}"),)


def settled(judged: Answer[Any] | Unjudged, card: Scorecard) -> Scorecard:
    """The scorecard. If the case can be asked about later, raises the exception that says so, with the card for callers that cannot wait."""
    if isinstance(judged, Unjudged) and judged.wait is not None:
        judged.wait.card = card
        raise judged.wait from None
    return card


def judge_details(judged: Answer[Any] | Unjudged, left_out: Failure | None = None) -> dict[str, Any]:
    """The entry `judge` of a result's details: state, requests, tokens and dollars. `JudgeTally` adds them up. `left_out`: as of `why_bound`."""
    state = judged.reason if isinstance(judged, Unjudged) else "answered" if left_out is None else "incomplete"
    usage = judged.usage
    cached = {} if isinstance(judged, Unjudged) else {"cached": judged.cached}
    return {
        "state": state,
        "tokens_in": usage.tokens_in,
        "tokens_out": usage.tokens_out,
        "cost_usd": usage.cost_usd,
        "calls": usage.calls,
        "calls_wasted": usage.wasted,
        **({"uncertain_usd": usage.uncertain_usd} if usage.uncertain_usd else {}),
        **cached,
    }


def withheld(text: str) -> str:
    """A hash that stands for a text that may not be quoted, such as `withheld:9a3c…`; empty for an empty text."""
    return "withheld:" + blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest() if text else ""
