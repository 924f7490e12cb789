import os
import re
from pathlib import Path

import pytest

from touchstone.scorers.clinical.formats.hl7v2 import Document
from touchstone.scorers.clinical.formats.hl7v2.validator import check_document
from touchstone.scorers.clinical.report import Context, Report

ROOT = Path(os.environ.get("TOUCHSTONE_DATA", "")) / "clinical-dev" / "hl7v2"
HERE = bool(os.environ.get("TOUCHSTONE_DATA")) and ROOT.is_dir()
pytestmark = pytest.mark.skipif(not HERE, reason="TOUCHSTONE_DATA names no folder with clinical-dev/hl7v2")

FILES = sorted(path for path in ROOT.rglob("*") if path.is_file() and path.suffix in {".txt", ".hl7"}) if HERE else []
LABELLED = [path for path in FILES if path.parent.name.startswith("labelled")]
#: What a file's name promises: (words of the name, severities that count, code, path).
PROMISES = [
    (r"NO_MSH(\d+)", {"critical", "major"}, r".*", r"MSH-{0}(\D.*)?"),
    (r"DUPLICATE_OBX", {"major"}, r"observations\.duplicate", r"OBX.*"),
    (r"OBX2CWE_OBX5ST", {"major"}, r".*", r"OBX\[\d+\]-5.*"),
    (r"PID(\d+)_ERROR", {"critical", "major", "minor"}, r".*", r"PID-{0}(\D.*)?"),
    (r"SAME_OBX3_NULL_OBX4", {"major"}, r"observations\.sub-id", r"OBX.*"),
    (r"WITH_PID(\d+)\.1_NO_PID\1\.3", {"major"}, r".*coding-system.*", r"PID-{0}(\D.*)?"),
]


def checked(path: Path) -> tuple[Document, Report]:
    report = Report()
    return check_document(path.read_bytes(), Context(), report), report


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_real_file_is_read_whole_and_judged_without_a_crash(path: Path) -> None:
    document, report = checked(path)

    data = path.read_bytes()
    if b"MSH|" not in data:
        assert [found.code for found in report.findings] == ["structure.no-message"]
        return
    lines = [line for line in re.split(rb"[\r\n]+", data) if line.strip()]
    kept = sum(len(message.segments) for message in document.messages) + len(document.envelope) + len(document.strays)
    assert kept == len(lines)
    assert report.rules_fired["structure"] >= kept


@pytest.mark.parametrize("path", LABELLED, ids=lambda path: path.name)
def test_a_file_named_for_a_fault_shows_it_and_no_other_grave_one(path: Path) -> None:
    findings = checked(path)[1].findings
    grave = [(found.code, found.path) for found in findings if found.severity in {"critical", "major"}]
    promised = [(re.search(words, path.name), severities, code, where) for words, severities, code, where in PROMISES]
    if not any(found for found, *_ in promised):
        assert grave == []
        return
    for named, severities, code, where in promised:
        if named is not None:
            place = where.format(*named.groups())
            hits = [found for found in findings if found.severity in severities and re.fullmatch(code, found.code) and re.fullmatch(place, found.path)]
            assert hits, (path.name, grave)
            assert [(found_code, found_path) for found_code, found_path in grave if not re.fullmatch(place, found_path)] == []


def test_no_segment_is_refused_without_being_named() -> None:
    """Every segment that the structure has no place for has a finding with its path, in every real file."""
    from touchstone.scorers.clinical.formats.hl7v2.findings import Findings
    from touchstone.scorers.clinical.formats.hl7v2.header import structure_of, version_of

    for path in FILES:
        document, report = checked(path)
        paths = {found.path for found in report.findings}
        for message in document.messages:
            quiet = Findings(Context(), Report())
            version = version_of(message.segments[0], quiet)
            structure = structure_of(message.segments[0], version, quiet)
            if structure is None or report.dropped:
                continue
            segments = [segment for segment in message.segments if segment.name != "?"]
            for fault in structure.faults([segment.name for segment in segments]):
                if fault.kind in {"unexpected", "misplaced"}:
                    prefix = f"message[{message.number}]/" if len(document.messages) > 1 else ""
                    assert prefix + segments[fault.at].path in paths
