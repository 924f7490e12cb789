import pytest

from tests.scorers.clinical.hl7v2.messages import PID, findings, header, value_at
from touchstone.scorers.clinical.formats.hl7v2 import decode, read


def named(charset: str, name: str = "Müller^Zoë") -> str:
    return f"{header('ADT^A01^ADT_A01')}|||||USA|{charset}\r{PID.replace('Winter^Ada', name)}\r"


def charset_codes(data: bytes) -> list[str]:
    return [found.code for found in findings(data) if "charset" in found.code]


@pytest.mark.parametrize(
    ("charset", "codec"),
    [("8859/1", "latin-1"), ("UNICODE UTF-8", "utf-8"), ("8859/15", "iso8859-15"), ("GB 18030-2000", "gb18030"), ("8859/1~UNICODE UTF-8", "latin-1")],
)
def test_the_declared_character_set_is_used(charset: str, codec: str) -> None:
    data = named(charset).encode(codec)

    assert value_at(read(decode(data).text).messages[0], "PID-5.1") == "Müller"
    assert charset_codes(data) == []


def test_bytes_of_another_set_than_declared_are_major_and_still_read() -> None:
    data = named("UNICODE UTF-8").encode("latin-1")

    assert charset_codes(data) == ["structure.charset-mismatch"]
    assert value_at(read(decode(data).text).messages[0], "PID-5.1") == "Müller"


@pytest.mark.parametrize("codec", ["utf-8", "latin-1"])
def test_undeclared_letters_are_told(codec: str) -> None:
    data = named("").encode(codec)

    assert charset_codes(data) == ["structure.charset-undeclared"]
    assert value_at(read(decode(data).text).messages[0], "PID-5.2") == "Zoë"


def test_an_unknown_set_is_told_where_it_matters() -> None:
    assert charset_codes(named("KLINGON").encode()) == ["structure.charset-unknown"]
    assert charset_codes(named("KLINGON", "Winter^Ada").encode()) == []


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_mark_or_wide_letters_tell_the_encoding(codec: str) -> None:
    assert value_at(read(decode(named("", "Winter^Ada").encode(codec)).text).messages[0], "PID-5.1") == "Winter"
