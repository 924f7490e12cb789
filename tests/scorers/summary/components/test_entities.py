from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from touchstone.scorers.summary.components.acronyms import acronym, expansions
from touchstone.scorers.summary.components.entities import Words, entities_loss, mentions, seek


def _found(entity: str, text: str) -> bool:
    return bool(mentions(entity, Words(text), 0.9))


def _matched(entity: str, generated: str, gold: str = "", *others: str) -> bool:
    (sought,) = seek([entity], Words(generated), Words(gold), 0.9, others)
    return bool(sought.generated)


@pytest.mark.parametrize(
    ("entity", "text", "found"),
    [
        ("Tomasz Wierzba", "Then tomasz  WIERZBA left.", True),
        ("Tomasz Wierzba", "Then Tomasz Wierzba's son left.", True),
        ("Rome", "Rome's walls fell.", True),
        ("Rome", "ROME FELL.", True),
        ("Rome", "Rom fell.", False),  # 2·3/7 = .857
        ("Amara Nwosu", "Dr. Amara Nwoso left.", True),  # 2·10/22 = .909
        ("Amara Nwosu", "Nwosu left.", False),  # a surname alone is not like enough
        ("U.S. Senate", "The U.S. Senate met.", True),
        ("apixaban", "apixaban 5 mg", True),
        ("東京", "東京は首都です。", True),
        ("が", "か", False),
        ("heart failure clinic", "the heart  failure\nclinic will", True),
        ("!!", "anything", False),
        ("a b c", "a", False),
    ],
)
def test_an_entity_is_found_by_its_letters(entity: str, text: str, found: bool) -> None:
    assert _found(entity, text) is found


@pytest.mark.parametrize(
    ("entity", "text", "found"),
    [
        ("310", "They saw 300 cases.", False),
        ("310 patients", "There were 300 patients.", False),
        ("310 patients", "There were 310 patients.", True),
        ("1,800 spectators", "before 1800 spectators", True),
        ("1.5 million euros", "15 million euros", False),
        ("AB-1234", "the form AB-1235", False),
        ("AB-1234", "the form AB-1234", True),
        ("AB-1234", "the form AB 1234", True),
        ("AB-1234", "the form ab1234", False),  # its letters are an acronym
        ("Form AB-12345678", "Form AC-12345678", False),
        ("Regulation 12B", "under Regulation 12C", False),
        ("Regulation 12B", "under regulation 12B", True),
        ("Regulation 12B", "under Regulation 12", False),
        ("Regulation 12", "under Regulation 12B", False),
        ("Apollo 11 mission", "the Apollo 12 mission", False),
        ("Section 230 of the Act", "Section 203 of the Act", False),
        ("Windows 8.1", "for Windows 8.1", True),
        ("Windows 8.1", "for Windows 81", False),
        ("vitamin B12", "vitamin B-12", True),
        ("vitamin B12", "vitamin B6", False),
        ("IL6", "the IL-6 level", True),
        ("IL6", "the IL-8 level", False),
        ("hepatitis B", "of hepatitis C", False),
        ("hepatitis B", "of hepatitis B", True),
        ("Factor V Leiden", "the factor X Leiden", False),
        ("Section 4(a) of the Act", "Section 4(b) of the Act", False),
        ("Nguyễn Văn A", "Nguyen Van B", False),
        ("C++", "written in C#", False),
        ("C++", "written in C++.", True),
        ("C", "written in C++", False),
        ("310 patients", "all ３１０ patients", True),
        ("310 patients", "all ٣١٠ patients", True),
        ("310 patients", "all ٣١١ patients", False),
    ],
)
def test_digits_and_the_tails_of_codes_are_equal(entity: str, text: str, found: bool) -> None:
    assert _found(entity, text) is found


@pytest.mark.parametrize(
    ("entity", "text", "found"),
    [
        ("WHO", "those who came", False),
        ("WHO", "The WHO came.", True),
        ("WHO", "WHOLE", False),
        ("IT", "it rained", False),
        ("it", "The IT failed", False),
        ("US", "they told us", False),
        ("US", "The US agreed.", True),
        ("US", "The U.S. agreed.", True),
        ("U.S.", "in the U.S. and", True),
        ("U.S.", "in the US and", True),
        ("U.S.", "in us and", False),
        ("FDA Advisory Committee", "the EMA Advisory Committee", False),
        ("FDA Advisory Committee", "the fda advisory committee", False),
        ("FDA Advisory Committee", "the FDA Advisory Comittee", True),
        ("Type II error rates", "Type III error rates", False),
        ("H1N1", "the H1N1 strain", True),
        ("H1N1", "the H5N1 strain", False),
        ("JOHN SMITH", "then John Smith left", True),
        ("US FDA", "us fda", False),
        ("NATO's summit", "the NATO summit", True),
        ("ВОЗ", "тот воз", False),
        ("ВОЗ", "там ВОЗ сказала", True),
        ("ארה", "ארה הגיעה", True),
    ],
)
def test_acronyms_are_compared_whole_and_in_case(entity: str, text: str, found: bool) -> None:
    assert _found(entity, text) is found


@pytest.mark.parametrize(
    ("entity", "text", "found"),
    [
        ("Dr. Amara Nwosu", "Amara Nwosu left.", True),
        ("Judge Helen Park", "Helen Park ruled.", True),
        ("Helen Park", "Judge Helen Park ruled.", True),
        ("President Lena Okafor", "Lena Okafor spoke.", True),
        ("Sir Alan Moss", "Alan Moss wrote it.", True),
        ("Amara Nwosu, MD", "Amara Nwosu left.", True),
        ("Dr. Nwosu", "Nwosu left.", True),
        ("General Motors", "Motors were built.", False),
        ("J. R. Smith", "JR Smith wrote it.", True),
        ("JR Smith", "J.R. Smith wrote it.", True),
        ("J.R. Smith", "J. R. Smith wrote it.", True),
        ("J. R. Smith", "K. R. Smith wrote it.", False),
        ("Rosa Muñoz", "Rosa Munoz won.", True),
        ("Ole Sørensen", "Ole Sorensen won.", True),
        ("Łódź", "in Lodz.", True),
        ("Jean-Luc Martin", "Jean Luc Martin won.", True),
        ("Stratford upon Avon", "in Stratford-upon-Avon.", True),
        ("Stratford–Avon line", "the Stratford-Avon line", True),
        ("O’Neil", "O'Neil came", True),
        ("Lloyd's of London", "Lloyds of London paid", True),
        ("Tolliver's daughter", "the Tolliver daughter", True),
    ],
)
def test_titles_possessives_accents_dots_and_hyphens_do_not_count(entity: str, text: str, found: bool) -> None:
    assert _found(entity, text) is found


@pytest.mark.parametrize(
    ("entity", "generated", "others", "matched"),
    [
        ("WHO", "The World Health Organization came.", ["The World Health Organization (WHO) came."], True),
        ("WHO", "The World Health Organization came.", ["WHO (World Health Organization) came."], True),
        ("WHO", "The World Health Organization came.", ["Staff of the World Health Organization came."], True),
        ("WHO", "The World Health Organization (WHO) came.", [], True),
        ("WHO", "The World Trade Organization came.", ["The World Health Organization (WHO) came."], False),
        ("World Health Organization", "The WHO came.", [], True),
        ("World Health Organization", "those who came", ["The World Health Organization (WHO) came."], False),
        ("Food and Drug Administration", "The FDA approved it.", [], True),
        ("United States", "The U.S. agreed.", [], True),
        ("United States", "They told us.", [], False),
        ("chronic obstructive pulmonary disease", "She has COPD.", [], True),
        ("COPD", "She has chronic obstructive pulmonary disease.", ["chronic obstructive pulmonary disease (COPD)"], True),
        ("heart failure", "HF was found.", [], False),  # two letters fit too much
        ("heart failure", "HF was found.", ["She has heart failure (HF)."], True),
        ("Amara Nwosu", "AN was there.", ["Nothing."], True),  # initials of a name that the gold spells out
        ("Department of Health", "The DoH said so.", [], False),  # not all capitals
        ("World Health Organization (WHO)", "The World Health Organization came.", [], True),
        ("World Health Organization (WHO)", "The WHO came.", [], True),
        ("World Health Organization (WHO)", "those who came", [], False),
        ("WHO (World Health Organization)", "The World Health Organization came.", [], True),
        ("Staff of the World Health Organization (WHO)", "The WHO came.", [], False),
        ("Washington (state)", "Washington resigned.", [], False),
    ],
)
def test_acronyms_match_their_names_where_a_text_gives_both(entity: str, generated: str, others: list[str], matched: bool) -> None:
    assert _matched(entity, generated, "", *others) is matched


def test_the_gold_narrative_is_searched_for_other_forms_too() -> None:
    (sought,) = seek(["WHO"], Words("The World Health Organization came."), Words("The World Health Organization (WHO) came."), 0.9)
    assert sought.needs_context


@pytest.mark.parametrize(("word", "letters"), [("WHO", "WHO"), ("U.S.", "US"), ("H1N1", "H1N1"), ("Who", None), ("A", None), ("ABCDEFG", None), ("12", None)])
def test_an_acronym_is_two_to_six_capitals_with_dots_or_digits(word: str, letters: str | None) -> None:
    assert acronym(word) == letters


def test_the_ratio_lies_above_the_threshold_and_does_not_only_reach_it() -> None:
    # ten letters of which one differs: 2·9/20 = .9 exactly
    assert not mentions("abcdefghij", Words("abcdefghiX"), 0.9)
    assert mentions("abcdefghij", Words("abcdefghiX"), 0.89)
    assert mentions("same", Words("same"), 1.0)


def test_a_mention_has_its_context() -> None:
    text = Words("one two, three Rome four (five) six.")
    (mention,) = mentions("Rome", text, 0.9)
    assert text.context(mention, 2) == "two, three Rome four (five"
    assert text.context(mention, 50) == "one two, three Rome four (five) six"


def test_an_entity_that_the_narrative_does_not_name_needs_no_context() -> None:
    one, two, three = seek(["Rome", "Oslo", "Bonn"], Words("Rome and Oslo."), Words("Rome fell."), 0.9)
    assert one.needs_context
    assert two.generated
    assert not two.needs_context
    assert not three.generated


def test_entities_loss() -> None:
    assert entities_loss(3, 4) == pytest.approx(0.25)


def test_a_very_long_entity_is_sought_word_for_word_and_costs_no_runs() -> None:
    entity = " ".join(f"w{number}" for number in range(61))
    text = Words(f"Before it, {entity.upper()}. After it.")
    assert [(mention.first, mention.last) for mention in mentions(entity, text, 0.9)] == [(2, 63)]
    assert not mentions(entity, Words(entity.replace("w60", "x60")), 0.9)
    assert set(text._runs) == {1}


@pytest.mark.parametrize(
    "text",
    ["(" + " " * 60_000, "( " * 30_000, "(" * 50_000, "A (B " * 20_000, "A.B." * 20_000, "W H O " * 20_000, "a-" * 50_000, "'s " * 20_000, "1" * 60_000, ""],
)
def test_hostile_text_is_searched_in_bounded_time(text: str) -> None:
    begun = time.process_time()
    seek(["WHO", "World Health Organization", "AB-1234", "Dr. X"], Words(text), Words(text[:1_000]), 0.9, [text])
    expansions([text[:200] or "x"], [text])
    assert time.process_time() - begun < 20


def test_many_acronyms_cost_one_reading_of_a_text() -> None:
    acronyms = [f"{one}{two}Q" for one in "ABCDEFGHIJ" for two in "ABCDEFGHIJ"]
    text = "World Health Organization and others, " * 8_000
    begun = time.process_time()
    expansions(acronyms[:1], [text])
    one = time.process_time() - begun
    expansions(acronyms, [text])
    assert time.process_time() - begun < 12 * one


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=60), st.text(max_size=200))
def test_any_entity_and_text_give_places_inside_the_text(entity: str, text: str) -> None:
    words = Words(text)
    for mention in mentions(entity, words, 0.9):
        assert 0 <= mention.first < mention.last <= len(words.places)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(
        ["WHO", "Dr. Amara Nwosu", "AB-1234", "Regulation 12B", "J. R. Smith", "Muñoz", "U.S. Senate", "1.5 million euros", "Łódź", "Jean-Luc", "O’Neil"]
    )
)
def test_an_entity_is_found_as_it_is_written(entity: str) -> None:
    assert _found(entity, f"Then {entity} came.")
