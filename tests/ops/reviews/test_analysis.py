from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from touchstone.ops.reviews.cycles import count_cycle, first_cycle, read_cycles
from touchstone.ops.reviews.error_report import error_view
from touchstone.schemas.annotation import AnnotationRecord
from touchstone.schemas.counting import current
from touchstone.scorers.base import ConfigError
from touchstone.scorers.calibration.failure_analysis import agreed_failures, analysed
from touchstone.scorers.calibration.failure_coding import Categories, Category, Who, assigned, coded, split

NOW = datetime(2026, 2, 4, tzinfo=UTC)


def said(trace: str, verdict: str | None = "fail", mode: str | None = None, reviewer: str = "r1", review_pass: int = 1, **more: Any) -> AnnotationRecord:
    told = {"traceId": trace, "verdict": verdict, "failureMode": mode, "reviewer": reviewer, "timestamp": "2026-01-02T03:04:05Z", "reviewPass": review_pass}
    return AnnotationRecord.model_validate({**told, **more})


def shares(records: list[AnnotationRecord]) -> dict[str, tuple[int, int] | None]:
    return {one.name: (one.rate.count, one.rate.total) if one.rate else None for one in analysed(records).kinds}


def test_shares_are_of_the_cases_that_a_queue_drew_at_random_where_there_are_any() -> None:
    chosen = [said(f"c{place}", mode="labs", arm="chosen") for place in range(8)]
    at_random = [said("r0", mode="labs", arm="random"), said("r1", mode="dates", arm="random"), *(said(f"r{n}", "pass", arm="random") for n in range(2, 10))]
    outside = [said("o1", mode="labs")]
    found = analysed([*chosen, *at_random, *outside])
    assert (found.base, found.base_total) == ("random", 10)
    assert shares([*chosen, *at_random, *outside]) == {"labs": (1, 10), "dates": (1, 10)}
    assert found.kinds[0].traces[:2] == ("c0", "c1")
    assert len(found.kinds[0].traces) == 10


def test_without_a_random_arm_chosen_cases_count_in_no_share() -> None:
    records = [said("c", mode="labs", arm="chosen"), said("o", mode="labs"), said("p", "pass")]
    assert (analysed(records).base, shares(records)) == ("outside", {"labs": (1, 2)})
    assert (analysed(records[:1]).base, shares(records[:1])) == ("none", {"labs": None})
    assert analysed(records[1:]).base == "all"


def test_a_case_that_chance_drew_counts_although_a_filter_chose_it_too() -> None:
    records = [said("a", mode="labs", arm="chosen"), said("a", mode="labs", reviewer="r2", arm="random")]
    assert shares(records) == {"labs": (1, 1)}


@pytest.mark.parametrize(
    ("records", "told"),
    [
        ([said("a", arm="random"), said("b", arm="chosen")], "of the 1 trace that queues drew at random"),
        ([said("a"), said("b", arm="chosen")], "of the 1 trace of no queue's filter"),
        ([said("b", arm="chosen")], "no shares: a filter chose every reviewed trace"),
        ([said("a")], "of the 1 trace with a verdict"),
    ],
)
def test_the_report_says_what_its_shares_are_of(records: list[AnnotationRecord], told: str) -> None:
    view = error_view(records, Categories(), NOW, "here")
    assert told in view.facts[1]


def test_a_settled_verdict_decides_over_the_reviewers() -> None:
    records = [said("a", mode="labs"), said("a", "pass", reviewer="r2"), said("b", mode="labs"), said("b", "pass", reviewer="r2")]
    assert (analysed(records).disagreed, list(agreed_failures(analysed(records), records))) == (2, [])
    settled = [*records, said("a", mode="dates", reviewer="lead", settled=True), said("b", "pass", reviewer="lead", settled=True)]
    found = analysed(settled)
    assert (found.disagreed, list(agreed_failures(found, settled)), shares(settled)) == (0, ["a"], {"dates": (1, 2)})


def test_withdrawn_annotations_are_not_counted() -> None:
    records = [said("a", mode="labs"), said("b", "pass"), said("a", None, withdrawn=True)]
    assert (analysed(records).reviewed, analysed(records).kinds) == (("b",), ())


def test_the_report_has_what_each_kind_is_the_passes_and_the_cycles(tmp_path: Path) -> None:
    records = [said("a", notes="Zyxwv"), said("b", "pass")]
    file = Categories(categories=(Category(name="labs", kind="specification", description="A condition has no key lab"),))
    records += assigned(records, [Who("a", "r1")], "labs", NOW)
    count_cycle(tmp_path / "cycles.jsonl", first_cycle(NOW, 2, 2, 1, {"labs": 1}, (Path("cases.json"), 1, 1)))
    view = error_view(records, file, NOW, "here", read_cycles(tmp_path / "cycles.jsonl"))
    tables = {one.title: [list(row) for row in one.rows] for one in view.tables}
    assert tables["What they are"] == [["labs", "A condition has no key lab", "mend the prompt; build no judge"]]
    assert tables["Review passes"] == [["1", "2", "2", "0", "0"], ["2", "1", "1", "1", "1"]]
    assert tables["Cycles"] == [["1", "2026-02-04", "2", "2", "1", "1", "1", "1"]]
    assert "Zyxwv" not in repr(view)


def test_splitting_moves_some_traces_of_a_category_and_no_other() -> None:
    records = [said("a", mode="labs"), said("b", mode="labs"), said("c", mode="dates")]
    added = split(records, "labs", "no_hba1c", ["b"], NOW)
    assert [(one.trace_id, one.failure_mode, one.review_pass) for one in added] == [("b", "no_hba1c", 2)]
    with pytest.raises(ConfigError, match="not in the category labs: 'c';"):
        split(records, "labs", "x", ["a", "c"], NOW)


def test_an_annotation_is_put_into_a_category_and_out_of_it_again() -> None:
    records = [said("a"), said("b", "pass")]
    records += assigned(records, [Who("a", "r1"), Who("a", "r1")], "labs", NOW)
    assert [one.failure_mode for one in current(records)] == ["labs", None]
    assert assigned(records, [Who("a", "r1")], "labs", NOW) == []
    records += assigned(records, [Who("a", "r1")], None, NOW)
    assert [(one.failure_mode, one.review_pass) for one in current(records)] == [(None, 3), (None, 1)]
    with pytest.raises(ConfigError, match="no failures here"):
        assigned(records, [Who("b", "r1")], "labs", NOW)


def test_only_accepted_categories_of_a_proposal_are_coded() -> None:
    records = [said("a"), said("b")]
    members = [[{"traceId": name, "reviewer": "r1"}] for name in ("a", "b")]
    file = Categories.model_validate({"categories": [{"name": "x", "annotations": members[0]}, {"name": "y", "annotations": members[1]}]})
    assert [one.trace_id for one in coded(records, file, NOW, ["y"])] == ["b"]
    with pytest.raises(ConfigError, match="the file has no category z; it has x, y"):
        coded(records, file, NOW, ["z"])


def test_the_same_again_is_no_cycle(tmp_path: Path) -> None:
    path = tmp_path / "made" / "cycles.jsonl"
    first = first_cycle(NOW, 2, 10, 3, {"labs": 3}, (Path("cases.json"), 3, 3))
    again = first_cycle(NOW, 2, 10, 3, {"labs": 3}, (Path("cases.json"), 3, 0))
    later = first_cycle(NOW, 3, 20, 3, {"labs": 3}, (Path("cases.json"), 3, 0))
    assert [one and one.cycle for one in (count_cycle(path, made) for made in (first, again, later))] == [1, None, 2]
    assert [one.cycle for one in read_cycles(path)] == [1, 2]
    path.write_text("{}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"cycles.jsonl, line 1"):
        read_cycles(path)


def test_a_coding_without_a_suite_means_the_failures_of_a_reviewer_and_one_with_a_suite_that_one() -> None:
    records = [said("a", suite="one"), said("a", suite="two"), said("a", "pass", reviewer="r2")]
    both = assigned(records, [Who("a", "r1")], "labs", NOW)
    assert [(one.suite, one.failure_mode) for one in both] == [("one", "labs"), ("two", "labs")]
    assert [one.suite for one in assigned(records, [Who("a", "r1", "two")], "labs", NOW)] == ["two"]
    with pytest.raises(ConfigError, match="no failures here"):
        assigned(records, [Who("a", "r1", "three")], "labs", NOW)
