import io
import json
import os
import tarfile
from pathlib import Path

import pytest

from touchstone.ops.lab.agreement.alarms import as_json, as_text, main, measured, unjustified

MESSAGE = b"MSH|^~\\&|A|B|C|D|20260211101500-0600||ADT^A08^ADT_A08|1|P|2.5.1\rEVN||20260211080000-0600\rPID|1||1^^^G^MR||W^A\rPV1|1|I\r"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "fhir" / "r4-examples").mkdir(parents=True)
    (tmp_path / "fhir" / "r4-examples" / "patient.json").write_text('{"resourceType": "Patient", "gender": "female"}')
    (tmp_path / "hl7v2" / "vendor" / "labelled").mkdir(parents=True)
    (tmp_path / "hl7v2" / "vendor" / "a.hl7").write_bytes(MESSAGE)
    (tmp_path / "hl7v2" / "vendor" / "labelled" / "NO_PID3.hl7").write_bytes(MESSAGE)
    (tmp_path / "packages").mkdir()
    with tarfile.open(tmp_path / "packages" / "us_core_1.tgz", "w:gz") as archive:
        for name, content in (("package/package.json", {"name": "x"}), ("package/example/Patient-a.json", {"resourceType": "Patient", "gender": "X"})):
            data = json.dumps(content).encode()
            about = tarfile.TarInfo(name)
            about.size = len(data)
            archive.addfile(about, io.BytesIO(data))
    with tarfile.open(tmp_path / "packages" / "hl7.fhir.r4.examples-4.0.1.tgz", "w:gz") as archive:
        for name, content in (("package/package.json", {"name": "x"}), ("package/Patient-b.json", {"resourceType": "Patient", "gender": "male"})):
            data = json.dumps(content).encode()
            about = tarfile.TarInfo(name)
            about.size = len(data)
            archive.addfile(about, io.BytesIO(data))
    return tmp_path


def test_findings_are_counted_by_corpus_and_code_and_messages_named_for_a_fault_are_left_out(corpus: Path) -> None:
    found = as_json(measured(corpus))

    assert {name: (one["documents"], one["invalid"]) for name, one in found.items()} == {
        "r4-examples": (1, 0), "hl7.fhir.r4.examples-4.0.1": (1, 0), "us_core_1": (1, 1), "hl7v2 vendor": (1, 1)
    }  # fmt: skip
    (binding,) = [one for one in found["us_core_1"]["findings"] if one["severity"] == "major"]
    assert binding == {"code": "fhir.bindings.required", "severity": "major", "findings": 1, "documents": ["Patient-a.json"]}


def test_a_grave_code_of_which_nobody_knows_what_it_means_is_named(corpus: Path) -> None:
    found = measured(corpus)

    assert unjustified(found) == ["fhir.bindings.required"]
    assert "fhir.bindings.required: not looked at" in as_text(found, ("critical", "major"))
    assert "structure.message-structure: a structure that HL7 does not have" in as_text(found, ("critical", "major"))


def test_the_command_prints_grave_codes_and_all_where_asked(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(corpus)])
    grave = capsys.readouterr().out
    main([str(corpus), "--all"])
    everything = capsys.readouterr().out

    assert "structure.message-structure" in grave
    assert "\ninfo " not in grave
    assert "\ninfo " in everything


def test_every_grave_finding_on_the_valid_documents_at_hand_is_known_for_what_it_is() -> None:
    root = os.environ.get("TOUCHSTONE_DATA")
    if not root or not (Path(root) / "clinical-dev" / "packages").is_dir():
        pytest.skip("TOUCHSTONE_DATA names no folder with clinical-dev/packages")
    found = measured(Path(root) / "clinical-dev")

    assert unjustified(found) == []
    #: FHIR's documents with an error of the format itself: the official validator finds one in each, too.
    grave = {
        (name, document)
        for name, one in found.items()
        for (code, severity), documents in one.where.items()
        if code.startswith("fhir.") and severity in {"critical", "major"}
        for document in documents
    }
    assert {name for name, _ in grave} <= {"us_core_311", "us_core_400", "us_core_610"}
    assert {document for _, document in grave} == {
        "Bundle-66c8856b-ba11-4876-8aa8-467aad8c11a2.json",
        "Bundle-c887e62f-6166-419f-8268-b5ecd6c7b901.json",
        "Bundle-uscore-mo3.json",
        "DiagnosticReport-cardiology-report.json",
    }
