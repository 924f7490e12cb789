import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchstone.scorers.summary.lexical import containment, words


@pytest.mark.parametrize(
    ("premise", "hypothesis", "expected"),
    [
        ("The patient was admitted with breathlessness.", "Patients are admitted for breathlessness", 1.0),
        ("He stopped smoking", "stops smoke", 1.0),
        ("The bodies were studied", "body study", 1.0),
        ("potassium fell to 3.1 mmol/L", "Potassium falls to 3.1 mmol/L.", 1.0),
        ("it cost 1,200 euros", "1200 euros", 1.0),
        ("in 35 percent of cases", "35% of the cases", 1.0),
        ("three of them died", "3 died", 1.0),
        ("The drug was given", "The drug was not given", 2 / 3),
        ("apixaban 5 mg", "apixaban 10 mg", 2 / 3),
        ("nothing alike", "potassium chloride", 0.0),
        ("anything", "", 0.0),
        ("", "a fact", 0.0),
        ("to be or not", "it is", 0.0),
        ("it is", "it is", 1.0),
        ("東京は首都", "東京", 1.0),
        ("Straße", "STRASSE", 1.0),
    ],
)
def test_counts_content_words_by_stem(premise: str, hypothesis: str, expected: float) -> None:
    assert containment(premise, hypothesis) == pytest.approx(expected)


@given(st.text(max_size=200), st.text(max_size=200))
def test_is_a_share(one: str, two: str) -> None:
    assert 0 <= containment(one, two) <= 1
    assert containment(two, two) == (1.0 if words(two) else 0.0)
