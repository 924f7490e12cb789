import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from touchstone.scorers.summary.sentences import Window, split, windows


def texts(text: str) -> list[str]:
    return [text[span.start : span.end] for span in split(text)]


@pytest.mark.parametrize(
    "sentences",
    [
        ["Pt. was given 5 mg b.i.d. for 3 days.", "Dr. Smith saw him.", "BP 120/80.", "Temp 37.5 C.", "He was d/c'd home."],
        ["Give amoxicillin 500 mg p.o. t.i.d. x 7 days.", "Hgb 9.1 g/dL.", "K 3.1 mmol/L."],
        ["The dose was 2.5 mg p.o. q.d. and the U.S. Senate passed it.", "No. 5 was next.", "See Fig. 3.", "It ended."],
        ["The court in Smith v. Jones held that it was void.", "He was born on Jan. 5, 1990.", "Sales rose 3.5% to $1.2 billion."],
        ["“Stop!” she cried.", "He did."],
        ['He said "I am fine. Really."', "Then he left."],
        ["Visit https://a.b/c.d?x.", "Then go."],
        ["It stopped.", "(It was late.)", "Is it over?", "Yes!"],
        ["Mobilised with Mr. Lee, Mrs. Roe and Prof. Amin.", "Home on 9 March."],
    ],
)
def test_splits_clinical_and_general_prose(sentences: list[str]) -> None:
    assert texts(" ".join(sentences)) == sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1. Take the pan. 2. Heat it.\n- item one\n- item two\n  continued", ["1. Take the pan.", "2. Heat it.", "- item one", "- item two\n  continued"]),
        ("This text is hard\nwrapped at forty columns. It goes\non and on.", ["This text is hard\nwrapped at forty columns.", "It goes\non and on."]),
        ("Heading\n\nIt begins. It ends.", ["Heading", "It begins.", "It ends."]),
        ("東京は首都です。人口は多い。", ["東京は首都です。", "人口は多い。"]),
        ("## Plan\nhe goes home. Then bed.", ["## Plan", "he goes home.", "Then bed."]),
        ("drug | dose\n--- | ---\napixaban | 5 mg\nramipril | 10 mg", ["drug | dose\n--- | ---", "apixaban | 5 mg", "ramipril | 10 mg"]),
        ("drug\tdose\napixaban\t5 mg", ["drug\tdose", "apixaban\t5 mg"]),
        ("<ul><li>the hull</li><li>The <b>mast</b><i>.</i></li></ul>", ["<ul><li>the hull</li>", "<li>The <b>mast</b><i>.</i></li></ul>"]),
        ("<p>\n  <s>He left.</s>\n</p>", ["<p>\n  <s>He left.</s>\n</p>"]),
        ("", []),
        (" \n\t ", []),
    ],
)
def test_splits_lists_lines_and_scripts(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


WRITTEN = st.lists(
    st.sampled_from(
        ["Dr.", "He", "left", ". ", "\n", "5 mg", " ", "b.i.d.", '"', "”", "(", ")", "1.", "- ", "。", "é", "…", "?!", "\x00", "∯", "♨", "a.b", "U.S. "]
    )
    | st.text(max_size=5),
    max_size=60,
)


@given(WRITTEN)
@settings(max_examples=200, deadline=None)
def test_spans_are_ordered_apart_and_hold_every_character_but_white_space(parts: list[str]) -> None:
    text = "".join(parts)
    spans = split(text)
    assert all(span.start < span.end for span in spans)
    assert all(first.end <= second.start for first, second in pairwise(spans))
    assert all(text[span.start : span.end].strip() == text[span.start : span.end] for span in spans)
    assert "".join("".join(text[span.start : span.end].split()) for span in spans) == "".join(text.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("piece", "characters"),
    [
        ("He took 5 mg b.i.d. for 3 days. Then Dr. Lee left.\n", 1_000_000),
        ("a", 1_000_000),
        *((piece, 200_000) for piece in (".", "(", '"', "a. ", "x\n", "1) ", "[]", "字。")),
    ],
)
def test_a_large_text_is_split_in_linear_time(piece: str, characters: int) -> None:
    def seconds(count: int) -> float:
        text = piece * (count // len(piece))
        begun = time.process_time()
        assert "".join("".join(text[span.start : span.end].split()) for span in split(text)) == "".join(text.split())
        return time.process_time() - begun

    seconds(1_000)
    small, large = seconds(characters // 10), seconds(characters)
    assert large < 25 * small + 1


def test_windows_slide_by_one_sentence_and_know_their_first() -> None:
    spans = split("One. Two. Three.")
    assert windows(spans, (1, 2, 5)) == [Window(0, 4, 0, 1), Window(5, 9, 1, 1), Window(10, 16, 2, 1), Window(0, 9, 0, 2), Window(5, 16, 1, 2)]


def test_a_text_shorter_than_every_window_is_one() -> None:
    assert windows(split("One. Two."), (5,)) == [Window(0, 9, 0, 2)]
    assert windows([], (1, 2)) == []


@given(st.integers(1, 12), st.integers(1, 6))
def test_a_longer_text_has_every_window_of_the_shorter(count: int, more: int) -> None:
    text = " ".join(f"Sentence {number} ends here." for number in range(count + more))
    spans = split(text)
    assert len(spans) == count + more
    assert set(windows(spans[:count], (1, 2, 5))) <= set(windows(spans, (1, 2, 5)))
