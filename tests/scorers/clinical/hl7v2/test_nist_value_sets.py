"""Profiles in NIST's XML: value sets by binding strength, place and coding system."""

from pathlib import Path

import pytest

from tests.scorers.clinical.hl7v2.nist_profile import PROFILE, edited, judged, of_profile, reasons, with_field, written

CODE = '<SimpleBindingLocation CodeLocation="."/>'
CODED = '<ComplexBindingLocation CodeLocation="1[1]" CodeSystemLocation="3[1]"/>'
OTHER = '<ComplexBindingLocation CodeLocation="4[1]" CodeSystemLocation="6[1]"/>'


def library(sets: str, excluded: str = "") -> str:
    inner = f'<NoValidation>{excluded}</NoValidation><ValueSetDefinitions Group="g" Order="1">{sets}</ValueSetDefinitions>'
    return f'<ValueSetLibrary ValueSetLibraryIdentifier="l"><MetaData Name="Pond"/>{inner}</ValueSetLibrary>'


def values(own: str, *codes: str, more: str = 'Extensibility="Closed" Stability="Static"') -> str:
    """A value set of codes, each written `code`, `code system` or `code system usage`."""
    made = []
    for code in codes:
        value, system, usage = (*code.split(), "", "")[:3]
        made.append(f'<ValueElement Value="{value}" DisplayName="{value}" CodeSystem="{system}" Usage="{usage or "P"}"/>')
    return f'<ValueSetDefinition BindingIdentifier="{own}" Name="{own}" {more}>{"".join(made)}</ValueSetDefinition>'


def bound(target: str, *sets: str, strength: str = "R", places: str = CODE, kind: str = "Segment", own: str = "PID_P") -> str:
    names = "".join(f'<Binding BindingIdentifier="{name}"/>' for name in sets)
    binding = f"<BindingLocations>{places}</BindingLocations><Bindings>{names}</Bindings>"
    inner = f'<{kind}><ByID ID="{own}"><ValueSetBinding BindingStrength="{strength}" Target="{target}">{binding}</ValueSetBinding></ByID></{kind}>'
    return f'<ValueSetBindingsContext ID="b"><ValueSetBindings>{inner}</ValueSetBindings></ValueSetBindingsContext>'


SEX = library(values("SEX", "F", "M") + values("RACE", "a L", "b L", "c L E") + values("OPEN", "a L", more='Extensibility="Open"') + values("EMPTY"))
ONE_SEX, RACE = bound("8[*]", "SEX"), bound("10[*]", "RACE", places=CODED)
F, Q, NO_SEX = (with_field("PID", 8, text) for text in ("F", "Q", ""))


@pytest.mark.parametrize(
    ("binding", "data", "expected"),
    [
        (ONE_SEX, F, []),
        (ONE_SEX, NO_SEX, []),
        (ONE_SEX, with_field("PID", 8, '""'), []),
        (RACE, with_field("PID", 10, "a^^L~b^^L"), []),
        (RACE, with_field("PID", 10, "^text only"), []),
        (RACE, with_field("PID", 10, "a^^L~x^^L"), [("major", "profile.value-set", "PID-10[2].1")]),
        (RACE, with_field("PID", 10, "c^^L"), [("major", "profile.value-set", "PID-10.1")]),  # E: excluded from the set
        (RACE, with_field("PID", 10, "a^^M"), [("major", "profile.code-system", "PID-10.1")]),
        (RACE, with_field("PID", 10, "a"), [("major", "profile.code-system", "PID-10.1")]),
        (bound("10[*]", "RACE", places=CODED + OTHER), with_field("PID", 10, "x^^M^a^^L"), []),  # one of the places is enough
        (bound("10[*]", "RACE", places=CODED + OTHER), with_field("PID", 10, "x^^M^y^^L"), [("major", "profile.value-set", "PID-10.1")]),
        (bound("10[*]", "RACE", "SEX", places=CODED), with_field("PID", 10, "F^^L"), []),  # a set without systems
        (bound("10[*]", "RACE", places=CODED, strength="S"), with_field("PID", 10, "x^^L"), [("info", "profile.value-set", "PID-10.1")]),
        (bound("10[*]", "OPEN", places=CODED), with_field("PID", 10, "x^^L"), [("minor", "profile.value-set", "PID-10.1")]),
        (bound("3[*]", "RACE", kind="Datatype", own="CWE"), with_field("PID", 10, "a^^x"), [("major", "profile.value-set", "PID-10.3")]),
        (bound("2[*]", "SEX"), with_field("PID", 2, "9"), []),  # X: what should not be there is not judged further
    ],
)  # fmt: skip
def test_a_code_is_judged_by_strength_place_and_system(binding: str, data: bytes, expected: list[tuple[str, str, str]], tmp_path: Path) -> None:
    report = judged(data, written(tmp_path, VALUESETS=SEX, VALUESETBINDINGS=binding))

    found = [(one.severity, one.code, one.path) for one in report.findings if one.code in {"profile.value-set", "profile.code-system"}]
    assert found[: len(expected)] == expected
    assert bool(found) is bool(expected)


@pytest.mark.parametrize(
    ("sets", "excluded", "binding"),
    [
        (values("SEX", "F"), "<BindingIdentifier>SEX</BindingIdentifier>", ONE_SEX),  # excluded from validation
        (values("SEX"), "", ONE_SEX),  # without codes
        ("", "", ONE_SEX),  # not in the library
        ('<ExternalValueSetDefinition BindingIdentifier="SEX" URL="https://pond.example/sex"/>', "", ONE_SEX),
        (values("SEX", "F"), "", bound("8[*]", "SEX", strength="U")),  # undetermined
        (values("SEX", "F"), "", bound("8[*]", "SEX", "ELSEWHERE")),  # the other set may have it
    ],
)
def test_a_set_that_is_not_at_hand_makes_nothing_invalid(sets: str, excluded: str, binding: str, tmp_path: Path) -> None:
    folder = written(tmp_path, VALUESETS=library(sets, excluded), VALUESETBINDINGS=binding)
    report = judged(Q, folder)

    assert of_profile(report, "critical", "major", "minor", "info") == []
    assert "codes of value sets that the profile excludes or does not list" in reasons(report)
    assert "SEX" in reasons(report)
    assert "SEX" not in reasons(judged(NO_SEX, folder))


def test_a_code_outside_the_standard_and_the_profile_is_one_finding(tmp_path: Path) -> None:
    report = judged(Q, written(tmp_path, VALUESETS=SEX, VALUESETBINDINGS=ONE_SEX))

    assert [one.code for one in report.findings if one.path == "PID-8" and one.severity == "major"] == ["valuesets.code"]


@pytest.mark.parametrize(("code", "held"), [("HL70005", True), ("99LAB", True), ("LN", True), ("HL7x", False), ("99", False)])
def test_patterns_stand_for_many_codes(code: str, held: bool, tmp_path: Path) -> None:
    sets = values("HL70396", "LN", "HL7nnnn") + values("OWN", "LN")
    sets = sets.replace("</ValueSetDefinition>", '<ValueElement Value="99zzz" DisplayName="" CodePattern="99.+"/></ValueSetDefinition>', 1)
    folder = written(tmp_path, VALUESETS=library(sets), VALUESETBINDINGS=bound("11[*]", "HL70396"))

    assert of_profile(judged(with_field("PID", 11, code), folder)) == ([] if held else [("profile.value-set", "PID-11")])


@pytest.mark.parametrize(("code", "undecided"), [("A" * 300, True), ("AA", False), ("7" * 300, True)])
def test_a_code_on_which_a_pattern_could_not_be_tried_is_not_called_a_stranger(code: str, undecided: bool, tmp_path: Path) -> None:
    sets = values("OWN", "LN").replace("</ValueSetDefinition>", '<ValueElement Value="x" DisplayName="" CodePattern="(?!x)[A-Z]{5,}"/></ValueSetDefinition>', 1)
    report = judged(with_field("PID", 11, code), written(tmp_path, VALUESETS=library(sets), VALUESETBINDINGS=bound("11[*]", "OWN")))

    assert any(one.code == "profile.value-set" and one.path == "PID-11" for one in report.findings) is not undecided
    assert ("codes of value sets that the profile excludes or does not list" in reasons(report)) is undecided


def test_a_set_with_a_pattern_that_is_not_tried_makes_nothing_invalid(tmp_path: Path) -> None:
    sets = values("OWN", "LN").replace("</ValueSetDefinition>", '<ValueElement Value="x" DisplayName="" CodePattern="(?=a)(a+)+b"/></ValueSetDefinition>', 1)
    report = judged(with_field("PID", 11, "q"), written(tmp_path, VALUESETS=library(sets), VALUESETBINDINGS=bound("11[*]", "OWN")))

    assert "a CodePattern that is not tried (it may take too long)" in reasons(report)
    assert of_profile(report) == []


@pytest.mark.parametrize(("text", "held"), [("718-7^Hemoglobin^LN", True), ("718-7^Hemoglobin^L", False), ("1-8^x^LN", False)])
def test_a_single_code(text: str, held: bool, tmp_path: Path) -> None:
    binding = f'<SingleCodeBinding Target="3[*]" Code="718-7" CodeSystem="LN"><BindingLocations>{CODED}</BindingLocations></SingleCodeBinding>'
    inner = f'<SingleCodeBindings><Segment><ByID ID="OBX_P">{binding}</ByID></Segment></SingleCodeBindings>'
    folder = written(tmp_path, VALUESETBINDINGS=f'<ValueSetBindingsContext ID="b">{inner}</ValueSetBindingsContext>')

    assert of_profile(judged(with_field("OBX", 3, text), folder)) == ([] if held else [("profile.value-set", "OBX[1]-3.1")])


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a^^L", []), ("x^^M^b^^L", []), ("x^^L", [("profile.value-set", "PID-10.1")]), ("a^^M", [("profile.code-system", "PID-10.1")])],
)
def test_bindings_of_the_older_form_are_attributes_of_the_field(text: str, expected: list[tuple[str, str]], tmp_path: Path) -> None:
    older = PROFILE.replace('<Field Name="Race" ', '<Field Name="Race" Binding="RACE" BindingStrength="R" BindingLocation="1:4" ')

    assert of_profile(judged(with_field("PID", 10, text), written(tmp_path, PROFILE=older, VALUESETS=SEX))) == expected


@pytest.mark.parametrize(("sex", "held"), [("F", True), ("Q", False)])
def test_an_assertion_may_ask_for_a_value_set(sex: str, held: bool, tmp_path: Path) -> None:
    from tests.scorers.clinical.hl7v2.nist_profile import constraints, statement

    said = statement('<ValueSet Path="8[1]" ValueSetID="SEX" BindingStrength="R" BindingLocation="1"/>')
    folder = written(tmp_path, VALUESETS=SEX, CONSTRAINTS=constraints(said))

    assert of_profile(judged(with_field("PID", 8, sex), folder)) == ([] if held else [("profile.statement", "PID-8")])


def test_a_binding_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    report = judged(edited(), written(tmp_path, VALUESETBINDINGS=bound("eight", "SEX")))

    assert "ValueSetBinding that cannot be read" in reasons(report)
