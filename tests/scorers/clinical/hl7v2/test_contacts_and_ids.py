"""Telephones by their use, US states, and control ids of several messages."""

import pytest

from tests.scorers.clinical.hl7v2.messages import PID, admission, told
from touchstone.scorers.clinical.formats.hl7v2 import validate

NUMBER, ADDRESS = "^PRN^PH^^1^217^5550100", "12 Mill Lane^^Springfield^IL^62701^USA^H"


def codes(data: bytes, *wanted: str) -> list[tuple[str, str]]:
    return [(code, path) for _, code, path in told(data) if code in wanted]


@pytest.mark.parametrize(
    ("written", "code"),
    [
        (NUMBER, None),
        ("^PRN^PH^^^^5550100", None),
        ("^PRN^PH^^^^^^^^^+12175550100", None),
        ("(217)555-0100^PRN^PH", None),
        ("^PRN^PH^^^^^^unlisted", None),
        ('^PRN^PH^^^^""', None),
        ("^NET^Internet^ada@example.org", None),
        ("ada@example.org^NET^Internet", None),
        ("^NET^Internet^https://example.org/ada", None),
        ("^PRN^PH", "data_types.xtn-empty"),
        ("^PRN^CP^^1^217", "data_types.xtn-empty"),
        ("^WPN^FX^^1", "data_types.xtn-empty"),
        ("^NET^Internet", "data_types.xtn-empty"),
        ("^NET^Internet^not-an-email", "data_types.xtn-address"),
        ("^NET^Internet^ada@", "data_types.xtn-address"),
        ("^NET^Internet^ada at example.org", "data_types.xtn-address"),
    ],
)
@pytest.mark.parametrize("version", ["2.5.1", "2.8"])
def test_a_telephone_holds_what_its_use_says(version: str, written: str, code: str | None) -> None:
    found = codes(admission(version=version, pid=PID.replace(NUMBER, written)), "data_types.xtn-empty", "data_types.xtn-address")

    assert [name for name, _ in found] == ([] if code is None else [code])


@pytest.mark.parametrize(
    ("address", "is_unknown"),
    [
        (ADDRESS, False),
        (ADDRESS.replace("^IL^", "^il^"), False),
        (ADDRESS.replace("^IL^", "^PR^"), False),
        (ADDRESS.replace("^IL^", "^AE^").replace("USA", ""), False),
        (ADDRESS.replace("^IL^", "^ON^").replace("USA", "CAN"), False),
        (ADDRESS.replace("^IL^62701^USA", "^ON^K1A 0B1^"), False),
        (ADDRESS.replace("^IL^62701^USA", "^ON^^"), False),
        (ADDRESS.replace("^IL^62701^USA", "^NSW^2000^"), False),
        (ADDRESS.replace("^IL^62701^USA", "^Bayern^D-80331^"), False),
        (ADDRESS.replace("^IL^62701^USA", "^ON^62701^"), True),
        (ADDRESS.replace("^IL^62701^USA", "^XQ^^"), True),
        (ADDRESS.replace("^IL^", "^ON^"), True),
        (ADDRESS.replace("^IL^", "^XQ^"), True),
        (ADDRESS.replace("^IL^", "^ZZ^").replace("USA", ""), True),
        (ADDRESS.replace("^IL^62701", "^EN^"), True),
    ],
)
def test_a_state_of_the_united_states_is_known(address: str, is_unknown: bool) -> None:
    found = codes(admission(pid=PID.replace(ADDRESS, address)), "data_types.xad-state")

    assert found == ([("data_types.xad-state", "PID-11")] if is_unknown else [])


@pytest.mark.parametrize(
    ("ids", "repeated"),
    [
        (("M1", "M2"), []),
        (("M1",), []),
        (("M1", "M01", "m1"), []),
        (("M1", "M1"), [2]),
        (("M1", "M2", "M1"), [3]),
        (("M1", "M1", "M1"), [2, 3]),
    ],
)
def test_a_control_id_is_given_once(ids: tuple[str, ...], repeated: list[int]) -> None:
    data = b"".join(admission().replace(b"|M0001|", f"|{one}|".encode()) for one in ids)

    assert codes(data, "structure.control-id") == [("structure.control-id", f"message[{number}]/MSH-10") for number in repeated]


def test_two_senders_may_use_one_control_id() -> None:
    assert codes(admission() + admission().replace(b"|LIS|", b"|RIS|"), "structure.control-id") == []


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        (3, "^^^A&1.2.3&ISO^MR", "data_types.cx-id"),
        (5, "^^^^^^L", "data_types.xpn-name"),
        (5, "Winter", "data_types.xpn-given"),
        (5, "^Ada", "data_types.xpn-family"),
        (5, "Winter^Ada", "data_types.xpn-type"),
        (13, "^NET^Internet^not-an-email", "data_types.xtn-address"),
        (13, "^NET^Internet", "data_types.xtn-empty"),
    ],
)
def test_what_a_patients_names_and_numbers_lack_comes_with_a_remedy(field: int, value: str, code: str) -> None:
    fields = PID.split("|")
    fields[field] = value
    found = [one for one in validate(admission(pid="|".join(fields))).findings if one.code == code]

    assert found
    assert all(one.suggestion for one in found)


def test_a_postal_code_of_canada_is_no_wrong_zip_code_where_the_country_is_left_out() -> None:
    for address, is_wrong in (("^ON^K1A 0B1^", False), ("^ON^K1A 0B1^USA", True), ("^IL^K1A 0B1^", True)):
        found = codes(admission(pid=PID.replace(ADDRESS, ADDRESS.replace("^IL^62701^USA", address))), "data_types.xad-zip")
        assert bool(found) is is_wrong
