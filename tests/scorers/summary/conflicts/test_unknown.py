from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.scorers.summary.fakes import FACTS, TableEngines, case, gold, same_words, scorer
from touchstone.scorers.summary.components.rulings import Rulings
from touchstone.scorers.summary.conflicts.conflict import Conflict
from touchstone.scorers.summary.conflicts.unknown.finding import unknown
from touchstone.scorers.summary.conflicts.wording import differences as wording_differences
from touchstone.scorers.summary.labels import capped
from touchstone.scorers.summary.settings import Conflicts

CORPUS = Path(__file__).parents[1] / "corpus"
TEXTS = (
    "Dr Ingrid Sorensen saw 412 patients in Oslo on 3 May 2021.",
    "The router at 192.168.7.1 runs version 4.2.1.",
    "A third of them, 20 of 60, slept in ward 12B.",
)


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CORPUS / name).read_text(encoding="utf-8").splitlines()]


DEVELOPMENT, UNSEEN = _rows("unknown.jsonl"), _rows("unknown_unseen.jsonl")
_CHANCE = {"Treatment now takes 50 minutes less.", "Schools get 49 million euros.", "An inspector checks some 980 kitchens a year."}
#: A cost of being silent: these could have been worked out from other values.
MISSED = {"The service listens on port 8344.", "The invoice listed 73 spare antennas.", "Every certificate has to be replaced after 45 days.", *_CHANCE}


def _rules(row: dict[str, Any]) -> set[str]:
    return {found.rule for found in unknown([row["sentence"]], row["gold"])}


@pytest.mark.parametrize("row", DEVELOPMENT, ids=lambda row: row["sentence"][:60])
def test_what_is_unknown_is_found_and_what_is_known_or_follows_is_not(row: dict[str, Any]) -> None:
    assert bool(_rules(row)) == (bool(row["rule"]) and row["sentence"] not in MISSED)


def test_most_of_what_is_unknown_in_unseen_rows_is_found_without_a_false_alarm() -> None:
    wrong, faithful = ([row for row in UNSEEN if bool(row["rule"]) == has] for has in (True, False))
    assert sum(bool(_rules(row)) for row in wrong) >= 0.8 * len(wrong)
    assert not [row["sentence"] for row in faithful if _rules(row)]


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("The patients were seen by Dr Whitlock.", ["Whitlock"]),
        ("She was given bisoprolol afterwards.", ["bisoprolol"]),
        ("The router answers at 192.168.1.7 now.", ["192.168.1.7"]),
        ("They slept in ward 12C that night.", ["12C"]),
        ("Sorensen saw 976 patients on 3 May 2021.", ["976"]),
        ("She saw 2,884 patients each week.", ["2,884"]),  # nothing is told of a day
        ("In all 412 patients, or 20 of 60, were seen in May.", []),
        ("Forty of the sixty did not sleep there, which is 67 percent.", []),
        ("Budget Approved And Pool Saved: Marwick Report", []),
        ("The WHO and NASA said nothing.", []),
        ("Trondheim", []),
    ],
)
def test_the_words_that_are_unknown_are_named(sentence: str, words: list[str]) -> None:
    assert [sentence[slice(*found.here)] for found in unknown([sentence], TEXTS) if found.here] == words


@pytest.mark.parametrize(
    "sentence",
    [
        "Der Bericht wurde von Frau Keller im Rathaus der Stadt Bonn mit großer Mehrheit angenommen.",  # German writes every noun with a capital
        "会议由史密斯主持。",
    ],
)
def test_names_are_judged_in_english_alone(sentence: str) -> None:
    assert unknown([sentence], TEXTS) == []


def test_names_beside_a_gold_in_another_script_are_not_judged() -> None:
    assert unknown(["The meeting was led by Anna Petrova in Moscow."], ["Собрание вела Анна Петрова в Москве."]) == []


def test_what_another_rule_has_found_is_not_found_again() -> None:
    sentence = "Sorensen saw 976 patients."
    assert unknown([sentence], TEXTS, [Conflict("number", 0, None, (13, 16))]) == []


def _with_source(text: str, token_count: int) -> Any:
    datum = gold()
    entry = datum.entry.model_copy(update={"text": text, "token_count": token_count})
    return datum.model_copy(update={"entry": entry})


WRITTEN = " ".join(FACTS[:3]) + " It was measured by Anna Petrova."


@pytest.mark.parametrize(
    ("source", "tokens", "settings", "found"),
    [
        ("The facts hold. " * 20, 80, {}, True),
        ("The facts hold, and Anna Petrova measured them. " * 20, 200, {}, False),
        ("The facts hold. " * 20, 80, {"conflicts": {"unknown": False}}, False),
        ("A title.", 900, {}, None),
        ("The facts hold. " * 20, 80, {"limits": {"source_chars_max": 40}}, None),
    ],
)
async def test_unknown_names_are_found_only_where_the_whole_source_is_read(source: str, tokens: int, settings: dict[str, Any], found: bool | None) -> None:
    card = await scorer(TableEngines(same_words), **settings).score(case(WRITTEN, datum=_with_source(source, tokens)))
    assert ("conflict.unknown_name" in {finding.code for finding in card.findings}) is bool(found)
    assert ("conflicts.unknown" in {one.check for one in card.not_checked}) is (found is None)
    assert "Petrova" not in card.model_dump_json()


def test_what_is_unknown_caps_the_label() -> None:
    assert capped("Pass", [Conflict("unknown_name", 0, None, (0, 4))], Conflicts()) == "Review"


async def test_with_quote_the_unknown_words_are_named() -> None:
    card = await scorer(TableEngines(same_words), quote=True).score(case(WRITTEN, datum=_with_source("The facts hold. " * 20, 80)))
    assert ["Anna Petrova" in finding.message for finding in card.findings if finding.code == "conflict.unknown_name"] == [True]


def test_a_judge_that_finds_a_sentence_absent_withdraws_no_unknown_name() -> None:
    import numpy as np

    from touchstone.scorers.summary.components.rulings import Ruling

    conflict = Conflict("unknown_name", 0, None, (0, 4))
    ruled = {word: Rulings(sentences={0: Ruling(word)}).revise([conflict], [], np.zeros((1, 0))) for word in ("absent", "supported")}  # type: ignore[arg-type]
    assert conflict in ruled["absent"].conflicts
    assert conflict in ruled["supported"].withdrawn


@pytest.mark.parametrize("text", ["", "12 " * 3_000, "Aa " * 3_000, "1-2.3/4" * 2_000, "192.168.1." * 3_000, "A1 B2 " * 3_000])
def test_hostile_text_is_searched_in_bounded_time(text: str) -> None:
    begun = time.process_time()
    unknown([text[:20_000]], [text[::-1][:20_000], *TEXTS] * 3)
    assert time.process_time() - begun < 10


@pytest.mark.parametrize(
    ("sentence", "source"),
    [
        ("Die Kosten der Brücke in der Stadt betrugen 3,5 Millionen Euro.", "3.500.000 Euro kostete die Brücke, und die Stadt zahlte sie."),
        ("Der Rat war in der Stadt, und die Ernte war an der Mauer.", "Das Amt und der Garten, von dem die Rede ist."),
        ("Mayor Dupont opened it in London with the guests.", "Le maire Dupont a inauguré le pont à Londres et il a dit que la ville est là."),
        ("Мэр открыл мост 14 марта 2019 года.", "Мэр открыл мост 14.03.2019."),
    ],
)
def test_names_and_numbers_are_judged_where_summary_and_source_are_english(sentence: str, source: str) -> None:
    assert unknown([sentence], [source]) == []


@pytest.mark.parametrize("sentence", ["The Health-Track app was launched by them.", "### Costs And Savings"])
def test_a_name_in_two_words_and_a_marked_heading_are_not_unknown(sentence: str) -> None:
    assert unknown([sentence], ["HealthTrack was launched by them."]) == []


@pytest.mark.parametrize(
    ("sentence", "source"),
    [
        ("The {0} {1} {2} {3} people of the town came to the hall.", "The {4} {5} {6} people of the town came to the hall."),
        ("The men of ward {0}B and of ward {1}B were at {2}-{3} then.", "The ward of the town."),
    ],
)
def test_hundreds_of_sentences_full_of_numbers_are_searched_in_bounded_time(sentence: str, source: str) -> None:
    summary = [sentence.format(*(7_001 + 97 * row + 13 * place for place in range(7))) for row in range(500)]
    begun = time.process_time()
    unknown(summary, [source.format(*(900_001 + 89 * row + 17 * place for place in range(7))) for row in range(500)])
    assert time.process_time() - begun < 15


def test_a_sentence_like_a_table_is_compared_in_bounded_time() -> None:
    mine, its = (" and ".join(f"row {row} {share}% and {score}" for row in range(600)) for share, score in ((40, "3-1"), (60, "1-3")))
    begun = time.process_time()
    wording_differences.find(f"We won {mine}.", [f"We lost {its}, {unit}." for unit in range(8)])
    assert time.process_time() - begun < 10


@pytest.mark.parametrize("text", ["", "A title."])
async def test_a_gold_without_its_source_and_its_token_count_makes_no_name_unknown(text: str) -> None:
    card = await scorer(TableEngines(same_words)).score(case(WRITTEN, datum=_with_source(text, 0)))
    assert "conflicts.unknown" in {one.check for one in card.not_checked}
    assert "conflict.unknown_name" not in {finding.code for finding in card.findings}


@pytest.mark.parametrize(
    ("sentence", "is_known"),
    [
        ("About 6.5 million vehicles crossed the bridge each year.", True),
        ("About 6.5 million vehicles crossed the bridge each month.", False),
        ("About 6.5 million vehicles crossed the bridge.", False),
        ("About 6.5 million cyclists rode over the bridge each year.", False),
        ("Each week 126,000 vehicles crossed the bridge.", True),
        ("750 vehicles crossed the bridge in an hour.", True),
    ],
)
def test_a_rate_is_worked_out_for_the_period_that_the_sentence_names(sentence: str, *, is_known: bool) -> None:
    assert (unknown([sentence], ["About 18,000 vehicles crossed the bridge each day."]) == []) is is_known
