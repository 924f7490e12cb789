from __future__ import annotations

import base64
import re
import time
from pathlib import Path

import pytest

from tests.scorers.clinical.ccda.documents import CANARY, ccd, codes, validated, vital, vitals
from touchstone.scorers.clinical.documents import DocumentValidator
from touchstone.scorers.clinical.format_detection import sniff
from touchstone.scorers.clinical.formats import ccda

_OPEN = '<ClinicalDocument xmlns="urn:hl7-org:v3">'
_LAUGHS = "".join(f'<!ENTITY l{level} "{f"&l{level - 1};" * 10 if level else "ha"}">' for level in range(10))


@pytest.mark.parametrize(
    "prolog",
    [
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE a SYSTEM "http://127.0.0.1:9/a.dtd">',
        f"<!DOCTYPE a [{_LAUGHS}]>",
        f'<!DOCTYPE a [<!ENTITY x "{"y" * 100_000}">]>',
        '<!DOCTYPE a [<!ENTITY % x SYSTEM "file:///etc/passwd"> %x;]>',
        "<!-- a comment -->\n<?pi?>\n<!DOCTYPE a>",
    ],
    ids=["external-entity", "external-dtd", "billion-laughs", "quadratic", "parameter-entity", "after-a-comment"],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_document_type_is_refused_unread(prolog: str, encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?>\n{prolog}\n{_OPEN}<title>&x;&l9;</title></ClinicalDocument>'
    report = validated(text.encode(encoding))
    assert codes(report) == {"ccda.xml.doctype"}
    assert not any(report.rules_fired.values())


def test_an_entity_that_xml_does_not_define_is_malformed() -> None:
    report = validated(ccd().replace("Synthetic summary", "&nbsp;"))
    (finding,) = report.findings
    assert finding.code == "ccda.xml.syntax"
    assert "an entity that XML does not define" in finding.message


def test_an_include_is_neither_followed_nor_an_error(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text(CANARY)
    include = f'<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="{(tmp_path / "secret.txt").as_uri()}" parse="text"/>'
    report = validated(ccd(header=include).replace(f"<family>{CANARY}</family>", "<family>x</family>"), quote=True)
    assert CANARY not in str(report.findings)
    assert codes(report, "critical", "major") == set()


@pytest.mark.parametrize(
    ("document", "code"),
    [
        (_OPEN + "<a>" * 300 + "</a>" * 300 + "</ClinicalDocument>", "ccda.xml.depth"),
        (_OPEN + "<a>" * 200 + "</a>" * 200 + "</ClinicalDocument>", "ccda.xml.depth"),
        (_OPEN.replace(">", f' a="{"x" * 100_000}">') + "</ClinicalDocument>", "ccda.xml.attributes"),
        (_OPEN.replace(">", "".join(f' a{number}="1"' for number in range(5_000)) + ">") + "</ClinicalDocument>", "ccda.xml.attributes"),
        (_OPEN + "<a/>" * 301_000 + "</ClinicalDocument>", "ccda.xml.elements"),
        ("<a/>", "ccda.xml.root"),
        ('<ClinicalDocument xmlns="urn:other"/>', "ccda.xml.root"),
        ("", "ccda.xml.syntax"),
    ],
    ids=["deep", "deeper-than-the-setting", "long-attribute", "many-attributes", "many-elements", "other-root", "other-namespace", "empty"],
)
def test_what_is_beyond_a_bound_is_refused_and_named(document: str, code: str) -> None:
    begun = time.process_time()
    report = validated(document)
    # Some readers have a lower bound of their own for depth.
    assert codes(report) <= {code, "ccda.xml.syntax"}
    assert report.findings[0].severity == "critical"
    assert time.process_time() - begun < 10
    assert not ccda.was_validated(report)


def test_a_document_larger_than_the_setting_is_not_read() -> None:
    assert codes(validated(ccd(), bytes_max=2_000)) == {"ccda.xml.size"}


def test_malformed_xml_is_told_its_line_and_column_and_none_of_its_text() -> None:
    broken = ccd().replace("</patient>", f"</{CANARY}>")
    line = next(number for number, text in enumerate(broken.splitlines(), 1) if f"</{CANARY}>" in text)
    (finding,) = validated(broken).findings
    assert finding.message.startswith(f"Malformed XML at line {line}, column ")
    assert "an end tag does not match its start tag" in finding.message
    assert CANARY not in finding.message


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_document_that_was_cut_off_fails(share: float) -> None:
    text = ccd()
    found = DocumentValidator().validate(text[: int(len(text) * share)], "ccda")
    assert (found.scores.label, found.valid, found.label_max) == ("Fail", None, "Fail")


@pytest.mark.parametrize(
    ("encoding", "declared"), [("utf-8", "utf-8"), ("utf-8-sig", "utf-8"), ("utf-16", "utf-16"), ("iso-8859-1", "ISO-8859-1"), ("cp1252", "windows-1252")]
)
def test_common_encodings_are_read(encoding: str, declared: str) -> None:
    text = ccd().replace('encoding="UTF-8"', f'encoding="{declared}"').replace("Test Clinic", "Klinik Süd")
    assert codes(validated(text.encode(encoding)), "critical", "major") == set()


@pytest.mark.parametrize("declared", ["UTF-7", "EBCDIC-US", "UTF-32"])
def test_other_encodings_are_refused(declared: str) -> None:
    assert codes(validated(ccd().replace('encoding="UTF-8"', f'encoding="{declared}"'))) == {"ccda.xml.encoding"}


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_its_mark_is_read(encoding: str) -> None:
    assert codes(validated(ccd().replace("UTF-8", "UTF-16").encode(encoding)), "critical", "major") == set()


@pytest.mark.parametrize("encoding", ["utf-32", "utf-32-le", "utf-32-be", "utf-7"])
def test_bytes_of_other_encodings_are_refused_by_that_name(encoding: str) -> None:
    assert codes(validated(ccd().replace("UTF-8", encoding.upper()).encode(encoding)), "critical") == {"ccda.xml.encoding"}


def test_a_document_that_is_not_the_utf_16_it_says_is_told_so() -> None:
    (finding,) = validated(ccd().replace("UTF-8", "UTF-16")).findings
    assert (finding.code, finding.message) == ("ccda.xml.encoding", "Declared as UTF-16, and its bytes are not")


@pytest.mark.parametrize("document", [ccd()[:400], ccd().replace("<title>", "<title", 1), ccd().replace('code="US"/>', 'code="US/>', 1), "<a><b></a>"])
def test_what_is_malformed_is_told_its_line_and_column(document: str) -> None:
    (finding,) = validated(document).findings
    assert (finding.code, finding.severity) == ("ccda.xml.syntax", "critical")
    assert re.match(r"Malformed XML at line \d+, column \d+: .", finding.message)


def test_bytes_that_are_not_of_the_encoding_are_told_their_line() -> None:
    data = ccd().replace("Test Clinic", "Klinik Süd").encode("iso-8859-1")
    (finding,) = validated(data).findings
    line = next(number for number, text in enumerate(data.split(b"\n"), 1) if b"\xfc" in text)
    assert (finding.code, f"at line {line}" in finding.message) == ("ccda.xml.encoding", True)


def test_a_declaration_that_is_not_at_the_start_is_malformed() -> None:
    (finding,) = validated("\n" + ccd()).findings
    assert (finding.code, "an XML declaration that is not at the start" in finding.message) == ("ccda.xml.syntax", True)


def test_an_embedded_pdf_of_twenty_megabytes_is_handled() -> None:
    pdf = base64.encodebytes(b"%PDF-1.7\n" + b"\0" * 20_000_000).decode()
    body = f'<component><nonXMLBody><text mediaType="application/pdf" representation="B64">{pdf}</text></nonXMLBody></component>'
    text = ccd()
    begin, end = text.index("<component><structuredBody>"), text.index("</ClinicalDocument>")
    document = (text[:begin] + body + text[end:]).replace("10.20.22.1.2", "10.20.22.1.10")
    begun = time.process_time()
    report = validated(document)
    assert codes(report, "critical", "major") == set()
    assert report.rules_fired["attachments"]
    assert time.process_time() - begun < 10
    assert codes(validated(document.replace(pdf, pdf[: len(pdf) // 2 + 1])), "major") == {"ccda.attachments.base64"}


def test_a_document_that_takes_longer_than_its_time_ends_and_is_no_pass() -> None:
    found = validated(ccd(), seconds_max=1e-9)
    assert "ccda.internal.time" in codes(found, "critical")
    assert not ccda.is_valid(found)


def test_a_text_with_a_lone_surrogate_is_malformed_and_not_a_crash() -> None:
    found = DocumentValidator().validate(ccd().replace("Test Clinic", "\ud800"), "ccda")
    assert found.scores.label == "Fail"


def test_no_text_of_a_document_is_seen_unless_asked_for() -> None:
    document = ccd(gender=CANARY, birth=CANARY, vital_signs=vital_with(CANARY))
    assert CANARY not in str(validated(document).findings)
    assert CANARY in str(validated(document, quote=True).findings)


def vital_with(text: str) -> str:
    return vitals(vital("8480-6", text, text), f"<{text}/>", vital(text, "1", "mm[Hg]", 2))


@pytest.mark.parametrize(
    "part",
    [
        '<id root="wrong"/>' * 15_000,
        '<effectiveTime value="wrong"/>' * 15_000,
        '<value unit="wrong" value="wrong"/>' * 15_000,
        "<item ID='same'/>" * 15_000,
        "<observation classCode='OBS' moodCode='EVN'>" * 100 + "</observation>" * 100,
        '<templateId root="2.16.840.1.113883.10.20.22.4.4"/>' * 15_000,
        "<reference value='#nowhere'/>" * 15_000,
    ],
    ids=["identifiers", "times", "units", "ids", "nested", "templates", "references"],
)
def test_no_document_costs_more_than_its_size(part: str) -> None:
    begun = time.process_time()
    report = validated(ccd(extra=f"<component><section><text>{part}</text><entry>{part}</entry></section></component>"))
    assert time.process_time() - begun < 20
    assert len(report.findings) <= 500


@pytest.mark.parametrize("text", ["<![CDATA[" + "<" * 700_000 + "]]>", "<!--" + "<" * 700_000 + "-->", "<![CDATA[" + "<!--" * 200_000 + "]]>"])
def test_characters_that_are_no_markup_are_no_elements(text: str) -> None:
    report = validated(ccd().replace("Synthetic summary", f"Synthetic summary{text}", 1))
    assert "ccda.xml.elements" not in codes(report)


@pytest.mark.parametrize("text", ["<![CDATA[" * 700_000, "<![CDATA[]]>" + "<a/>" * 700_000, "<!-- -->" * 10 + "<a>" * 700_000])
def test_elements_beside_other_text_are_counted_and_quickly(text: str) -> None:
    begun = time.process_time()
    assert codes(validated(f"{_OPEN}{text}</ClinicalDocument>")) == {"ccda.xml.elements"}
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(("text", "expected"), [(ccd(), "ccda"), ("MSH|^~\\&|LIS\r", "hl7v2"), ("BHS|^~\\&|LIS\r", "hl7v2"), ("Message", None), ("<a/>", None)])
def test_utf_16_without_a_mark_is_recognised(text: str, expected: str | None, encoding: str) -> None:
    assert sniff(text.encode(encoding)) == expected


@pytest.mark.parametrize("data", [ccd().encode("utf-32-le"), ccd().encode("utf-32-be"), b"\0\0"])
def test_utf_32_is_not_recognised(data: bytes) -> None:
    assert sniff(data) is None
