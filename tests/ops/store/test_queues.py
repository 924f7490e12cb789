"""Review queues: which cases they have, who gets which next, and what follows from what is written. On SQLite and PostgreSQL."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from tests.ops.store.histories import AT, add, scored
from touchstone.ops.store.case_filter import FilterError
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.guidelines import Guidelines
from touchstone.ops.store.queue_rows import Definition, QueueCase, QueueRow
from touchstone.ops.store.queue_states import Written, standing
from touchstone.ops.store.queues import QueueExists, Queues
from touchstone.ops.store.results import ResultStore

NOW = AT + timedelta(days=1)
RESERVE_S = 600


@pytest.fixture
def filled(store: ResultStore) -> ResultStore:
    """Sixty cases of the suite `one`, every fifth of which failed, of three models; and ten of the suite `two`."""
    labels = ("Fail", "Pass", "Review", "Pass", "Pass")
    cases = [scored(f"e-{n:02}", n, suite="one", label=labels[n % 5], model=f"m-{n % 3}") for n in range(60)]
    add(store, *cases, *(scored(f"t-{n}", 60 + n, suite="two") for n in range(10)))
    return store


def made(store: ResultStore, name: str = "q", **told: Any) -> QueueRow:
    return Queues(store.engine).create(name, Definition(**{"suite": "one", **told}), NOW)


def of(store: ResultStore, name: str = "q", reviewer: str = "ann", **told: Any) -> list[QueueCase]:
    return Queues(store.engine).cases(name, reviewer, NOW, **{"state": None, "after": -1, "limit": 200, **told})


def drawn(store: ResultStore, name: str = "q") -> list[tuple[str, str]]:
    return [(one.event_id, one.arm) for one in of(store, name)]


def says(store: ResultStore, event: str, reviewer: str, verdict: str | None, queue: str = "q", **more: Any) -> None:
    CaseIndex(store.engine).annotate(event, reviewer, {"verdict": verdict, "queue": queue, **more}, NOW, expected=None)


def following(store: ResultStore, row: QueueRow, reviewer: str, seconds: float = 0, **told: Any) -> str | None:
    turn = Queues(store.engine).next(row, reviewer, NOW + timedelta(seconds=seconds), RESERVE_S, **told)
    return turn.item.event_id if turn.item is not None else None


def test_a_queue_has_all_that_its_filter_chose_and_a_random_fifth_beside_it(filled: ResultStore) -> None:
    made(filled, filter="label=Fail", random_share=0.2)
    arms = Counter(arm for _, arm in drawn(filled))
    chosen = {event for event, arm in drawn(filled) if arm == "chosen"}
    failed = {f"e-{n:02}" for n in range(0, 60, 5)}
    assert arms["random"] == 3  # a fifth of 12 + 3
    assert failed <= {event for event, _ in drawn(filled)}
    assert chosen == failed - {event for event, arm in drawn(filled) if arm == "random"}
    assert not any(event.startswith("t-") for event, _ in drawn(filled))


def test_the_same_seed_draws_the_same_cases_in_the_same_order_and_another_one_others(filled: ResultStore) -> None:
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        made(filled, name, filter="label=Pass", size=10, random_size=5, seed=seed)
    assert drawn(filled, "a") == drawn(filled, "b")
    assert drawn(filled, "a") != drawn(filled, "c")
    assert [one.place for one in of(filled, "a")] == list(range(15))


def test_results_that_come_later_do_not_change_a_queue(filled: ResultStore) -> None:
    made(filled, filter="label=Fail")
    before = drawn(filled)
    add(filled, scored("e-99", 99, suite="one", label="Fail"), scored("e-00", 98, suite="one", label="Pass", seconds=200))
    assert drawn(filled) == before


def test_what_the_filter_chooses_does_not_change_the_random_arm(filled: ResultStore) -> None:
    made(filled, "a", filter="label=Fail", random_size=12)
    made(filled, "b", filter="label=Pass&model=m-1", random_size=12)
    assert {one for one in drawn(filled, "a") if one[1] == "random"} == {one for one in drawn(filled, "b") if one[1] == "random"}


def test_the_random_arm_has_each_case_equally_often(filled: ResultStore) -> None:
    """Over 100 seeds, six of sixty: each is drawn 10 times, within five standard deviations of a fair draw."""
    found: Counter[str] = Counter()
    for seed in range(100):
        made(filled, f"q-{seed}", filter="label=Fail", size=1, random_size=6, seed=seed)
        found.update(event for event, arm in drawn(filled, f"q-{seed}") if arm == "random")
    assert len(found) == 60
    assert max(abs(count - 10) for count in found.values()) < 5 * 3


def test_a_queue_whose_filter_chooses_nothing_is_a_random_sample(filled: ResultStore) -> None:
    made(filled, size=10)
    assert Counter(arm for _, arm in drawn(filled)) == {"random": 10}


def test_a_share_is_of_those_that_fit(filled: ResultStore) -> None:
    made(filled, "half", filter="label=Pass", share=0.5, random_size=0)
    made(filled, "all", filter="label=Pass", random_size=0)
    half, whole = ({event for event, _ in drawn(filled, name)} for name in ("half", "all"))
    assert half < whole
    assert 10 <= len(half) <= 26


def test_strata_have_as_many_cases_each_and_larger_ones_fill_what_small_ones_lack(filled: ResultStore) -> None:
    made(filled, "even", size=30, stratify="label", random_size=0)
    assert Counter(one.label for one in of(filled, "even")) == {"Fail": 10, "Pass": 10, "Review": 10}
    made(filled, "short", size=45, stratify="label", random_size=0)
    assert Counter(one.label for one in of(filled, "short")) == {"Fail": 12, "Pass": 21, "Review": 12}
    made(filled, "share", share=0.25, stratify="label", random_size=0)
    assert Counter(one.label for one in of(filled, "share")) == {"Fail": 3, "Pass": 9, "Review": 3}


def test_an_event_with_several_results_is_one_case_with_the_newest_of_them(filled: ResultStore) -> None:
    add(filled, scored("e-00", 80, suite="one", label="Fail", version="9", seconds=300), scored("e-00", 81, suite="two", label="Fail", seconds=400))
    made(filled, filter="label=Fail", random_size=0)
    (case,) = (one for one in of(filled) if one.event_id == "e-00")
    assert (case.suite, Counter(event for event, _ in drawn(filled))["e-00"]) == ("one", 1)


@pytest.mark.parametrize(
    ("told", "says"),
    [({"filter": "colour=red"}, "does not exist"), ({"filter": "label=Warn", "random_size": 0}, "no case fits"), ({"stratify": "label"}, "give a size"),
     ({"filter": "suite=two"}, "leave the suite out")],
)  # fmt: skip
def test_a_queue_that_cannot_be_drawn_is_refused(filled: ResultStore, told: dict[str, Any], says: str) -> None:
    with pytest.raises(FilterError, match=says):
        made(filled, **told)
    assert Queues(filled.engine).all() == []


def test_a_name_is_given_once(filled: ResultStore) -> None:
    made(filled)
    with pytest.raises(QueueExists):
        made(filled)


def test_a_queue_of_another_suite_has_another_pass(filled: ResultStore) -> None:
    """A reviewer has one annotation of a case in a pass: the second would replace the first."""
    first, second, third = made(filled, "a"), made(filled, "b", suite="two"), made(filled, "c")
    assert (first.review_pass, second.review_pass, third.review_pass) == (1, 2, 1)


def test_reviewers_get_different_cases_and_each_gets_what_they_have_again(filled: ResultStore) -> None:
    row = made(filled, size=5)
    order = [event for event, _ in drawn(filled)]
    assert following(filled, row, "ann") == order[0]
    assert following(filled, row, "bob") == order[1]
    assert following(filled, row, "ann") == order[0]
    turn = Queues(filled.engine).next(row, "eve", NOW, RESERVE_S)
    assert [one.event_id for one in (turn.item, *turn.ahead) if one] == order[2:5]
    assert [one.reserved for one in of(filled, reviewer="ann")] == [False, True, True, False, False]


def test_a_reservation_ends_after_its_time_and_when_its_reviewer_goes_on(filled: ResultStore) -> None:
    row = made(filled, size=3)
    order = [event for event, _ in drawn(filled)]
    assert following(filled, row, "ann") == order[0]
    assert following(filled, row, "bob", seconds=RESERVE_S - 1) == order[1]
    assert following(filled, row, "bob", seconds=RESERVE_S + 1) == order[0]
    assert following(filled, row, "ann", seconds=RESERVE_S + 2) == order[1]


def test_a_case_that_needs_two_reviewers_goes_to_two_at_a_time(filled: ResultStore) -> None:
    row = made(filled, size=1, reviewers=2)
    assert following(filled, row, "ann") == following(filled, row, "bob") is not None
    assert following(filled, row, "eve") is None
    assert following(filled, row, "eve", skip_reserved=False) is not None
    says(filled, drawn(filled)[0][0], "ann", "pass")
    assert following(filled, row, "eve") is None  # bob still has it
    assert following(filled, row, "eve", seconds=RESERVE_S + 1) is not None


def test_what_was_skipped_comes_back_only_when_it_is_taken_back(filled: ResultStore) -> None:
    row = made(filled, size=2)
    first, second = (event for event, _ in drawn(filled))
    queues = Queues(filled.engine)
    queues.act("q", first, "ann", "skip", NOW, RESERVE_S)
    assert following(filled, row, "ann") == second
    assert following(filled, row, "bob") == first
    queues.act("q", first, "bob", "release", NOW, RESERVE_S)
    assert (queues.mine("q", "ann").skipped, queues.mine("q", "ann").left) == (1, 1)
    queues.act("q", first, "ann", "unskip", NOW, RESERVE_S)
    assert following(filled, row, "ann") == first
    queues.act("q", second, "ann", "skip", NOW, RESERVE_S)
    says(filled, second, "ann", "pass")
    assert (queues.mine("q", "ann").skipped, queues.mine("q", "ann").done) == (0, 1)


def test_going_on_from_a_case_finds_those_behind_it_and_then_those_before(filled: ResultStore) -> None:
    row = made(filled, size=4)
    order = [event for event, _ in drawn(filled)]
    assert following(filled, row, "ann", after=order[1]) == order[2]
    assert following(filled, row, "ann", after=order[3]) == order[0]
    for event in order[:2]:
        says(filled, event, "ann", "pass")
    turn = Queues(filled.engine).next(row, "ann", NOW, RESERVE_S, after=order[2])
    assert [one.event_id for one in (turn.item, *turn.ahead) if one] == [order[3]]


def test_many_who_ask_at_the_same_time_get_different_cases(filled: ResultStore) -> None:
    row = made(filled, size=8)
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda n: following(filled, row, f"r-{n}"), range(8)))
    assert sorted(map(str, got)) == sorted(event for event, _ in drawn(filled))


def test_the_states_of_cases_are_counted(filled: ResultStore) -> None:
    made(filled, size=4, reviewers=2)
    first, second, third, _ = (event for event, _ in drawn(filled))
    for event, reviewer, verdict in ((first, "ann", "pass"), (first, "bob", "pass"), (second, "ann", "fail"), (second, "bob", "pass"), (third, "ann", "fail")):
        says(filled, event, reviewer, verdict)
    counts = Queues(filled.engine).counts(["q"])["q"]
    assert counts.states == {"open": 1, "needs_another": 1, "disagreed": 1, "settled": 1}
    assert [one.event_id for one in of(filled, state="disagreed")] == [second]
    assert [one.event_id for one in Queues(filled.engine).differing("q", -1, 10, reviewer="ann")] == [second]
    assert Queues(filled.engine).differing("q", -1, 10, reviewer="eve") == []
    assert Queues(filled.engine).pairs(made(filled, "other")) == {}


def test_only_what_is_written_in_a_queue_and_in_its_pass_counts_for_it(filled: ResultStore) -> None:
    made(filled, size=1)
    (event, _) = drawn(filled)[0]
    says(filled, event, "ann", "fail", queue="elsewhere")
    CaseIndex(filled.engine).annotate(event, "ann", {"verdict": "fail", "queue": "q"}, NOW, expected=None, review_pass=2)
    CaseIndex(filled.engine).annotate(event, "ann", {"verdict": "fail"}, NOW, expected=None)
    assert of(filled)[0].state == "open"


def test_records_that_are_added_in_bulk_count_too(filled: ResultStore) -> None:
    made(filled, size=1)
    (event, _) = drawn(filled)[0]
    CaseIndex(filled.engine).annotate_many([(event, "", "ann", 1, NOW, {"verdict": "fail", "queue": "q"})])
    assert of(filled)[0].state == "settled"


def test_a_case_that_is_forgotten_leaves_its_queues(filled: ResultStore) -> None:
    made(filled, size=2)
    (event, _) = drawn(filled)[0]
    says(filled, event, "ann", "fail")
    CaseIndex(filled.engine).forget(event, NOW)
    assert [one for one, _ in drawn(filled)] != [event]
    assert (len(drawn(filled)), Queues(filled.engine).mine("q", "ann").done) == (1, 0)


def _of(*said: tuple[str, str]) -> list[Written]:
    """`ann+`: settled; `ann-`: withdrawn."""
    return [Written(name.rstrip("+-"), verdict, name.endswith("+"), name.endswith("-")) for name, verdict in said]


@pytest.mark.parametrize(
    ("said", "state", "verdicts", "blind"),
    [
        ([], "open", {}, {}),
        ([("ann", "")], "open", {}, {}),
        ([("ann", "pass")], "needs_another", {"ann": "pass"}, {"ann": "pass"}),
        ([("ann", "pass"), ("ann-", "")], "open", {}, {}),
        ([("ann", "pass"), ("ann-", ""), ("ann", "fail")], "needs_another", {"ann": "fail"}, {"ann": "fail"}),
        ([("ann", "pass"), ("ann", "fail"), ("bob", "fail")], "settled", {"ann": "fail", "bob": "fail"}, {"ann": "fail", "bob": "fail"}),
        ([("ann", "pass"), ("bob", "fail")], "disagreed", {"ann": "pass", "bob": "fail"}, {"ann": "pass", "bob": "fail"}),
        ([("ann", "pass"), ("bob", "fail"), ("bob", "pass")], "settled", {"ann": "pass", "bob": "pass"}, {"ann": "pass", "bob": "fail"}),
        ([("ann", "pass"), ("bob", "fail"), ("bob+", "pass")], "settled", {"ann": "pass", "bob": "fail"}, {"ann": "pass", "bob": "fail"}),
        ([("ann", "pass"), ("bob", "fail"), ("eve+", "pass")], "settled", {"ann": "pass", "bob": "fail"}, {"ann": "pass", "bob": "fail"}),
        ([("ann", "pass"), ("bob", "fail"), ("bob+", "pass"), ("bob", "fail")], "disagreed", {"ann": "pass", "bob": "fail"}, {"ann": "pass", "bob": "fail"}),
        ([("ann", "pass"), ("bob", "fail"), ("eve", "pass")], "disagreed", {"ann": "pass", "bob": "fail", "eve": "pass"},
         {"ann": "pass", "bob": "fail", "eve": "pass"}),
    ],
)  # fmt: skip
def test_the_state_of_a_case_follows_from_what_was_written(said: Any, state: str, verdicts: Any, blind: Any) -> None:
    found = standing(_of(*said), 2)
    assert (found.state, found.verdicts, found.blind) == (state, verdicts, blind)


def test_a_change_of_a_guideline_is_a_new_version_and_the_same_text_is_the_same(store: ResultStore) -> None:
    guidelines = Guidelines(store.engine)
    for text in ("A", "A", "B", "A"):
        last = guidelines.save("labs", text, "boss", NOW)
    assert (last.version, last.text) == (3, "A")
    assert [guidelines.named(name).text for name in ("labs", "labs@1", "labs@2") if guidelines.named(name)] == ["A", "A", "B"]  # type: ignore[union-attr]
    assert (guidelines.named("labs@4"), guidelines.named("none"), guidelines.named(None)) == (None, None, None)
    assert [(one.name, one.version) for one in guidelines.newest()] == [("labs", 3)]


def test_versions_that_are_added_at_the_same_time_are_all_kept(store: ResultStore) -> None:
    guidelines = Guidelines(store.engine)
    with ThreadPoolExecutor(3) as pool:
        versions = [one.version for one in pool.map(lambda n: guidelines.save("labs", f"text {n}", "boss", NOW), range(3))]
    assert sorted(versions) == [1, 2, 3]
