import time
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.scorers.clinical.hl7v2.messages import NOW, OBR, OBX, PID, admission, header, message, report_of, result
from touchstone.scorers.clinical.formats.hl7v2 import decode, read, validate
from touchstone.scorers.clinical.formats.hl7v2.lexer import DATA_BYTES_MAX, SEGMENTS_MAX
from touchstone.scorers.clinical.report import FINDINGS_MAX, Context

MEBIBYTE = 1024 * 1024
#: Processor seconds for two mebibytes, far above what is measured (under 1 s; 5 s for codes without end); a quadratic step would be minutes.
SECONDS_MAX = 30.0
SEEDS = [result(), admission("DG1|1||I10^Hypertension^I10|||W", "ZAA|1"), message("FHS|^~\\&", "BHS|^~\\&") + result() + message("BTS|1", "FTS|1")]
SIGNS = [
    b"|",
    b"^",
    b"~",
    b"\\",
    b"&",
    b"\r",
    b"\n",
    b"\x0b",
    b"\x1c",
    b"\x00",
    b"\xff",
    b'""',
    b"MSH|^~\\&|",
    b"MSH",
    b"OBX|",
    b"\\X0D\\",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
]


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_give_a_report(data: bytes) -> None:
    report_of(data)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from([*SIGNS, b"PID", b"12", b"A", b"2.5.1"]), max_size=60).map(b"".join))
def test_any_delimiters_give_a_report(data: bytes) -> None:
    report_of(b"MSH|^~\\&|" + data)
    report_of(data)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_damaged_message_gives_a_report(data: st.DataObject) -> None:
    damaged = bytearray(data.draw(st.sampled_from(SEEDS)))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        length = data.draw(st.integers(0, 12))
        damaged[at : at + length] = data.draw(st.one_of(st.sampled_from(SIGNS), st.binary(max_size=8)))
        if not damaged:
            break

    report_of(bytes(damaged))


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=300))
def test_every_line_that_is_not_blank_is_in_the_document(text: str) -> None:
    document = read("MSH|^~\\&|A\r" + text)
    kept = sum(len(one.segments) for one in document.messages) + len(document.envelope) + len(document.strays)
    lines = text.replace("\x0b", "\r").replace("\x1c", "\r").replace("\n", "\r").split("\r")

    assert kept == 1 + sum(1 for line in lines if line and not line.isspace())


@pytest.mark.parametrize(
    "data",
    [
        result(OBX.replace("13.4", "9" * 2 * MEBIBYTE)),
        result(OBX.replace("|NM|", "|TX|").replace("13.4", "x" * 2 * MEBIBYTE)),
        result(OBX.replace("|NM|", "|TX|").replace("13.4", "~" * 2 * MEBIBYTE)),
        result(OBX.replace("|NM|", "|CWE|").replace("13.4", "a^" * MEBIBYTE)),
        result(OBX.replace("|NM|", "|CWE|").replace("13.4", "a&" * MEBIBYTE)),
        result(OBX.replace("|NM|", "|FT|").replace("13.4", "\\" * 2 * MEBIBYTE)),
        result(OBX.replace("|NM|", "|FT|").replace("13.4", "\\.br\\" * 400_000)),
        result(OBX + "|" * 2 * MEBIBYTE),
        result(pid=PID.replace("4711", "1" * 2 * MEBIBYTE)),
        result(pid=PID.replace("4711^", "4711^^^A&1.2&ISO^MR~" * 80_000)),
        result(pid=PID.replace("2.16.840", "1." * MEBIBYTE)),
        message(header(), PID, *["OBX|1|NM|x||y"] * (SEGMENTS_MAX + 5)),
        message(header(), PID, OBR, *[OBX] * 20_000),
        message(header(), PID, OBR, *(f"OBX|1|CWE|{number}-0^x^LN|{number}|{number}000^y^SCT||||||F" for number in range(SEGMENTS_MAX // 4))),
        message(header(), PID, OBR, *["NTE" + "|" * 300] * 30_000),
        message(*[header()] * 20_000),
        message(header(), *["NTE|1||\x0b\x1c"] * 20_000),
        b"M" * 2 * MEBIBYTE,
        b"\x0b" * 2 * MEBIBYTE,
        b"MSH|^~\\&|" + b"\x00" * 2 * MEBIBYTE,
        b"MSH" + b"|" * 2 * MEBIBYTE,
        header(version="9" * 2 * MEBIBYTE).encode(),
        header(kind="^" * 2 * MEBIBYTE).encode(),
    ],
    ids=[
        "number", "text", "repetitions", "components", "subcomponents", "escapes", "breaks", "fields", "identifier", "identifiers", "arcs", "segments",
        "duplicates", "codes", "empty fields", "messages", "frames", "no header", "frame starts", "nulls", "empty header", "version", "type",
    ],
)  # fmt: skip
def test_large_input_is_done_within_its_bound(data: bytes) -> None:
    begun = time.process_time()
    report = validate(data, Context(now=lambda: NOW))

    assert time.process_time() - begun < SECONDS_MAX
    assert len(report.findings) <= FINDINGS_MAX
    assert not any(found.code == "structure.internal" for found in report.findings)
    assert max((len(found.message) + len(found.path) + len(found.suggestion or "") for found in report.findings), default=0) < 2_000


def test_what_is_too_large_is_not_read() -> None:
    report = validate(b"MSH|^~\\&|" + b"x" * DATA_BYTES_MAX)

    assert [found.code for found in report.findings] == ["structure.too-large"]
    assert not report.rules_fired


def test_a_field_of_ten_mebibytes_costs_a_few_times_its_size() -> None:
    data = result(OBX.replace("|NM|", "|TX|").replace("13.4", "x" * 10 * MEBIBYTE))
    report_of(result(OBX.replace("|NM|", "|TX|").replace("13.4", "x")))
    tracemalloc.start()
    report_of(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 8 * len(data)


def test_a_fault_of_ours_is_told_and_not_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("secret payload")

    monkeypatch.setattr("touchstone.scorers.clinical.formats.hl7v2.validator.read", broken)
    report = validate(result())

    assert [(found.severity, found.code) for found in report.findings] == [("critical", "structure.internal")]
    assert "secret" not in repr(report)


@pytest.mark.parametrize("name", ["a" * 99, "<b>", "../..", "{x}", "%s"])
def test_paths_hold_only_names_and_numbers(name: str) -> None:
    data = message(header(), PID, OBR, f"{name}|1", f"{name[:3].upper()}|x", OBX)

    assert all(set(found.path) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-[]./ ") for found in report_of(data).findings)


def test_lone_surrogates_and_nulls_are_text_like_any_other() -> None:
    assert decode(b"MSH|^~\\&|\xed\xa0\x80\x00").text.startswith("MSH")
    read("MSH|^~\\&|\ud800\x00\rPID|1||\udfff")


@pytest.mark.parametrize("number", ["1e400", "9" * 400, "-" + "9" * 10_000, "0." + "9" * 400, "inf", "nan", "0x1p9", "\u0661\u0662"])
def test_a_number_that_is_none_is_told(number: str) -> None:
    assert ("OBX[1]-5", "major") in {(found.path, found.severity) for found in report_of(result(OBX.replace("13.4", number))).findings}


@pytest.mark.parametrize("data", [b"", b"M", b"MS", b"MSH", b"MSH|", b"MSH|^", b"\x0bMSH|^~\\&|\x1c", result()[: len(result()) // 2], result()[:-40]])
def test_what_was_cut_off_is_told(data: bytes) -> None:
    assert {found.severity for found in report_of(data).findings} & {"critical", "major"} or data.endswith(b"F|||")
