import asyncio
import json
from pathlib import Path

import pytest

from tests.ops.lab.laboratory import Laboratory
from tests.scorers.summary.fakes import FACTS, TableEngines, gold, same_words, scorer
from tests.scorers.summary.judging.judges import TableJudge
from tests.scorers.summary.judging.judges import scorer as judged
from touchstone.ops.lab.losses import recall
from touchstone.ops.lab.losses.run import measured, sets_of
from touchstone.ops.lab.losses.truth import Error, Scored, Variant, figures, truths
from touchstone.schemas.result import Finding, Scorecard
from touchstone.scorers.base import ConfigError, Unavailable

TRUTH = Path(__file__).parents[3] / "scorers" / "summary" / "truth"


def variant(name: str, wording: str, kind: str, errors: int = 0, omitted: int = 0) -> Variant:
    return Variant(id=name, wording=wording, kind=kind, errors=(Error(rule="number"),) * errors, omitted=omitted, text=name)  # type: ignore[arg-type]


def scored(what: Variant, loss: float, label: str, *codes: str) -> Scored:
    findings = tuple(Finding(severity="major", code=code, path="generated", message="") for code in codes)
    return Scored("one", what, Scorecard(label=label, values={"loss": loss}, findings=findings))  # type: ignore[arg-type]


def test_the_figures_of_a_small_set_by_hand() -> None:
    told = figures(
        [
            scored(variant("copy", "gold", "faithful"), 0.1, "Pass"),
            scored(variant("copy-1", "gold", "wrong", errors=1), 0.2, "Review", "conflict.number"),
            scored(variant("copy-2", "gold", "wrong", errors=2), 0.15, "Pass"),
            scored(variant("words", "paraphrase", "faithful"), 0.18, "Pass"),
            scored(variant("words-1", "paraphrase", "wrong", errors=1), 0.4, "Review"),
            scored(variant("half", "paraphrase", "incomplete", omitted=5), 0.5, "Fail"),
        ]
    )
    # same wording: copy < copy-1, copy < copy-2, copy-1 < copy-2 (wrong), words < words-1, words < half; words-1 and half cannot be weighed
    assert told["same_wording"] == pytest.approx(4 / 5)
    # across: copy < words-1, words < copy-1, words > copy-2
    assert told["across_wordings"] == pytest.approx(2 / 3)
    assert told["paraphrase_over_copy"] == pytest.approx(1 / 2)
    assert told["wrong_pass"] == pytest.approx(1 / 3)
    assert (told["paraphrase_pass"], told["faithful_pass"], told["incomplete_pass"], told["padded_pass"]) == (1, 1, 0, None)
    assert told["errors_found"] == pytest.approx(1 / 3)
    assert told["false_alarms"] == 0


def test_made_up_sentences_are_weighed_against_faithful_texts_only() -> None:
    padded, wrong = scored(variant("more", "gold", "padded", errors=2), 0.1, "Pass"), scored(variant("copy-1", "gold", "wrong", errors=1), 0.2, "Pass")
    assert figures([padded, wrong])["same_wording"] is None
    assert figures([padded, scored(variant("copy", "gold", "faithful"), 0.05, "Pass")])["same_wording"] == 1


def test_pairs_of_realsumm_are_counted_within_a_document_and_ties_count_half() -> None:
    def card(loss: float) -> Scorecard:
        return Scorecard(label="Pass", values={"loss": loss, "facts_loss": 1 - loss, "recall": 0.5})

    told = recall.figures([("a", 0.9, card(0.1)), ("a", 0.5, card(0.3)), ("a", 0.5, card(0.2)), ("b", 0.1, card(0.0))])
    assert (told["documents"], told["summaries"]) == (2, 4)
    assert (told["loss_pairs"], told["facts_loss_pairs"], told["recall_pairs"]) == (1, 0, 0.5)


def test_the_sets_of_this_repository_can_be_read_and_their_halves_share_no_gold() -> None:
    parts = {part: truths(TRUTH / part) for part in ("dev", "unseen", "third_dev", "third_unread")}
    names = [truth.gold.entry.source_id for known in parts.values() for truth in known]
    assert min(map(len, parts.values())) >= 5
    assert len(names) == len(set(names)) >= 32
    assert all(len(truth.variants) >= 20 for known in parts.values() for truth in known)


def test_a_folder_is_measured_with_the_suites_own_scorer(tmp_path: Path) -> None:
    text = " ".join(FACTS)
    variants = [
        {"id": "copy", "wording": "gold", "kind": "faithful", "text": text},
        {"id": "half", "wording": "gold", "kind": "incomplete", "omitted": 5, "text": " ".join(FACTS[:5])},
    ]
    document = {"name": "facts", "kind": "test", "gold": gold().model_dump(mode="json"), "variants": variants}
    (tmp_path / "facts.json").write_text(json.dumps(document))
    told = asyncio.run(measured(scorer(TableEngines(same_words)), sets_of(tmp_path), documents_max=None, step=lambda *_: None))
    assert told["truth"]["same_wording"] == 1


def test_a_file_that_is_no_truth_set_is_named_with_the_field(tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text('{"name": "x", "kind": "y", "variants": []}')
    with pytest.raises(ConfigError, match=r"odd\.json: gold does not fit a truth set"):
        truths(tmp_path)


def _truth(name: str) -> str:
    variants = [{"id": "copy", "wording": "gold", "kind": "faithful", "text": "A copy."}]
    return json.dumps({"name": name, "kind": "test", "gold": gold().model_dump(mode="json"), "variants": variants})


def test_two_golds_of_one_name_are_not_measured_as_one(tmp_path: Path) -> None:
    for file in ("a", "b"):
        (tmp_path / f"{file}.json").write_text(_truth("same"))
    with pytest.raises(ConfigError, match=r"b\.json: another file has a gold of the same name"):
        truths(tmp_path)


def test_what_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(ConfigError, match=r"folder\.json: cannot be read"):
        truths(tmp_path)
    (tmp_path / "folder.json").rmdir()
    (tmp_path / "gone.json").symlink_to(tmp_path / "nothing")
    with pytest.raises(ConfigError, match=r"gone\.json: cannot be read"):
        truths(tmp_path)
    with pytest.raises(ConfigError, match="absent: is not a folder"):
        sets_of(tmp_path / "absent")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"scu_labels": []}, "realsumm_scu.jsonl, row 1: scu_labels does not fit REALSumm"),
        ({"scus": [], "scu_labels": []}, "row 1: scus does not"),
        ({"summary": 5}, "row 1: summary does not"),
        ({"doc_id": ["1"]}, "row 1: doc_id does not"),
        ({"doc_id": "2"}, "belongs to a document of realsumm_docs"),
    ],
)
def test_rows_that_are_not_realsumms_are_named_before_a_model_is_loaded(tmp_path: Path, changed: dict[str, object], said: str) -> None:
    row = {"doc_id": "1", "summary": "It was so.", "scus": ["It was so."], "scu_labels": [1]}
    (tmp_path / "realsumm_docs.jsonl").write_text(json.dumps({"doc_id": "1", "doc": "It was so.", "reference": "It was so."}))
    (tmp_path / "realsumm_scu.jsonl").write_text(json.dumps(row))
    told = asyncio.run(measured(scorer(TableEngines(same_words)), sets_of(tmp_path), documents_max=None, step=lambda *_: None))
    assert (told["realsumm"]["documents"], told["realsumm"]["summaries"]) == (1, 1)
    (tmp_path / "realsumm_scu.jsonl").write_text(json.dumps(row | changed))
    with pytest.raises(ConfigError, match=said) as caught:
        sets_of(tmp_path)
    assert "It was so" not in str(caught.value)


def test_a_folder_without_a_set_is_one_line(capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> None:
    ran = Laboratory(capfdbinary)("losses", "--data", tmp_path)
    assert ran.code == 3
    assert "holds neither a truth set" in ran.one_line


async def test_a_judge_that_is_away_ends_the_measuring_in_one_line(tmp_path: Path) -> None:
    truth = {"name": "one", "kind": "news", "gold": gold().model_dump(mode="json"), "variants": [variant("copy", "gold", "faithful").model_dump()]}
    truth["variants"][0]["text"] = FACTS[1]
    (tmp_path / "one.json").write_text(json.dumps(truth))
    with pytest.raises(ConfigError, match="judge_5xx: a case could not be scored"):
        await measured(judged(TableJudge(Unavailable("judge_5xx"))), sets_of(tmp_path), documents_max=None, step=lambda *_: None)


async def test_with_a_judge_the_figures_say_what_was_asked_of_a_case(tmp_path: Path) -> None:
    truth = {"name": "one", "kind": "news", "gold": gold().model_dump(mode="json"), "variants": [variant("copy", "gold", "faithful").model_dump()]}
    truth["variants"][0]["text"] = " ".join(FACTS)
    (tmp_path / "one.json").write_text(json.dumps(truth))
    told = (await measured(judged(TableJudge()), sets_of(tmp_path), documents_max=None, step=lambda *_: None))["judge"]
    assert (told["cases_judged"], told["requests_a_case"], told["facts_asked_a_case"], told["facts_differ_a_case"]) == (1, 1, 5, 5)
