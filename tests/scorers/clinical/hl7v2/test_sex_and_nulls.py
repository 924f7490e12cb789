"""Table 0001 by version, and null where a value is required."""

import pytest

from tests.scorers.clinical.hl7v2.messages import OBX, PID, admission, findings, grave, result, told
from touchstone.scorers.clinical.formats.hl7v2.fields import checker
from touchstone.scorers.clinical.formats.hl7v2.pattern_learner import LEARN_AFTER, LEARN_FROM_EACH


def with_sex(code: str) -> str:
    return PID.replace("19610215|F|", f"19610215|{code}|")


@pytest.mark.parametrize(
    ("version", "code", "severities"),
    [
        ("2.3", "F", []),
        ("2.1", "A", []),  # no table of this version is at hand: a code of any printed version passes
        ("2.3", "N", []),
        ("2.3", "X", ["major"]),  # published after every printed version
        ("2.3", "Q", ["major"]),
        ("2.3.1", "O", []),
        ("2.3.1", "A", ["info"]),
        ("2.3.1", "X", ["major"]),
        ("2.5.1", "A", []),
        ("2.5.1", "N", []),
        ("2.5.1", "X", ["major"]),
        ("2.5.1", "Q", ["major"]),
        ("2.5.1", "f", ["major"]),
        ("2.8.2", "N", []),
        ("2.8.2", "X", ["major"]),
        ("2.9", "X", []),  # read by the tables of 2.8.2
    ],
)
def test_the_sex_is_judged_by_the_table_of_the_version(version: str, code: str, severities: list[str]) -> None:
    found = told(admission(version=version, pid=with_sex(code)), "critical", "major", "minor", "info")

    assert [severity for severity, name, path in found if path.startswith("PID-8") and name == "valuesets.code"] == severities


@pytest.mark.parametrize(
    ("version", "codes"), [("2.3", "A, F, M, N, O, U"), ("2.3.1", "F, M, O, U"), ("2.5.1", "A, F, M, N, O, U"), ("2.8.2", "A, F, M, N, O, U")]
)
@pytest.mark.parametrize("code", ["X", "Q"])
def test_the_remedy_lists_the_codes_of_the_version(version: str, codes: str, code: str) -> None:
    (found,) = (one for one in findings(admission(version=version, pid=with_sex(code))) if one.path == "PID-8" and one.severity == "major")

    assert found.suggestion == f"Valid values: {codes}"


@pytest.mark.parametrize("version", ["2.3", "2.5.1", "2.8"])
def test_null_in_a_required_field_is_a_finding(version: str) -> None:
    fields = PID.split("|")
    for position in (3, 5):
        pid = "|".join('""' if at == position else text for at, text in enumerate(fields))
        assert grave(admission(version=version, pid=pid)) == [("major", "structure.required-null", f"PID-{position}")]
    observation = OBX.replace("718-7^Hemoglobin^LN", '""')
    assert ("major", "structure.required-null", "OBX[1]-3") in grave(result(observation, version=version))
    assert ("major", "structure.required-null", "PID-3") in grave(admission(version=version, pid="|".join([*fields[:3], '""~""', *fields[4:]])))


def test_null_is_a_finding_after_many_good_segments_too() -> None:
    """Segments of a known form are accepted whole; none of those forms may take a null for a value."""
    for _ in range(LEARN_AFTER * LEARN_FROM_EACH):
        assert grave(admission()) == []
    checked = checker("2.5.1", "PID")
    assert checked is not None
    assert checked.learner.whole is not None
    assert grave(admission(pid=PID.replace("Winter^Ada^^^^^L", '""'))) == [("major", "structure.required-null", "PID-5")]


@pytest.mark.parametrize("position", [7, 8, 10, 11, 13, 16])
def test_null_in_an_optional_field_is_none(position: int) -> None:
    fields = PID.split("|") + [""] * 10
    fields[position] = '""'

    assert grave(admission(pid="|".join(fields))) == []
