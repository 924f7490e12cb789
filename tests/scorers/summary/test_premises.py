import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scorers.summary.fakes import TableEngines, case, scorer
from touchstone.scorers.summary.premises import pieces, premises, words_in
from touchstone.scorers.summary.sentences import Span, split, windows


def texts(text: str, words_max: int, sizes: tuple[int, ...] = (1, 2)) -> list[str]:
    return [text[window.start : window.end] for window in premises(text, split(text), sizes, words_max)]


def test_windows_within_the_bound_are_as_they_were() -> None:
    text = "The ferry ran aground. It was towed off at noon. Nobody was hurt."
    assert premises(text, split(text), (1, 2, 5), 10) == windows(split(text), (1, 2))
    assert premises(text, split(text), (1, 2), 0) == windows(split(text), (1, 2))


def test_a_long_sentence_is_cut_into_clauses_and_neighbouring_clauses() -> None:
    text = "The ferry ran aground off Skarn; the tug arrived at nine and pulled it free; nobody was hurt."
    first, second, third, fourth = "The ferry ran aground off Skarn;", "the tug arrived at nine", "and pulled it free;", "nobody was hurt."
    # Neighbouring clauses too, so that a fact spread over two of them is borne.
    assert texts(text, 14) == [first, second, third, fourth, f"{first} {second}", f"{second} {third}", f"{third} {fourth}"]
    assert texts(text, 18) == [text]


def test_of_two_neighbours_that_are_too_long_together_the_parts_that_touch_are_kept() -> None:
    one, other = "The ferry ran aground off Skarn; the tug arrived at nine.", "It pulled the ferry free; nobody on board was hurt."
    assert texts(f"{one} {other}", 16) == [one, other, "the tug arrived at nine. It pulled the ferry free;"]


def test_a_run_of_many_sentences_that_is_too_long_is_left_out() -> None:
    text = "One two three four. Five six seven eight. Nine ten eleven twelve."
    assert texts(text, 8, (1, 2, 3)) == texts(text, 8, (1, 2))
    assert len(texts(text, 12, (1, 2, 3))) == 6


def test_a_short_text_without_a_full_window_has_its_sentences_for_premises() -> None:
    one, other = "One two three four.", "Five six seven eight."
    assert texts(f"{one} {other}", 8, (5,)) == [f"{one} {other}"]
    assert texts(f"{one} {other}", 7, (5,)) == [one, other, "four. Five six seven"]


@given(
    st.lists(st.sampled_from(["rain", "fell;", "and", "wind,", "rose", "while", "it", "stopped.", "–", "which"]), min_size=1, max_size=120), st.integers(1, 20)
)
def test_no_premise_is_longer_than_the_bound_and_no_word_is_lost(words: list[str], words_max: int) -> None:
    text = " ".join(words)
    found = pieces(text, Span(0, len(text)), words_max)
    assert all(words_in(text, *piece) <= words_max for piece in found)
    assert " ".join(text[piece.start : piece.end] for piece in found).split() == words
    assert all(one.end <= other.start for one, other in pairwise(found))
    spans = split(text)
    assert all(words_in(text, window.start, window.end) <= max(2, words_max) for window in premises(text, spans, (1, 2, 5), words_max))


@pytest.mark.parametrize("joint", ["; ", ", and ", " and ", ", ", " "])
def test_no_punctuation_makes_one_long_premise_of_a_repeated_clause(joint: str) -> None:
    text = joint.join(["the weather over the northern hills was mild on that day"] * 18) + "."
    assert max(len(premise.split()) for premise in texts(text, 60)) <= 60


@pytest.mark.parametrize("blanks", [" ", "\t", "\n", " \n", "\u00a0"])
def test_a_run_of_blanks_takes_no_square_of_its_length(blanks: str) -> None:
    """Each of a run's blanks was the beginning of a search to its end: minutes for a text within the limits."""
    run = (blanks * 60_000)[:60_000]
    begun = time.process_time()
    for text in (f"The bridge {run}closed {'word ' * 70}.", f"word{run[:500]}" * 119, run):
        assert all(len(part.split()) <= 60 for part in texts(text, 60))
    assert time.process_time() - begun < 10  # some .3 s on an idle machine


async def test_no_premise_that_a_model_is_asked_is_longer_than_it_answers_for() -> None:
    engines = TableEngines(lambda *_: (0.4, 0.0))
    long = ", ".join(f"and the tram to harbour {number} was late" for number in range(40)) + "."
    await scorer(engines).score(case(f"Rain fell, {long} Nobody minded."))
    longest = max(len(premise.split()) for call in engines.nli.calls for premise, _ in call)
    assert 20 < longest <= 60
