"""Which pairs are asked, in which round, and what a window counts for: on engines whose answers are written here."""

import numpy as np
import pytest

from tests.scorers.summary.fakes import FACTS, TableEngines, case, gold, same_words, scorer
from touchstone.scorers.summary.components import facts
from touchstone.scorers.summary.components.nli_round import nearest_k
from touchstone.scorers.summary.components.weighing import borne_by_parts
from touchstone.scorers.summary.sentences import Window

ALL = " ".join(FACTS)


def sure(premise: str, hypothesis: str) -> tuple[float, float]:
    """Entailed for certain where the hypothesis stands in the premise as it is."""
    return (0.97, 0.0) if hypothesis.strip(".") in premise else (0.0, 0.1)


def only_both(premise: str, hypothesis: str) -> tuple[float, float]:
    """The last fact is borne by its two halves together; the others by a sentence that says them."""
    return (0.97 if "Fact number ten" in premise and "it holds" in premise else 0.0, 0.0) if hypothesis == FACTS[9] else sure(premise, hypothesis)


async def test_what_the_nearest_sentences_bear_is_not_asked_again() -> None:
    engines = TableEngines(sure)
    card = await scorer(engines).score(case(ALL))
    (first,) = engines.nli.calls
    assert len(first) == len(set(first)) == card.details["pairs"]
    # Of each fact (three are outline points too) its two nearest sentences; of each sentence its two nearest units, the nearest statement among them.
    assert len(first) <= 2 * 10 + 2 * 10
    assert card.values["recall"] == pytest.approx(0.97)
    assert (card.values["precision"], card.values["coverage"]) == (pytest.approx(0.97), 1)


async def test_where_the_nearest_sentences_leave_doubt_a_second_round_asks_more_and_none_twice() -> None:
    engines = TableEngines(same_words)  # .9 is below `doubt_max`
    card = await scorer(engines).score(case(ALL))
    first, second = engines.nli.calls
    assert not set(first) & set(second)
    assert len(first) + len(second) == card.details["pairs"]
    whole = TableEngines(same_words)
    assert (await scorer(whole, prefilter_top_k=0).score(case(ALL))).values["recall"] == card.values["recall"] == pytest.approx(0.9)
    assert len(whole.nli.calls) == 1
    once = TableEngines(same_words)
    await scorer(once, doubt_max=0).score(case(ALL))
    assert len(once.nli.calls) == 1


async def test_a_fact_spread_over_two_neighbours_is_recalled() -> None:
    engines = TableEngines(only_both)
    generated = f"{FACTS[0]} {FACTS[1]} Fact number ten is known. Today it holds."
    card = await scorer(engines).score(case(generated, datum=gold(logical_outline=())))
    assert card.details["facts"]["support"][9] == pytest.approx(0.97)
    assert len(engines.nli.calls) == 2
    alone = await scorer(TableEngines(only_both), windows=[1]).score(case(generated, datum=gold(logical_outline=())))
    assert alone.details["facts"]["support"][9] == 0


def any_long(premise: str, hypothesis: str) -> tuple[float, float]:
    """A model that finds entailed what a premise of more than 60 words is said to, and every hypothesis that is as long; else only what has the words."""
    return (0.99, 0.0) if max(len(premise.split()), len(hypothesis.split())) > 60 else sure(premise, hypothesis)


CLAUSE = "the weather over the northern hills was mild and dry on that day"


@pytest.mark.parametrize(
    "generated",
    [
        "; ".join([CLAUSE] * 18) + ".",
        " ".join([f"{CLAUSE.capitalize()}."] * 18),
        " ".join([f"{' '.join([CLAUSE] * 4).capitalize()}."] * 5),
        f"{CLAUSE.capitalize()}. " * 90,
        f"# Weather\n\n{' '.join([CLAUSE] * 80)}.",
    ],
    ids=["one sentence", "one repeated", "five long sentences", "a thousand words", "no punctuation"],
)
@pytest.mark.parametrize("settings", [{}, {"prefilter_top_k": 0}, {"windows": [1, 2, 5]}, {"windows": [5]}], ids=str)
async def test_off_topic_text_of_any_shape_recalls_nothing_and_fails(generated: str, settings: dict[str, object]) -> None:
    card = await scorer(TableEngines(any_long), **settings).score(case(generated))
    assert (card.values["recall"], card.values["coverage"], card.label) == (0, 0, "Fail")
    assert card.values["precision"] == 0
    unbounded = await scorer(TableEngines(any_long), prefilter_top_k=0, windows=[5], premise_words_max=0).score(case(generated))
    assert unbounded.values["recall"] >= 0.99  # what the guard keeps out


async def test_a_sentence_is_borne_by_no_long_unit_of_the_gold() -> None:
    narrative = f"{'; '.join([CLAUSE] * 18)}."
    card = await scorer(TableEngines(any_long), prefilter_top_k=0).score(case("The moon is made of cheese.", datum=gold(summary=narrative)))
    assert card.values["precision"] == 0


async def test_a_long_sentence_is_borne_as_far_as_its_weakest_clause() -> None:
    said = "; ".join(fact.strip(".") for fact in FACTS[:8])
    assert (await scorer(TableEngines(sure), premise_words_max=16).score(case(f"{said}."))).values["precision"] == pytest.approx(0.97)
    card = await scorer(TableEngines(sure), premise_words_max=16).score(case(f"{said}; the moon is cheese."))
    assert card.details["facts"]["sentences"] == [0]


def test_clauses_are_folded_into_their_sentences() -> None:
    values = np.array([[0.2, 0.9], [0.6, 0.1], [0.7, 0.5]])
    assert facts.of_weakest(values, [0, 1, 1]).tolist() == [[0.2, 0.9], [0.6, 0.1]]
    assert facts.of_any(values, [0, 1, 1]).tolist() == [[0.2, 0.9], [0.7, 0.5]]
    assert facts.of_weakest(values, [0, 1, 2]) is facts.of_any(values, [0, 1, 2]) is values


def test_a_run_counts_only_as_far_as_two_neighbours_of_it_do() -> None:
    windows = [Window(0, 1, 0, 1), Window(1, 2, 1, 1), Window(2, 3, 2, 1), Window(0, 2, 0, 2), Window(1, 3, 1, 2), Window(0, 3, 0, 3)]
    support = np.array([[0.1, 0.0, 0.2, 0.4, 0.3, 0.9], [0.8, 0.0, 0.0, 0.1, 0.0, 0.5]])
    assert borne_by_parts(support, windows).tolist() == [[0.1, 0.0, 0.2, 0.4, 0.3, 0.4], [0.8, 0.0, 0.0, 0.1, 0.0, 0.5]]
    assert borne_by_parts(support[:, 5:], windows[5:]).tolist() == [[0.9], [0.5]]


def test_the_nearest_are_taken_among_those_allowed() -> None:
    cosines = np.array([[0.9, 0.1, 0.5, 0.5], [0.0, 0.0, 0.0, 0.0]])
    allowed = np.array([False, True, True, True])
    assert nearest_k(cosines, 2, allowed).tolist() == [[False, False, True, True], [False, True, True, False]]
    assert nearest_k(cosines, 0, allowed).tolist() == [allowed.tolist()] * 2
    assert nearest_k(cosines, 9).all()
    assert not nearest_k(cosines, 2, ~np.ones(4, dtype=np.bool_)).any()


@pytest.mark.parametrize(("joint", "clauses"), [("; ", 2), (', and "', 2), (" beside roses and tall old trees ", 1)])
async def test_a_sentence_that_repeats_itself_is_asked_in_clauses(joint: str, clauses: int) -> None:
    said = "the weather on the coast was mild with a light wind from the west"
    engines = TableEngines(sure)
    await scorer(engines).score(case(f"{ALL} And {said}{joint}{said if clauses > 1 else 'of the park'}."))
    asked = {hypothesis for call in engines.nli.calls for _, hypothesis in call if "weather" in hypothesis}
    assert asked
    assert all(hypothesis.count("weather") == 1 for hypothesis in asked)
