import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchstone.scorers.clinical.layout import WIDTH_MIN, wrapped


def test_a_long_line_is_broken_between_words_and_goes_on_indented() -> None:
    line = "  [info] PID-3: " + "word " * 8 + "end"

    assert wrapped(line, 40).split("\n") == ["  [info] PID-3: word word word word word", "    word word word end"]


def test_colours_take_no_cells() -> None:
    coloured = "\x1b[33m[major]\x1b[0m " + "x" * 30

    assert wrapped(coloured, 40) == coloured


@pytest.mark.parametrize("width", [None, 0, WIDTH_MIN - 1])
def test_without_a_width_or_in_a_sliver_nothing_is_broken(width: int | None) -> None:
    assert wrapped("word " * 50, width) == "word " * 50


@given(st.lists(st.text("ab ", min_size=1, max_size=30), max_size=20), st.integers(WIDTH_MIN, 120))
def test_no_word_is_lost_and_no_line_is_wider_unless_a_word_is(words: list[str], width: int) -> None:
    line = " ".join(words)
    broken = wrapped(line, width)

    assert broken.split() == line.split()
    assert all(len(one.rstrip()) <= width for one in broken.split("\n"))
