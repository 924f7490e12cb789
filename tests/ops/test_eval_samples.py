import json
from pathlib import Path

from tests.ops.commands import Commands
from touchstone.scorers.clinical.invented import sample_traces


def test_traces_reviews_and_plan_are_written(commands: Commands) -> None:
    ran = commands("eval", "sample-traces", "--count", 20, "--seed", 5, "--plan", "plan.json", "--reviews", "reviews.json")
    assert ran.code == 0
    wanted = sample_traces(20, 5)
    files = sorted(Path("eval-results/traces").iterdir())
    assert [json.loads(one.read_text("utf-8")) for one in files] == [one.trace for one in wanted]
    plan = json.loads(Path("plan.json").read_text("utf-8"))
    assert plan["planted"] == {one.trace["traceId"]: one.planted for one in wanted}
    assert sum(plan["counts"].values()) == len([one for one in wanted if one.planted is not None])
    assert len([one for one in json.loads(Path("reviews.json").read_text("utf-8")) if "settled" not in one]) == 40
    assert not [one for one in files if "planted" in one.read_text("utf-8")]


def test_a_kind_that_there_is_not_is_one_clear_line(commands: Commands) -> None:
    ran = commands("eval", "sample-traces", "--mended", "bad_mood")
    assert ran.code == 3
    assert ran.one_line.startswith("touchstone: --mended: no kind of failure is called bad_mood; there are missing_encounter, ")
    assert not Path("eval-results").exists()
