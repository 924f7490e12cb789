"""New words in a sentence that is otherwise copied from the gold."""

import pytest

from tests.scorers.summary.fakes import TableEngines, case, gold, scorer
from touchstone.scorers.summary.conflicts.unknown.changed import SUPPORTED_MIN, changed_words
from touchstone.scorers.summary.conflicts.unknown.known import known

FERRY = "When the ferry struck the rock, nobody on board was hurt."
NAMES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
FACTS = tuple(f"The part of the house that is called {name} was in the hall and it is as it was." for name in NAMES)
STATEMENTS = (FERRY, "The tug towed it to the harbour on Thursday.", "The committee rejected the amendment by nine votes.")


@pytest.mark.parametrize(
    ("sentence", "new"),
    [
        ("When the ferry struck the rock, two stokers drowned below deck.", "stokers drowned below deck"),
        ("The committee rejected the amendment after shouting broke out.", "shouting broke"),
        ("Heavy seas and thick fog held it in the harbour on Thursday.", None),  # only its end is copied, too little of it
        (FERRY, None),
        ("When the ferry struck the rock, nobody on board was harmed.", None),  # one word may be another word for the same
        ("When the ferry struck the rock, the committee rejected the amendment.", None),  # known words, elsewhere
        ("Crews from three villages searched the shore until nightfall.", None),
        ("When the ferry struck the rock, 12 of 40 were 7.", None),  # numbers have rules of their own
        ("", None),
    ],
)
def test_new_words_are_found_where_the_rest_is_copied(sentence: str, new: str | None) -> None:
    here = changed_words(sentence, STATEMENTS, known(STATEMENTS))
    assert (here and sentence[slice(*here)]) == new


def test_without_statements_nothing_is_copied() -> None:
    assert changed_words(FERRY, (), known(())) is None


@pytest.mark.parametrize(("support", "label"), [(SUPPORTED_MIN + 0.01, "Pass"), (SUPPORTED_MIN - 0.01, "Review")])
async def test_new_words_are_a_conflict_only_where_the_model_does_not_support_them_fully(support: float, label: str) -> None:
    text = f"{' '.join(FACTS)} {FERRY}"
    datum = gold(key_facts=(*FACTS, FERRY), summary=text, logical_outline=(), entity_list=())
    datum = datum.model_copy(update={"entry": datum.entry.model_copy(update={"text": text, "token_count": len(text.split())})})
    altered = "When the ferry struck the rock, two stokers drowned below deck."

    def answer(premise: str, hypothesis: str) -> tuple[float, float]:
        return (support, 0.0) if hypothesis == altered else (0.99, 0.0) if hypothesis in premise else (0.0, 0.0)

    settings = {"labels": {"pass_loss_max": 0.9, "review_loss_max": 0.95}, "conflicts": {"wording": False}}
    card = await scorer(TableEngines(answer), **settings).score(case(f"{' '.join(FACTS)} {altered}", datum=datum))
    codes = [finding.code for finding in card.findings]
    assert ("conflict.unknown_words" in codes) is (label == "Review")
    assert card.label == label
    quiet = await scorer(TableEngines(answer), **settings | {"conflicts": {"wording": False, "unknown": False}}).score(
        case(text.replace(FERRY, altered), datum=datum)
    )
    assert "conflict.unknown_words" not in [finding.code for finding in quiet.findings]
