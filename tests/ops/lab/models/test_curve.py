"""The curve of entailment by words of premise, on a model's invented answers."""

from pathlib import Path

import numpy as np

from touchstone.ops.lab.models.curve import KINDS, PARTS, WORDS, as_text, lengths, measured, premise, reworded
from touchstone.ops.lab.models.files import rows

CORPUS = Path(__file__).with_name("curve")
OWN = [f"Own sentence number {place} has eight words here." for place in range(9)]
OTHER = [f"Another text says {place} things in eight words." for place in range(9)]


def test_premises_hold_the_sentence_only_where_they_should() -> None:
    for words in (8, 30, 72):
        found = {kind: premise(kind, OWN, 4, OTHER, words) for kind in KINDS}
        assert {kind for kind, text in found.items() if OWN[4] in text} == {"holds"}
        assert all(len(found[kind].split()) >= words for kind in ("other", "holds"))
    assert premise("repeated", OWN, 4, OTHER, 24).count(OTHER[4].rstrip(".")) == 3
    assert OWN[4] not in premise("rest", OWN, 4, OTHER, 500)


def test_a_perfect_model_has_a_perfect_curve() -> None:
    yes, no = np.array([[0.9, 0.1, 0.0]] * 4), np.array([[0.1, 0.9, 0.0]] * 4)
    answers = {(kind, words): yes if kind == "holds" else no for kind in KINDS for words in WORDS}
    found = measured(answers)
    assert [row["words"] for row in found] == list(WORDS)
    assert all(row["auroc"] == 1 and row["holds"]["half"] == 1 and row["repeated"]["mean"] == 0.1 for row in found)
    wording = reworded(np.array([[0.8, 0.1, 0.1]] * 3), np.array([[0.1, 0.1, 0.8]] * 3))
    assert wording["auroc_entailment"] == wording["auroc_contradiction"] == 1
    text = as_text({"model": "m", "parts": PARTS, "words": found, "rewordings": {"text_entails_fact": wording}})
    assert "0.100 (0.00)" in text
    assert "3 rewordings: AUROC 1.000 by entailment" in text


def test_the_corpus_is_whole() -> None:
    texts = list(rows(CORPUS / "texts.jsonl"))
    wordings = list(rows(CORPUS / "rewordings.jsonl"))
    for all_rows in (texts, wordings):
        parts = [row["part"] for row in all_rows]
        assert set(parts) == set(PARTS)
        assert 3 * parts.count("unread") == len(parts)
    assert all(sum(len(sentence.split()) for sentence in text["sentences"]) >= WORDS[-1] for text in texts)
    assert all(0 <= fact["at"] < len(text["sentences"]) for text in texts for fact in text["facts"])
    assert all(row[key] for row in wordings for key in ("id", "fact", "same", "other"))
    asked = lengths(texts)
    assert len(asked["other", 20]) == len(texts) * (len(texts) - 1) * 5
    assert len(asked["holds", 300]) == len(texts) * 5
