import pytest

from tests.scorers.clinical.judging.judges import TRACE, FakeJudge, request, scorer
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.clinical.requests.judge_selection import SAMPLED, stopped
from touchstone.scorers.clinical.settings import JudgeRequestSettings
from touchstone.scorers.judges.ask.sampling import is_sampled

EVERY = JudgeRequestSettings()


@pytest.mark.parametrize(
    ("label", "label_max", "values", "stop_at", "reason"),
    [
        ("Pass", "Pass", {"format": 95.0}, "fail", None),
        ("Warn", "Warn", {"format": 70.0}, "fail", None),
        ("Fail", "Pass", {"format": 50.0}, "fail", "fail"),
        ("Fail", "Pass", {"format": 50.0}, "unreadable", None),
        ("Fail", "Fail", {"format": 90.0}, "unreadable", "unreadable"),
        ("Fail", "Fail", {}, "fail", "unreadable"),
        ("unscored", "Pass", {}, "unreadable", "not_validated"),
        ("Fail", "Fail", {}, "nothing", None),
        ("unscored", "Pass", {}, "nothing", None),
    ],
)
def test_a_trace_is_let_through_or_stopped(label: str, label_max: str, values: dict[str, float], stop_at: str, reason: str | None) -> None:
    settings = JudgeRequestSettings.model_validate({"stop_at": stop_at})
    assert stopped(request(label, label_max, **values).validated, "e1", settings) == reason


@pytest.mark.parametrize(("stop_at", "reason"), [("fail", None), ("invalid", "invalid")])
def test_an_invalid_document_stops_a_trace_only_where_the_settings_say_so(stop_at: str, reason: str | None) -> None:
    validated = request("Warn", "Warn", format=90.0).validated.model_copy(update={"valid": False})
    assert stopped(validated, "e1", JudgeRequestSettings.model_validate({"stop_at": stop_at})) == reason


def test_the_sample_is_always_the_same_and_has_about_its_share() -> None:
    ids = [f"event-{number}" for number in range(4_000)]
    chosen = {name for name in ids if is_sampled(SAMPLED, name, 0.25)}
    assert chosen == {name for name in reversed(ids) if is_sampled(SAMPLED, name, 0.25)}
    assert 0.22 < len(chosen) / len(ids) < 0.28


def test_a_larger_sample_holds_the_smaller_one() -> None:
    ids = [f"event-{number}" for number in range(500)]
    assert {name for name in ids if is_sampled(SAMPLED, name, 0.1)} < {name for name in ids if is_sampled(SAMPLED, name, 0.5)}


@pytest.mark.parametrize(("rate", "sampled"), [(0.0, False), (1.0, True)])
def test_a_share_of_none_and_of_all_are_exact(rate: float, sampled: bool) -> None:
    assert {is_sampled(SAMPLED, f"event-{number}", rate) for number in range(200)} == {sampled}


async def test_a_trace_that_cannot_be_read_is_not_shown_to_the_judge() -> None:
    judge = FakeJudge()
    card = await scorer(judge).score(ProductionTrace.model_validate(TRACE | {"outputs": {"fhir": {"content": '{"resourceType": "Patient", '}}}))
    assert judge.asked == []
    assert (card.label, card.details["judge"]["state"], card.failures) == ("Fail", "unreadable", ())
    assert "clinical" in card.components_missing


async def test_a_trace_outside_the_sample_has_the_validators_scores_alone() -> None:
    judge = FakeJudge()
    card = await scorer(judge, validators={"judge": {"sample_rate": 0}}).score(ProductionTrace.model_validate(TRACE))
    assert judge.asked == []
    assert card.values["overall"] == card.values["format"]
    assert card.details["judge"]["state"] == "not_sampled"
    assert card.not_checked[0].check == "clinical"
