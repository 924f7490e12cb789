import asyncio
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.doubles.judges.careful_reader import CarefulReader, reading_of
from tests.scorers.summary.fakes import gold
from touchstone.ops.lab.losses.truth import Error, Truth, Variant, truths
from touchstone.scorers.judges.ask.message import render
from touchstone.scorers.summary.judge_prompt import prompt
from touchstone.scorers.summary.judging.verdicts import StatementVerdicts

TRUTH = Path(__file__).parents[2] / "scorers" / "summary" / "truth"
FACTS = ("The bakery opened in Ghent in 1998.", "Its owner is Ann.", "Rye bread won a prize.", *(f"Shop {number} is small." for number in range(7)))
REST = " ".join(FACTS[3:])


def variant(name: str, kind: str, text: str, wording: str = "gold", omitted: int = 0, *errors: str, rule: str = "date") -> Variant:
    return Variant(id=name, wording=wording, kind=kind, errors=tuple(Error(rule=rule, note=note) for note in errors), omitted=omitted, text=text)  # type: ignore[arg-type]


COPY = variant("copy", "faithful", " ".join(FACTS))
WRONG = variant("wrong", "wrong", f"The bakery opened in Ghent in 1989. {FACTS[1]} {FACTS[2]} {REST}", "gold", 0, "1998 -> 1989")
PADDED = variant("padded", "padded", " ".join([*FACTS, "A king came by."]), "gold", 0, "a king", rule="unsupported")
HALF = variant("half", "incomplete", f"{FACTS[0]} {REST}", "gold", 2)
OTHER = variant("other", "faithful", f"Since 1998 Ghent has had this bakery, and Ann owns it. Prized: the rye. {REST}", "paraphrase")
SET = Truth(name="bakery", kind="news", gold=gold(key_facts=FACTS, summary=" ".join(FACTS)), variants=(COPY, WRONG, PADDED, HALF, OTHER))


def asked(of: Variant, ids: str) -> Any:
    lines = "\n".join(f"S{number}: {sentence}" for number, sentence in enumerate(re.split(r"(?<=\.) ", of.text), 1))
    facts = "\n".join(f"F{number}: {fact}" for number, fact in enumerate(FACTS, 1))
    return SimpleNamespace(last=render(prompt(), {"facts": facts, "narrative": facts, "source": "(none)", "summary": lines, "asked": ids}).user)


@pytest.mark.parametrize("of", [COPY, OTHER], ids=["copy", "other words"])
def test_a_faithful_text_is_supported_everywhere_in_whatever_words(of: Variant) -> None:
    reading = reading_of(SET, of)
    assert set(reading.facts) == set(reading.sentences) == {"supported"}


def test_an_error_contradicts_its_sentence_and_the_fact_that_its_note_is_about() -> None:
    reading = reading_of(SET, WRONG)
    assert [index for index, word in enumerate(reading.sentences) if word == "contradicted"] == [0]
    assert [index for index, word in enumerate(reading.facts) if word == "contradicted"] == [0]


def test_what_is_made_up_or_left_out_is_absent() -> None:
    assert reading_of(SET, PADDED).sentences == ("supported",) * 10 + ("absent",)
    assert set(reading_of(SET, PADDED).facts) == {"supported"}
    assert [index for index, word in enumerate(reading_of(SET, HALF).facts) if word == "absent"] == [1, 2]


def test_it_answers_what_is_asked_in_the_form_of_the_suite() -> None:
    told = StatementVerdicts.model_validate(CarefulReader([SET])(asked(WRONG, "F1, F2, S1")))
    assert [(one.id, one.evidence, one.verdict) for one in told.statements] == [
        ("F1", "S1", "contradicted"),
        ("F2", "S2", "supported"),
        ("S1", "F1", "contradicted"),
    ]


def test_a_text_that_the_truth_set_does_not_have_is_a_mistake_of_the_script() -> None:
    with pytest.raises(ValueError, match="no variant"):
        CarefulReader([SET])(asked(variant("new", "faithful", "Nobody wrote this."), "F1"))


@pytest.mark.parametrize("half", ["dev", "unseen"])
async def test_of_the_truth_set_it_finds_as_many_wrong_sentences_as_there_are_errors_or_fewer_and_as_many_omissions(half: str) -> None:
    for truth in await asyncio.to_thread(truths, TRUTH / half):
        for of in truth.variants:
            reading = reading_of(truth, of)
            wrong = sum(word != "supported" for word in reading.sentences)
            assert wrong <= len(of.errors) + 1, of.id  # one error may have made two sentences of one
            assert bool(wrong) == bool(of.errors), of.id
            assert reading.facts.count("absent") == of.omitted, of.id
            assert reading.facts.count("contradicted") <= len(of.errors), of.id
