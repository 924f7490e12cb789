import json
from pathlib import Path

import pytest

from tests.ops.lab.laboratory import Laboratory
from tests.scorers.clinical.consistency.patient import ADT, CCDA, fhir
from touchstone.ops.lab.consistency.pairs import sample_pairs


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Laboratory:
    monkeypatch.chdir(tmp_path)
    for form, name, source, content in (("Hl7v2/ADT", "adt", "hl7v2/microsoft/adt.hl7", ADT), ("Ccda/CCD", "ccd", "ccda/microsoft/ccd.ccda", CCDA)):
        for path, text in ((f"crossformat/microsoft-expected/{form}/{name}-expected.json", json.dumps(fhir())), (source, content)):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(text, encoding="utf-8")
    return Laboratory(capfdbinary)


def test_contradictions_in_a_pair_are_caught_and_equal_documents_raise_no_alarm(run: Laboratory) -> None:
    ran = run("consistency", "--data", ".", "--json")
    halves = json.loads(ran.out).values()

    assert ran.code == 0
    assert sum(half["pairs"] for half in halves) == sum(half["without_finding"] for half in halves) == 2
    assert sum(half["changes"] for half in halves) >= 60
    assert [alarm for half in halves for alarm in half["alarms"]] == []
    assert sum(half["caught"] for half in halves) >= 0.95 * sum(half["changes"] for half in halves)


def test_the_sample_patients_are_consistent_in_all_formats() -> None:
    told = [(pair.name, [finding.code for finding in pair.checked().findings]) for pair in sample_pairs()]

    assert len(told) >= 20
    assert [one for one in told if one[1]] == []


def test_a_folder_that_is_not_there_is_said_to_be_missing(run: Laboratory) -> None:
    ran = run("consistency", "--data", "nowhere")

    assert ran.code == 3
    assert "nowhere: no such folder" in ran.err


def test_a_folder_without_pairs_is_an_error_that_says_what_it_needs(run: Laboratory) -> None:
    Path("empty").mkdir()
    ran = run("consistency", "--data", "empty")

    assert ran.code == 3
    assert "holds no pairs; it needs crossformat/microsoft-expected" in ran.err
