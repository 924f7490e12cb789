from dataclasses import replace

import pytest

from touchstone.ops.lab.bench.judge.cascade import PRICE_USD, Outcome, outcome, rows, suites
from touchstone.scorers.judges.ask.message import render
from touchstone.scorers.registry import load_suite, suite_entry_points
from touchstone.scorers.suite import Suite
from touchstone.scorers.summary.judge_prompt import prompt
from touchstone.scorers.summary.judging.careful_answer import careful_answer, texts
from touchstone.scorers.summary.judging.verdicts import StatementVerdicts
from touchstone.scorers.summary.sentences import split

JUDGED = [suite for suite in map(load_suite, sorted(suite_entry_points())) if suite.judged is not None]


def judged_suite(name: str) -> Suite:
    return next(suite for suite in JUDGED if suite.name == name)


def test_every_suite_that_says_that_it_asks_a_judge_takes_part() -> None:
    assert [suite.name for suite, _, _ in suites()] == [suite.name for suite in JUDGED]


@pytest.mark.parametrize("suite", JUDGED, ids=lambda suite: suite.name)
def test_a_suite_asks_with_the_variables_that_it_names_and_a_server(suite: Suite) -> None:
    assert suite.judged is not None
    env = {**suite.judged.samples().env, "TOUCHSTONE_JUDGE_BASE_URL": "http://127.0.0.1:9/v1", **suite.judged.env}
    assert suite.asks_judge(suite.resolve(env, None))
    assert suite.execution_with(suite.resolve(env, None)) == "window"
    assert suite.asks_judge(suite.resolve({**env, **suite.judged.env_of_all}, None))


async def test_without_the_cascade_every_sample_is_judged() -> None:
    suite = judged_suite("clinical_judge")
    assert suite.judged is not None
    cascade = await outcome(suite, suite.judged, whole=False)
    whole = await outcome(suite, suite.judged, whole=True)
    assert cascade.labels.keys() == whole.labels.keys()
    assert cascade.tally.states == {"answered": 4, "unreadable": 1}
    assert whole.tally.states == {"answered": 5}
    spent = whole.tally.spent
    assert whole.tally.cost_usd == pytest.approx((spent["tokens_in"] * PRICE_USD[0] + spent["tokens_out"] * PRICE_USD[1]) / 1e6)


async def test_the_script_has_an_answer_to_every_sample_of_follow_up_questions() -> None:
    suite = judged_suite("safe_v0")
    assert suite.judged is not None
    assert (await outcome(suite, suite.judged, whole=True)).tally.states == {"answered": 44}


def test_labels_that_differ_are_counted_with_what_they_became() -> None:
    cascade, whole = Outcome(labels={"a": "Pass", "b": "Pass", "c": "Fail"}), Outcome(labels={"a": "Warn", "b": "Warn", "c": "Fail"})
    assert list(rows(JUDGED[0], cascade, whole))[1][-1] == "2 of 3 (Pass → Warn: 2)"


def test_a_person_has_read_every_sample_of_the_summaries() -> None:
    for name, text in texts():
        sentences = [" ".join(text[span.start : span.end].split()) for span in split(text)]
        shown = "\n".join(f"S{number}: {sentence}" for number, sentence in enumerate(sentences, 1))
        asked = ", ".join(f"S{number}" for number in range(1, len(sentences) + 1)) + ", F1, F10"
        user = render(prompt(), {"facts": "", "narrative": "", "source": "", "summary": shown, "asked": asked}).user
        answer = StatementVerdicts.model_validate(careful_answer(user))
        assert len(answer.statements) == len(sentences) + 2, name


def test_a_suite_that_asks_no_judge_is_run_as_ever() -> None:
    suite = replace(JUDGED[0], judged=None, execution="inline", window_cases=None)
    assert (suite.execution_with(None), suite.window_with(None), suite.asks_judge(None)) == ("inline", None, False)
