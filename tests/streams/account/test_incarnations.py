import pytest

from touchstone.streams.account.reconcile_topics import _incarnations


@pytest.mark.parametrize(
    ("current", "known", "contradicted", "gone", "here"),
    [
        ("b", {"b"}, set(), [], ("b", "")),
        ("b", {"a", "b"}, set(), [("a",)], ("b",)),
        ("b", {"", "b"}, set(), [], ("b", "")),
        ("b", {""}, set(), [], ("b", "")),
        ("b", {"", "b"}, {""}, [("",)], ("b",)),
        ("b", {"", "a", "b"}, set(), [("",), ("a",)], ("b",)),
        ("b", {"b"}, {"b"}, [], ("b", "")),
        ("", {""}, {""}, [], ("",)),
        ("", {"", "a"}, set(), [], ("", "a")),
        ("", {"", "a", "b"}, set(), [("a",), ("b",)], ("",)),
    ],
)
def test_outcomes_without_a_topic_id_are_of_the_topic_of_now_unless_something_contradicts_it(
    current: str, known: set[str], contradicted: set[str], gone: list[tuple[str, ...]], here: tuple[str, ...]
) -> None:
    assert _incarnations(current, known, contradicted) == (gone, here)
