import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.ops.clinical_cases import BAD_FHIR, BAD_HL7V2, CANARY, CCDA, GOOD_FHIR, GOOD_HL7V2, text, trace
from touchstone.ops.batch.run import Run
from touchstone.ops.batch.sources import Source
from touchstone.ops.reports.layouts import FORMATS, lay_out
from touchstone.schemas.reports.clinical import JudgedFile
from touchstone.scorers.base import Scorer
from touchstone.scorers.clinical import SUITE, build
from touchstone.scorers.clinical.batch import ClinicalReport
from touchstone.scorers.clinical.settings import ClinicalSettings, resolve
from touchstone.scorers.reporting import LayoutOptions

_TRACE = text(trace(fhir=BAD_FHIR, hl7v2=BAD_HL7V2)).encode()
_HEADS = [b"", b"\xef\xbb\xbf", b"\xff\xfe", b"MSH|^~\\&|", b'{"resourceType":"Patient",', b'{"traceId":"x","outputs":', b"[", b"<ClinicalDocument", b"\x0bMSH"]
#: How packed files begin: gzip, Zstandard, and the sixteen kinds of frame that Zstandard skips.
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", *(bytes([kind]) + b"\x2a\x4d\x18" for kind in range(0x50, 0x60)))
_WHOLE = [_TRACE, text(BAD_FHIR).encode(), BAD_HL7V2.encode(), CCDA.encode(), _TRACE + b"\n" + _TRACE]


@lru_cache(maxsize=1)
def scorer() -> Scorer[Any]:
    return build(ClinicalSettings())


def reported(directory: Path, data: bytes, given_settings: ClinicalSettings | None = None) -> ClinicalReport:
    path = directory / "file"
    path.write_bytes(data)
    own = given_settings or ClinicalSettings()
    # Building one anew for every example would cost more than scoring it.
    run = Run(replace(SUITE, build=lambda _: scorer()) if given_settings is None else SUITE, own)
    report: ClinicalReport = SUITE.report(run.entries, run.score([Source(path)]))
    return report


def judged_of(directory: Path, data: bytes, given_settings: ClinicalSettings | None = None) -> JudgedFile:
    (judged,) = reported(directory, data, given_settings).files
    return judged


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(head=st.sampled_from(_HEADS), rest=st.binary(max_size=300))
@example(head=b"[", rest=b"*M\x18")
@example(head=b'{"traceId":"\\ud800","outputs":{}}', rest=b"")
@example(head=b'{"traceId":1e999,"outputs":{}}', rest=b"")
@example(head=b'{"traceId":"x","outputs":{"fhir":{"content":"\\u0000\\ud800"}}}', rest=b"")
@example(head=b'{"traceId":"x","outputs":' + b'{"fhir":' * 900, rest=b"}" * 900)
@example(head=b'{"traceId":"x","outputs":{"fhir":{"content":' + b'{"a":' * 900 + b"1", rest=b"}" * 903)
@example(head=b'{"traceId":"x","outputs":{"fhir":{"content":' + b'{"a":' * 1_015 + b"1", rest=b"}" * 1_018)
def test_any_bytes_are_one_entry_in_every_format(tmp_path: Path, head: bytes, rest: bytes) -> None:
    _check(tmp_path, head + rest)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(whole=st.sampled_from(_WHOLE), at=st.integers(0, 2_000), length=st.integers(0, 40), put=st.binary(max_size=12))
def test_a_damaged_document_is_one_entry_in_every_format(tmp_path: Path, whole: bytes, at: int, length: int, put: bytes) -> None:
    _check(tmp_path, whole[:at] + put + whole[at + length :])


def _check(directory: Path, data: bytes) -> None:
    report = reported(directory, data)
    (judged,) = report.files
    # What begins as a packed file does, and is none, cannot be read.
    assert judged.outcome in {"validated", "unvalidated"} or (judged.outcome == "problem" and data.startswith(_PACKED))
    assert (judged.entry.label == "unscored") == (judged.outcome != "validated")
    for form in FORMATS:
        document = "".join(lay_out(SUITE, report, form, LayoutOptions(SUITE.verdict(report, None))))
        assert document.encode()
        if form == "json":
            (entry,) = json.loads(document)
            assert entry["file"].endswith("file")


@pytest.mark.parametrize(
    ("outputs", "formats", "outcome", "reason"),
    [
        ({}, None, "unvalidated", "the trace has no document: outputs has none of fhir, hl7v2, ccda"),
        ({"fhir": None}, None, "unvalidated", "no document"),
        ({"fhir": BAD_FHIR}, ["hl7v2", "ccda"], "passed_over", "no document in a format that was asked for"),
        ({"fhir": BAD_FHIR}, ["hl7v2"], "passed_over", "not among the settings' formats"),
        ({"ccda": CCDA}, None, "unvalidated", "no template id of C-CDA in the header"),
    ],
)
def test_a_trace_without_a_document_to_validate_says_why(tmp_path: Path, outputs: dict[str, Any], formats: list[str] | None, outcome: str, reason: str) -> None:
    given_settings = resolve({}, None, {"formats": formats} if formats else None)
    judged = judged_of(tmp_path, text(trace(**outputs)).encode(), given_settings)
    assert (judged.entry.format, judged.entry.label, judged.entry.scores, judged.outcome) == ("trace", "unscored", {}, outcome)
    assert any(reason in skipped.reason for skipped in judged.entry.not_checked)


@pytest.mark.parametrize("output", [BAD_FHIR, CANARY])
def test_an_output_that_is_the_document_itself_is_told_its_shape(tmp_path: Path, output: Any) -> None:
    data = json.dumps({"traceId": "t", "outputs": {"fhir": output}}).encode()
    entry = judged_of(tmp_path, data).entry
    told = [*(finding.message for finding in entry.findings), *(skipped.reason for skipped in entry.not_checked)]
    assert any('{"content": …}' in one for one in told)
    assert not any("TraceOutput" in one or CANARY in one for one in told)


def test_a_document_of_a_trace_that_cannot_be_read_fails_it(tmp_path: Path) -> None:
    data = text(trace(hl7v2="MSH", fhir=GOOD_FHIR)).encode()
    assert judged_of(tmp_path, data).entry.label == "Fail"


def test_a_file_of_many_traces_keeps_its_entry_bounded(tmp_path: Path) -> None:
    judged = judged_of(tmp_path, b"\n".join([_TRACE] * 500))
    entry = judged.entry
    assert (len(entry.findings), entry.findings_dropped > 0) == (1_000, True)
    assert len(entry.checks) < 20
    assert entry.rules_fired["outputs.hl7v2/structure"] % 500 == 0


def test_a_message_of_ten_megabytes_in_one_field_is_judged_in_bounded_time(tmp_path: Path) -> None:
    data = GOOD_HL7V2.replace("Sample", "x" * 10_000_000).encode()
    judged = judged_of(tmp_path, data)
    assert judged.entry.format == "hl7v2"
    assert judged.duration_s < 10


def test_a_fault_of_a_trace_is_told_without_its_text(tmp_path: Path) -> None:
    data = json.dumps({"traceId": CANARY, "outputs": {CANARY: 1, "fhir": {"content": [CANARY, 1]}}, "timing": {CANARY: CANARY}}).encode()
    judged = judged_of(tmp_path, data)
    assert judged.entry.label == "Fail"
    assert CANARY not in judged.model_dump_json()
