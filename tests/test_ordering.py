"""How processes share the tests: see ordering.py."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.ordering import MODELS, ModelsTogether, shared_out


class FakeItem:
    def __init__(self, name: str, seconds: float | None = None, fixtures: tuple[str, ...] = ()) -> None:
        self.nodeid, self.fixturenames = f"tests/test_{name}.py::test_{name}", fixtures
        self.callspec = SimpleNamespace(params={})
        self.mark = None if seconds is None else pytest.mark.slow(seconds).mark

    def get_closest_marker(self, name: str) -> Any:
        return self.mark if name == "slow" else None


def names(items: list[FakeItem], processes: int) -> list[str]:
    return [item.nodeid.rpartition("_")[2] for item in shared_out(cast("list[pytest.Item]", items), processes)]


def test_each_process_begins_with_its_longest_and_the_time_is_shared() -> None:
    items = [FakeItem("a"), FakeItem("b", 10), FakeItem("c"), FakeItem("d", 40), FakeItem("e", 30), FakeItem("f")]
    shared = names(items, 2)
    assert shared[:1] + shared[3:5] == ["d", "e", "b"]
    assert sorted(shared) == ["a", "b", "c", "d", "e", "f"]


def test_tests_that_share_an_expensive_fixture_stay_together() -> None:
    items = [FakeItem("a", 5, ("three_nodes",)), FakeItem("b", 6), FakeItem("c", 5, ("three_nodes",)), FakeItem("d", 6)]
    assert names(items, 2) == ["a", "c", "b", "d"]


def test_tests_that_ask_for_a_broker_of_a_kind_stay_with_those_that_name_it() -> None:
    items = [FakeItem("a", 5, ("shared_apache",)), FakeItem("b", 6), FakeItem("c", 5), FakeItem("d", 6)]
    items[2].callspec = SimpleNamespace(params={"broker": "apache"})
    assert names(items, 2) == ["a", "c", "b", "d"]


def test_what_finds_no_room_goes_on_in_the_next_share() -> None:
    items = [FakeItem(letter, 5, ("one_node",)) for letter in "abc"] + [FakeItem("d", 1)]
    assert sorted(names(items, 2)) == ["a", "b", "c", "d"]


def scope(nodeid: str) -> str:
    return ModelsTogether._split_scope(cast("ModelsTogether", None), nodeid)


@pytest.mark.parametrize("folder", MODELS)
def test_tests_of_models_share_one_process(folder: str) -> None:
    assert list((Path(__file__).parents[1] / folder).glob("test_*.py"))
    assert scope(f"{folder}test_a.py::test_b[1]") == scope(f"{MODELS[0]}test_c.py::test_d") == "models"


def test_every_other_test_goes_by_itself() -> None:
    assert scope("tests/test_a.py::test_b[1@x]") == "tests/test_a.py::test_b[1@x]"
