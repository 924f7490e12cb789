import pytest

from tests.scorers.clinical.hl7v2.messages import OBR, OBX, PID, findings, grave, header, message, report_of, result, told, value_at
from touchstone.scorers.clinical.formats.hl7v2.escapes import has_stray, unescape
from touchstone.scorers.clinical.formats.hl7v2.lexer import SEGMENTS_MAX, read


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
def test_any_line_end_ends_a_segment(end: str) -> None:
    document = read(end.join((header(), PID, OBR, OBX)) + end)

    assert [segment.name for segment in document.messages[0].segments] == ["MSH", "PID", "OBR", "OBX"]


def test_fields_are_counted_as_hl7_counts_them() -> None:
    read_message = read(result().decode()).messages[0]

    assert value_at(read_message, "MSH-1") == "|"
    assert value_at(read_message, "MSH-2") == "^~\\&"
    assert value_at(read_message, "MSH-9.3") == "ORU_R01"
    assert value_at(read_message, "PID-3.4.2") == "2.16.840.1.113883.3.1234"
    assert value_at(read_message, "OBX[1]-6.3") == "UCUM"


def test_a_path_names_segment_field_repetition_component_and_subcomponent() -> None:
    read_message = read(f"{header()}\rPID|1||a^^^x~b^^^y&9&ISO\rNTE|1||one\rNTE|2||two").messages[0]

    assert value_at(read_message, "PID[1]-3[2].4") == "y&9&ISO"
    assert value_at(read_message, "PID[1]-3[2].4.3") == "ISO"
    assert value_at(read_message, "NTE[2]-3") == "two"
    assert value_at(read_message, "PID-99") == ""


@pytest.mark.parametrize("delimiters", ["|^~\\&", "|^~\\&#", "#^~\\&", "$%*!@", "*;:<=>"])
def test_a_message_may_declare_its_delimiters(delimiters: str) -> None:
    field, component, repetition, escape, sub, *_ = delimiters
    ours = str.maketrans({"|": field, "^": component, "~": repetition, "\\": escape, "&": sub})
    written = result().decode()
    rewritten = "\r".join(line.translate(ours) if not line.startswith("MSH") else line[:3] + line[3:].translate(ours) for line in written.split("\r"))
    rewritten = rewritten.replace(field + delimiters[1:5] + field, field + delimiters[1:] + field, 1)

    assert grave(rewritten.encode()) == []
    assert value_at(read(rewritten).messages[0], "PID-3.4.2") == "2.16.840.1.113883.3.1234"
    assert read(rewritten).messages[0].delimiters == delimiters


def test_a_usual_delimiter_is_plain_text_where_another_was_declared() -> None:
    assert value_at(read("MSH|$~\\&|A^B$C\rNTE|1||5^3$x").messages[0], "MSH-3.1") == "A^B"


@pytest.mark.parametrize("version", ["2.1", "2.3", "2.5.1", "2.7"])
def test_five_encoding_characters_are_legal_in_every_version(version: str) -> None:
    data = result(version=version).replace(b"|^~\\&|", b"|^~\\&#|", 1)

    assert not any(found.code == "structure.encoding-characters" for found in findings(data))


@pytest.mark.parametrize(
    ("start", "code"),
    [
        ("MSH", "structure.field-separator"),
        ("MSH\x01^~\\&\x01LIS", "structure.field-separator"),
        ("MSH||LIS", "structure.encoding-characters"),
        ("MSH|&&&&|LIS", "structure.encoding-characters"),
        ("MSH|^~ &|LIS", "structure.encoding-characters"),
        ("MSH|^|~\\&", "structure.encoding-characters"),
    ],
)
def test_delimiters_that_cannot_be_are_told_and_the_usual_ones_assumed(start: str, code: str) -> None:
    assert any(found.code == code for found in findings(message(start, PID)))


@pytest.mark.parametrize("start", ["MSH~^~\\&~", "MSH^^~\\&^", "MSH&^~&", "MSH!^^^^!", "MSH|^|", "MSH\\"])
def test_whatever_is_declared_there_are_five_delimiters(start: str) -> None:
    delimiters = read(start + "LIS").messages[0].delimiters

    assert len(set(delimiters)) == len(delimiters) == 5
    assert delimiters[0] == start[3]


def test_bad_delimiters_do_not_hide_the_rest() -> None:
    data = result().replace(b"MSH|^~\\&|", b"MSH|&&&&|", 1)

    assert grave(data) == [("critical", "structure.encoding-characters", "MSH-2")]


def test_a_frame_is_taken_off() -> None:
    assert told(b"\x0b" + result() + b"\x1c\r") == told(result())


def test_a_frame_that_is_not_closed_is_told() -> None:
    assert ("major", "structure.frame", "MSH") in grave(b"\x0b" + result())


def test_several_frames_are_several_messages() -> None:
    framed = b"\x0b" + result() + b"\x1c\r"

    assert len(read((framed * 3).decode()).messages) == 3


def test_half_a_message_keeps_what_is_there() -> None:
    half = result()[:-40]

    document = read(half.decode())

    assert [segment.name for segment in document.messages[0].segments] == ["MSH", "PID", "OBR", "OBX"]
    assert report_of(half).rules_fired["structure"] > 0


def test_a_line_that_is_no_segment_is_kept_and_told() -> None:
    data = message(header(), PID, OBR, "the text of a note that lost its segment", OBX)

    assert read(data.decode()).messages[0].segments[3].raw == "the text of a note that lost its segment"
    assert grave(data) == [("major", "structure.segment-name", "line 4")]


def test_indented_segments_are_read_and_told() -> None:
    data = b"\r".join(b"  " + line for line in result().split(b"\r"))

    assert told(data) == [("minor", "structure.segment-indented", "MSH"), *told(result())]


def test_a_segment_before_any_header_is_told() -> None:
    assert grave(message(OBX) + result()) == [("major", "structure.stray-segment", "OBX[1]")]


@pytest.mark.parametrize("data", [b"", b"   \r\n", b"{}", b"<ClinicalDocument/>", b"\xff\xfe", b"\x00" * 64])
def test_what_is_no_message_is_critical_and_checks_nothing(data: bytes) -> None:
    report = report_of(data)

    assert [found.code for found in report.findings if found.severity == "critical"] == ["structure.no-message"]
    assert not report.rules_fired


def test_segments_beyond_the_bound_are_counted() -> None:
    document = read("\r".join([header(), *["NTE|1"] * SEGMENTS_MAX]))

    assert len(document.messages[0].segments) == SEGMENTS_MAX
    assert document.unread_lines == 1


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("a\\F\\b\\S\\c\\T\\d\\R\\e\\E\\f", "a|b^c&d~e\\f"),
        ("\\X48656C6C6F\\", "Hello"),
        ("one\\.br\\two", "one\ntwo"),
        ("\\H\\bold\\N\\", "bold"),
        ("\\C2842\\x\\M2442\\y\\Zlocal\\z", "xyz"),
        ("10\\S\\3/uL", "10^3/uL"),
    ],
)
def test_escapes_are_resolved(written: str, meant: str) -> None:
    assert unescape(written) == meant
    assert not has_stray(written)


@pytest.mark.parametrize("written", ["C:\\temp", "\\X4\\", "\\Q\\", "end\\"])
def test_an_escape_that_is_none_is_told(written: str) -> None:
    assert has_stray(written)
    assert ("minor", "data_types.escape", "NTE[1]-3") in told(message(header(), PID, OBR, f"NTE|1||{written}", OBX))


@pytest.mark.parametrize("padding", ["\x1a", "\0\0\0", "\x1a\r\n"])
def test_what_pads_a_file_is_a_slip_and_no_fault(padding: str) -> None:
    data = result() + padding.encode()

    assert [found for found in told(data) if found[1].startswith("structure.")] == [("minor", "structure.padding", "line 5")]
