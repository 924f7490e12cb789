"""Pairs about negation in other words, and pairs with long premises."""

import random
from collections import Counter

import pytest

from touchstone.ops.lab.build.models.pairs import CONTRADICTION, NEUTRAL, NOT_ENTAILMENT, Pair
from touchstone.ops.lab.build.models.rewording import CASES, OVERLAP_MAX, STATES, chosen_pairs, complement_pairs, negations, overlap, state_pairs, states
from touchstone.ops.lab.build.models.unrelated import NEAR_MAX, Material, long_pairs, repeated

TOPICS = (
    "harbour ferry battery",
    "orchard apple blossom",
    "glacier meltwater survey",
    "violin workshop varnish",
    "tram depot timetable",
    "cheese cellar mould",
)


def sentence(topic: int, number: int) -> str:
    return f"The {TOPICS[topic]} of town{topic} was described in report{number} by inspector{number}."


def items() -> list[Pair]:
    labels = (0, NEUTRAL, CONTRADICTION)
    return [
        Pair(sentence(topic, number), f"Inspector{number} wrote something about {TOPICS[topic]}.", labels[number % 3])
        for topic in range(6)
        for number in range(9)
    ]


def material(seed: int = 1, words_max: int = 350) -> Material:
    documents = [" ".join(sentence(topic, number) for number in range(9)) for topic in range(6)]
    return Material(items(), documents, random.Random(seed), words_max)


def test_a_repeated_sentence_fills_the_words() -> None:
    text = repeated("It rained in the hills.", 40, "; ")
    assert text.startswith("It rained in the hills; It rained")
    assert len(text.split()) == 40


def test_long_pairs_are_neutral_only_where_no_part_says_the_claim() -> None:
    made = long_pairs(material(), count=400)
    truth = {(pair.premise, pair.hypothesis): pair.target for pair in items()}
    assert {pair.target for pair in made} == {0, NEUTRAL, CONTRADICTION, NOT_ENTAILMENT}
    for pair in made:
        bearing = [there for (there, claim), target in truth.items() if claim == pair.hypothesis and target == 0 and there.rstrip(".") in pair.premise]
        assert pair.target == 0 or not bearing, pair


@pytest.mark.parametrize(("words_max", "half"), [(350, 60), (120, 40)])
def test_long_pairs_have_the_lengths_and_are_the_same_every_time(words_max: int, half: int) -> None:
    made = long_pairs(material(words_max=words_max), count=300)
    words = sorted(len(pair.premise.split()) for pair in made)
    assert words[150] > half
    assert words[-1] <= words_max + 20
    assert made == long_pairs(material(words_max=words_max), count=300)


def test_a_filler_says_little_of_the_claim() -> None:
    claim = "Inspector3 wrote something about harbour ferry battery."
    assert all(overlap(part, claim) <= NEAR_MAX for part in material().filler(300, apart=claim))


def test_neither_a_negation_nor_its_side_tells_the_answer_of_chosen_pairs() -> None:
    written = {
        (True, False): (("No damage was done to house{}.", "The walls of shed{} stayed whole."), ("No damage was done to house{}.", "Flames ate shed{}.")),
        (False, True): (("Flames ate house{}.", "The walls of shed{} did not hold."), ("Flames ate house{}.", "No shed{} was ever in danger.")),
    }
    pairs = [
        Pair(premise.format(number), hypothesis.format(number), target)
        for ways in written.values()
        for (premise, hypothesis), target in zip(ways, (0, CONTRADICTION), strict=True)
        for number in range(20 if target else 9)
    ]
    shared = Pair("No damage was done.", "Damage was done.", CONTRADICTION)
    neutral = Pair("No damage was done.", "The roof may be red.", NEUTRAL)
    made = chosen_pairs([*pairs, shared, neutral], count=40, chance=random.Random(1))
    counts = Counter((negations(pair.premise) > 0, negations(pair.hypothesis) > 0, pair.target) for pair in made)
    for case in CASES:
        assert counts[*case, 0] == counts[*case, CONTRADICTION]
    assert len(made) >= 20
    assert all(overlap(pair.premise, pair.hypothesis) <= OVERLAP_MAX for pair in made)


def test_a_verb_and_its_complement_change_places() -> None:
    made = complement_pairs(["The board rejected the second plan on Friday."], count=10, chance=random.Random(1))
    entailed = {(pair.premise, pair.hypothesis) for pair in made if pair.target == 0}
    against = {(pair.premise, pair.hypothesis) for pair in made if pair.target == CONTRADICTION}
    said, same = "The board rejected the second plan on Friday.", "The board did not accept the second plan on Friday."
    other, undone = "The board accepted the second plan on Friday.", "The board did not reject the second plan on Friday."
    assert entailed <= {(said, same), (same, said), (undone, other)}
    assert against <= {(said, other), (other, same), (same, undone)}
    assert len(entailed) == len(against) == 2


def test_written_states_deny_without_a_negation_and_have_twins() -> None:
    known = list(states(STATES.read_text(encoding="utf-8")))
    assert all(len(same) >= 2 and len(denied) >= 2 for same, denied in known)
    assert sum(negations(" ".join(denied)) > 0 for _, denied in known) <= 3
    made = state_pairs(count=600, chance=random.Random(1))
    assert not any("{" in pair.premise + pair.hypothesis for pair in made)
    for target in (0, CONTRADICTION):
        assert 0.25 < sum(pair.target == target for pair in made) / len(made) < 0.7


def test_a_state_without_an_opposite_is_named_by_its_line() -> None:
    with pytest.raises(ValueError, match="line 2"):
        list(states("# a comment\nNobody came."))
