import asyncio
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from touchstone.ops.lab.models.files import rows, sample
from touchstone.ops.lab.models.report import PLAIN, measured
from touchstone.ops.lab.models.sets import Answer, Support, find_sets
from touchstone.scorers.base import ConfigError


def write(path: Path, *values: object) -> Path:
    data = b"".join(orjson.dumps(value) + b"\n" for value in values)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


class SameWords:
    """Entails what stands in the premise word for word, contradicts what the premise denies with "not", else is neutral."""

    model = "same-words@0"

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> Any:
        out = []
        for premise, hypothesis in pairs:
            if hypothesis.rstrip(".") in premise:
                out.append((0.9, 0.1, 0.0))
            elif "not" in hypothesis:
                out.append((0.0, 0.1, 0.9))
            else:
                out.append((0.1, 0.8, 0.1))
        return np.array(out, dtype=np.float32)

    async def embed(self, texts: Sequence[str]) -> Any:
        return np.array([(1.0, 0.0)] * len(texts), dtype=np.float32)

    async def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


class TableEngines:
    nli = embedder = SameWords()

    def readings(self) -> list[Any]:
        return []

    async def close(self) -> None:
        pass


def evaluated(folder: Path, **chosen: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"support": "nli", "size": None, "only": None, "say": lambda _: None, "calibration": None} | chosen
    return asyncio.run(measured(TableEngines(), folder, **given))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(
        tmp_path / "mnli_m_part.jsonl.gz",
        {"premise": "Rain falls.", "hypothesis": "Rain falls.", "label": "entailment"},
        {"premise": "Rain falls.", "hypothesis": "Rain does not fall.", "label": "contradiction"},
        {"premise": "Rain falls.", "hypothesis": "Wind blows.", "label": "entailment"},
    )
    write(
        tmp_path / "realsumm_scu_part.jsonl",
        {"doc_id": "a", "summary": "Rain falls. Wind blows.", "scus": ["Rain falls.", "Snow melts."], "scu_labels": [1, 0]},
        {"doc_id": "a", "summary": "Snow melts.", "scus": ["Rain falls.", "Snow melts."], "scu_labels": [0, 0]},
        {"doc_id": "a", "summary": "Rain falls. Snow melts.", "scus": ["Rain falls.", "Snow melts."], "scu_labels": [1, 1]},
    )
    write(
        tmp_path / "rank19_part.jsonl",
        {"premise": "Rain falls here.", "correct": "Rain falls.", "incorrect": "Rain does not fall."},
        {"premise": "Rain falls here.", "correct": "Wind blows.", "incorrect": "Rain falls."},
    )
    return tmp_path


def test_figures_are_those_worked_out_by_hand(folder: Path) -> None:
    told = evaluated(folder)
    assert told["sets"]["mnli_m"]["accuracy"] == pytest.approx(2 / 3)
    # Positives .9, .9, .9; negatives .1, .1, .9: each positive beats two of three and ties with one.
    assert told["sets"]["realsumm_scu"]["auroc"] == pytest.approx(7.5 / 9)
    # Ours (.9+.1)/2, (.1+.9)/2, .9; human .5, 0, 1.
    assert told["sets"]["realsumm_docs"]["pearson"] == pytest.approx(float(np.corrcoef([0.5, 0.5, 0.9], [0.5, 0, 1])[0, 1]))
    # The second pair is the wrong way round.
    assert told["sets"]["rank19"]["accuracy"] == 0.5
    assert told["absent"] == ["summedits", "wice_claim"]
    assert told["floors"]["lexical"]["mnli_m"]["accuracy"] == pytest.approx(2 / 3)
    assert json.loads(json.dumps(told))["model"] == "same-words@0"


def test_files_of_one_prefix_are_one_set(folder: Path) -> None:
    write(folder / "rank19_more.jsonl", {"premise": "Rain falls here.", "correct": "Rain falls.", "incorrect": "Rain does not fall."})
    figures = evaluated(folder, only="rank19")["sets"]["rank19"]
    assert (figures["n"], figures["accuracy"]) == (3, pytest.approx(2 / 3))


def test_a_set_that_has_no_figure_is_named(tmp_path: Path) -> None:
    write(tmp_path / "summedits_part.jsonl", {"doc": "Rain falls.", "claim": "Rain falls.", "label": 1})
    told = evaluated(tmp_path)
    assert told["undefined"] == ["summedits"]
    assert "summedits" not in told["sets"]


def test_only_what_is_asked_for_is_measured(folder: Path) -> None:
    assert evaluated(folder, only="rank19")["sets"].keys() == {"rank19"}
    with pytest.raises(ConfigError, match="no such set"):
        evaluated(folder, only="rank20")


def test_a_threshold_is_never_chosen_on_what_it_is_measured_on(tmp_path: Path) -> None:
    rows_ = [
        {"doc": f"Fact {document} holds.", "claim": f"Fact {document} holds." if good else "It is not so.", "label": int(good)}
        for document in range(40)
        for good in (True, False)
    ]
    figures = evaluated(tmp_path, only="summedits") if write(tmp_path / "summedits_part.jsonl", *rows_) else {}
    figures = figures["sets"]["summedits"]
    assert figures["balanced_accuracy"] == 1
    assert figures["n"] + figures["n_threshold"] == 80
    assert figures["n_threshold"] >= 2


def test_a_long_document_is_narrowed_and_its_claim_found(tmp_path: Path) -> None:
    evidence = [f"Line {number} says nothing." for number in range(40)]
    write(
        tmp_path / "wice_claim_part.jsonl",
        {"claim": "Line 3 says nothing.", "evidence": evidence, "label": "supported"},
        {"claim": "Line 3 is not there.", "evidence": evidence, "label": "not_supported"},
    )
    assert evaluated(tmp_path)["sets"]["wice_claim"]["n"] == 2


@pytest.mark.parametrize("content", [b"{", b"[1]\n", b'"text"\n'])
def test_a_row_that_is_no_object_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "mnli_m.jsonl"
    path.write_bytes(b'{"premise": "a", "hypothesis": "b", "label": "neutral"}\n' + content)
    with pytest.raises(ConfigError, match="line 2"):
        list(rows(path))


@pytest.mark.parametrize("row", [{"premise": "a"}, {"premise": "a", "hypothesis": "b", "label": 1}])
def test_a_row_of_another_layout_is_told_with_its_file(tmp_path: Path, row: dict[str, object]) -> None:
    write(tmp_path / "rank19_x.jsonl", row)
    with pytest.raises(ConfigError, match=r"rank19_x\.jsonl: a row"):
        evaluated(tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"no gzip", gzip.compress(b'{"premise": "a", "hypothesis": "b", "label": "neutral"}\n' * 9, mtime=0)[:-12]], ids=["empty", "other", "cut"]
)
def test_a_file_that_holds_no_rows_is_told_with_its_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "mnli_m_x.jsonl.gz").write_bytes(content)
    with pytest.raises(ConfigError, match=r"mnli_m_x\.jsonl\.gz: "):
        evaluated(tmp_path)


def test_a_row_without_the_key_of_its_sample_or_with_an_unknown_label_is_told(tmp_path: Path) -> None:
    write(tmp_path / "summedits_x.jsonl", {"claim": "a", "label": 1}, {"claim": "b", "label": 0})
    with pytest.raises(ConfigError, match="a row has no 'doc'"):
        evaluated(tmp_path, size=1)
    (tmp_path / "summedits_x.jsonl").unlink()
    write(tmp_path / "mnli_m_x.jsonl", {"premise": "a", "hypothesis": "b", "label": "maybe"})
    with pytest.raises(ConfigError, match="a row has"):
        evaluated(tmp_path)


def test_the_combined_support_has_the_figure_that_only_the_model_can_give(folder: Path) -> None:
    told = evaluated(folder, support="nli+lexical")
    assert told["sets"]["mnli_m"] == told["supports"]["nli"]["mnli_m"]
    assert told["sets"]["realsumm_scu"] == told["supports"]["nli+lexical"]["realsumm_scu"]


def test_a_folder_without_sets_says_what_is_looked_for(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="mnli_m"):
        find_sets(tmp_path)
    with pytest.raises(ConfigError, match="cannot be read"):
        find_sets(tmp_path / "none")


def test_a_sample_keeps_documents_whole_and_is_the_same_every_time() -> None:
    all_rows = [{"doc_id": str(number // 5), "n": number} for number in range(50)]
    chosen = sample(all_rows, 12, "doc_id")
    assert len(chosen) == 15
    assert {row["doc_id"] for row in chosen} == {row["doc_id"] for row in sample(all_rows, 12, "doc_id")}
    assert len({row["doc_id"] for row in chosen}) == 3
    assert sample(all_rows, 99) is all_rows


def test_support_without_premises_is_none() -> None:
    nothing = np.zeros(0)
    assert PLAIN.present(Answer(nothing, nothing, nothing, nothing)).size == 0
    assert isinstance(PLAIN, Support)
