"""Sentences copied from the gold but for some words: which of them a person should read."""

import numpy as np
import pytest

from tests.scorers.summary.fakes import TableEngines, case, gold, scorer
from touchstone.schemas.result import Scorecard
from touchstone.scorers.summary.conflicts.altered import altered, altered_facts
from touchstone.scorers.summary.conflicts.conflict import Conflict, Unit
from touchstone.scorers.summary.conflicts.finding import by_wording
from touchstone.scorers.summary.settings import Conflicts

#: Written before the rule, as errors of these kinds: a denial in other words, another cause, another order of events, a made-up consequence.
WRONG = [
    ("The ferry left Osvik on time, and nobody on board was hurt.", "The ferry left Osvik on time, and two deckhands broke their wrists."),
    ("The clinic closed for a week because a boiler had burst.", "The clinic closed for a week because three nurses had caught measles."),
    ("Councillor Ode withdrew her motion after the mayor had spoken.", "Councillor Ode withdrew her motion long before anybody took the floor."),
    ("The audit covered nine depots.", "The audit covered nine depots, and forged receipts turned up."),
    ("The vaccine was stored at four degrees and kept its strength.", "The vaccine was stored at four degrees and became worthless."),
]
#: Reworded, moved, shortened or copied without another meaning, and sentences that copy nothing.
VALID = [
    ("The ferry left Osvik on time, and nobody on board was hurt.", "The ferry left Osvik on time, and nobody on board was injured."),
    ("The clinic closed for a week because a boiler had burst.", "Because a boiler had burst, the clinic closed for a week."),
    ("Councillor Ode withdrew her motion after the mayor had spoken.", "Councillor Ode withdrew her motion."),
    ("The audit covered nine depots.", "The audit covered nine depots."),
    ("Measure the opening and order a pane.", "Measure the opening and order a new pane."),
    ("The vaccine was stored at four degrees and kept its strength.", "At that temperature the serum lost none of its effect."),
]


@pytest.mark.parametrize(("statement", "sentence"), WRONG)
def test_other_words_in_a_copied_sentence_are_named(statement: str, sentence: str) -> None:
    found = altered(sentence, ["Rain fell.", statement])
    assert found is not None
    assert found.unit == 1
    assert sentence[slice(*found.here)]
    assert sentence[slice(*found.here)] not in statement
    assert 0 <= found.there[0] <= found.there[1] <= len(statement)


@pytest.mark.parametrize(("statement", "sentence"), VALID)
def test_a_copy_a_move_a_cut_or_one_other_word_is_not_altered(statement: str, sentence: str) -> None:
    assert altered(sentence, ["Rain fell.", statement]) is None


def test_the_statement_that_is_copied_whole_decides() -> None:
    sentence = "The audit covered nine depots and found rusted tanks."
    assert altered(sentence, ["The audit covered nine depots and pleased its owners.", sentence]) is None


def test_odd_text_is_no_copy() -> None:
    assert altered("", ["One two three four."]) is None
    assert altered("One two three four.", []) is None
    assert altered("One two three four.", ["", "…"]) is None
    assert altered("word " * 5_000, ["word " * 5_000]) is None


STATEMENT, SENTENCE = WRONG[0]
UNITS = [Unit("fact", 0, STATEMENT)]


@pytest.mark.parametrize(("entailed", "denied", "found"), [(0.2, 0.5, True), (0.45, 0.5, False), (0.2, 0.1, False), (0.05, 0.3, True)])
def test_the_model_decides_whether_altered_words_say_the_same(entailed: float, denied: float, found: bool) -> None:
    answers = np.asarray([entailed]), np.asarray([denied])
    conflicts = by_wording([SENTENCE], answers, UNITS, np.asarray([[0.8]]), Conflicts(), ())
    assert [one.rule for one in conflicts] == ["altered"][:found]
    assert by_wording([SENTENCE], answers, UNITS, np.asarray([[0.8]]), Conflicts(altered_max=0), ()) == []
    assert by_wording([SENTENCE], answers, UNITS, np.asarray([[0.8]]), Conflicts(), {0}) == []
    assert by_wording([SENTENCE], answers, UNITS, np.asarray([[0.1]]), Conflicts(), ()) == []


def test_an_altered_sentence_is_no_conflict() -> None:
    assert not Conflict("altered", 0).is_conflict


FACTS = tuple(statement for statement, _ in WRONG) + tuple(f"Depot {name} has a store." for name in ("A", "B", "C", "D", "E"))


def answer(premise: str, hypothesis: str) -> tuple[float, float]:
    """A model that is sure of copies, and takes the hurt deckhands neither for entailed nor for denied."""
    return (0.95, 0.0) if hypothesis.strip(".") in premise else (0.2, 0.4) if "deckhands" in hypothesis else (0.0, 0.1)


async def card_of(**document: object) -> Scorecard:
    datum = gold(key_facts=FACTS, summary=" ".join(FACTS), logical_outline=())
    return await scorer(TableEngines(answer), **document).score(case(" ".join((SENTENCE, *FACTS[1:])), datum=datum))


async def test_an_altered_sentence_makes_a_pass_a_review_where_that_is_asked_and_changes_no_number() -> None:
    card, without = await card_of(quote=True, conflicts={"altered_cap": "Review"}), await card_of(conflicts={"altered_max": 0})
    assert (card.label, without.label) == ("Review", "Pass")
    assert card.values == without.values
    found = next(finding for finding in card.findings if finding.code == "altered")
    assert (found.severity, found.path) == ("minor", "generated.sentences[0]")
    assert found.message.startswith(
        "the sentence is key fact 1 with other words, and the model does not see that they say the same: 'two deckhands broke their"
    )
    assert "'nobody on board was hurt'" in found.message
    assert found.suggestion
    bound = next(finding for finding in card.findings if finding.code == "label.bound")
    assert "(1 of 10)" in bound.message
    named = await card_of()
    assert (named.label, "altered" in {finding.code for finding in named.findings}) == ("Pass", True)
    assert "deckhands" not in str([finding.message for finding in named.findings])


def test_a_fact_of_which_a_sentence_copies_the_narrative_with_other_words_is_not_named_again() -> None:
    told = Conflict("altered", 0, Unit("gold", 3, STATEMENT))
    facts = ["Nobody on board was hurt.", "The ferry left Osvik on time.", "The ferry is called Mira.", "Repairs took a week."]
    assert altered_facts([told], facts) == {0, 1}
    assert altered_facts([Conflict("unsupported", 0)], facts) == set()
    assert altered_facts([], facts) == set()


async def test_an_altered_fact_is_not_missing_too() -> None:
    named, unnamed = await card_of(), await card_of(conflicts={"altered_max": 0})
    paths = [{finding.path for finding in card.findings if finding.code == "missing_fact"} for card in (named, unnamed)]
    assert paths == [set(), {"gold.key_facts[0]"}]
