from tests.ops.loss_cases import card, hard_fail, result
from tests.scorers.summary.fakes import FACTS, case
from tests.scorers.summary.judging.judges import USAGE, TableJudge, scorer
from tests.scorers.summary.test_batch import made_of
from touchstone.schemas.result import Scorecard
from touchstone.scorers.judges.ask.judge import Unanswered
from touchstone.scorers.summary.batch import view

ALL = " ".join(FACTS)


def rows(*cards: Scorecard) -> dict[str, str]:
    """The rows of the judge's table; none where the view has no such table."""
    made = view(made_of([result(str(number), each) for number, each in enumerate(cards, 1)]))
    return {row[0]: row[1] for table in made.tables if table.title == "Judge" for row in table.rows}


async def test_the_view_says_what_the_judge_did_and_what_a_case_costs() -> None:
    judged = await scorer(TableJudge()).score(case(ALL))
    silent = await scorer(TableJudge(Unanswered("refused", USAGE))).score(case(ALL))
    failed = await scorer(TableJudge()).score(case("Fact number two holds. This summary covers facts."))
    told = rows(judged, judged, silent, failed)
    assert (told["summaries judged"], told["summaries no verdict"], told["summaries that failed hard"]) == ("2", "1", "1")
    assert (told["requests"], told["requests per 1,000 cases"], told["cost per 1,000 cases, USD"]) == ("3", "750", f"{750 * USAGE.cost_usd:.4f}")
    assert (told["facts asked"], told["sentences asked"], told["facts that the models were certain of"]) == ("15", "15", "15")
    assert told["facts of which the judge says otherwise than the models"] == "10"


async def test_without_a_judge_the_view_has_no_such_table() -> None:
    assert rows(card(0.1), hard_fail("truncated")) == {}


async def test_a_case_whose_judge_failed_keeps_its_findings_in_the_list() -> None:
    silent = await scorer(TableJudge(Unanswered("refused", USAGE))).score(case(f"{ALL} Rome fell."))
    made = view(made_of([result("1", silent)]))
    (one,) = list(made.cases)
    assert one.why.startswith("refused, unsupported, label.bound")
