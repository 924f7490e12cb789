"""Profiles in NIST's XML: loading, refusal, and the choice of the profile for a message."""

import os
from pathlib import Path

import pytest

from tests.scorers.clinical.hl7v2.nist_profile import PROFILE, changed, constraints, edited, judged, of_profile, reasons, statement, written
from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.documents import DocumentValidator
from touchstone.scorers.clinical.formats.hl7v2 import Profiles, load_profiles, validate
from touchstone.scorers.clinical.settings import ClinicalSettings, fingerprint

DATA = Path(os.environ.get("TOUCHSTONE_DATA", "")) / "clinical-dev/hl7v2/cdc"
FAULT = changed("PID", 2, "9")  # X


def named(identifier: str) -> str:
    """Constraints that demand an identifier in MSH-21."""
    return constraints(statement(f'<PlainText Path="21[1].1[1]" Text="{identifier}" IgnoreCase="false" NotPresentBehavior="PASS"/>', own="MSH_P"))


def declaring(identifier: str, **lines: str) -> bytes:
    return edited(MSH=changed("MSH", 21, f"{identifier}^^1.2.3^ISO" if identifier else ""), PID=FAULT, **lines)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"PROFILE": "<ConformanceProfile"}, "holds no conformance profile"),
        ({"PROFILE": "<ConformanceProfile><Messages>"}, "is not well-formed XML"),
        ({"PROFILE": "<Other/>"}, "holds no conformance profile"),
        ({"PROFILE": '<!DOCTYPE a [<!ENTITY b "c">]>' + PROFILE.split("?>")[1].strip()}, "has a DOCTYPE"),
        ({"PROFILE": PROFILE.replace('Ref="PID_P"', 'Ref="PID_Q"')}, "no segment 'PID_Q' is defined"),
        ({"PROFILE": PROFILE.replace('Datatype="XPN"', 'Datatype="XPM"')}, "no data type 'XPM' is defined"),
        ({"PROFILE": PROFILE.replace('"Namespace" Usage="O" Datatype="ST"', '"Namespace" Usage="O" Datatype="HD"')}, "the data type 'HD' contains itself"),
        ({"PROFILE": PROFILE.replace('Max="2"', 'Max="two"')}, "Max is no number"),
        ({"PROFILE": "<ConformanceProfile/>"}, "describes no message"),
        ({"SECOND": PROFILE}, "holds two profiles"),
        ({"CONSTRAINTS": "<ConformanceContext><a>"}, "is not well-formed XML"),
        ({"CONSTRAINTS": "no XML at all"}, "is not well-formed XML"),
    ],
)
def test_a_profile_that_cannot_be_used_is_refused_with_its_file(files: dict[str, str], said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=said) as refused:
        load_profiles([written(tmp_path / "pond", **files)])

    assert str(tmp_path / "pond") in str(refused.value)


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("PROFILE", 'Name="Sex"', 'Name="Sex" Forbidden="true"', "attribute Forbidden of Field"),
        ("PROFILE", '<Field Name="Sex"', '<Secret/><Field Name="Sex"', "element Secret in Segment"),
        ("PROFILE", '<Component Name="Time"', '<Rule/><Component Name="Time"', "element Rule in Datatype"),
        ("PROFILE", "<Segments>", "<Profiles/><Segments>", "element Profiles in ConformanceProfile"),
        ("PROFILE", 'Value="NM" ', 'Value="NM" Usage="R" ', "attribute Usage of Case"),
        ("CONSTRAINTS", 'Text="F"', 'Text="F" Within="3"', "attribute Within of PlainText"),
        ("CONSTRAINTS", "<Description>", "<Exception/><Description>", "element Exception in Constraint"),
        ("CONSTRAINTS", "<Constraints>", '<Constraints><Field><ByID ID="a"/></Field>', "Field"),
        ("CONSTRAINTS", "ConformanceContext", "ConformanceContexts", "file with the root ConformanceContexts"),
    ],
)
def test_what_no_reader_knows_is_named_as_not_checked(file: str, old: str, new: str, said: str, tmp_path: Path) -> None:
    rules = constraints(statement('<PlainText Path="8[1]" Text="F" IgnoreCase="false" NotPresentBehavior="PASS"/>'))
    known = {"PROFILE": PROFILE, "CONSTRAINTS": rules}
    assert old in known[file]

    assert "does not know" not in reasons(judged(edited(), written(tmp_path / "known", **known)))
    report = judged(edited(), written(tmp_path / "changed", **known | {file: known[file].replace(old, new)}))

    assert f"constructs that this reader does not know: {said}" in reasons(report)


def test_a_named_file_that_is_no_xml_is_refused_and_a_profile_may_have_any_name(tmp_path: Path) -> None:
    (note := tmp_path / "README.md").write_text("no XML at all", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"README\.md.* is not well-formed XML"):
        load_profiles([note])
    (renamed := tmp_path / "pond.profile").write_text(PROFILE, encoding="utf-8")

    assert len(load_profiles([renamed])) == 1


def test_a_setting_that_names_nothing_is_refused(tmp_path: Path) -> None:
    settings = ClinicalSettings.model_validate({"hl7v2": {"profiles": [str(tmp_path / "absent")]}})

    with pytest.raises(ConfigError, match=r"hl7v2\.profiles: .*absent does not exist"):
        DocumentValidator(settings)


def test_deep_xml_is_refused(tmp_path: Path) -> None:
    deep = PROFILE.replace("<Messages>", "<a>" * 150 + "</a>" * 150 + "<Messages>")

    with pytest.raises(ConfigError, match="levels of them"):
        load_profiles([written(tmp_path, PROFILE=deep)])


def test_a_profile_applies_by_setting_and_changes_the_verdict_and_the_fingerprint(tmp_path: Path) -> None:
    folder = written(tmp_path / "pond")
    settings = ClinicalSettings.model_validate({"hl7v2": {"profiles": [str(folder / "PROFILE.xml")]}})
    before = fingerprint(settings)
    written(tmp_path / "pond", CONSTRAINTS=named("POND"))

    assert DocumentValidator().validate(edited(PID=FAULT)).valid is True
    assert DocumentValidator(settings).validate(edited(PID=FAULT)).valid is False
    assert DocumentValidator(settings).validate(edited()).valid is True
    assert "hl7v2" not in fingerprint(ClinicalSettings())
    assert fingerprint(settings) != before


@pytest.mark.parametrize(
    ("identifiers", "data", "applied"),
    [
        (("POND",), declaring("POND"), True),
        (("POND",), declaring(""), True),  # by MSH-9
        (("POND",), declaring("LAKE"), False),  # another profile
        (("",), declaring("LAKE"), True),  # a profile that does not say how it is named
        (("POND", "LAKE"), declaring("LAKE"), True),
        (("POND", "LAKE"), declaring("SEA"), False),
        (("POND", "LAKE"), declaring(""), False),
        (("POND", "POND"), declaring("POND"), False),
        (("POND",), edited(MSH=changed("MSH", 9, "ADT^A01^ADT_A01"), PID=FAULT), False),
    ],
)
def test_msh_21_chooses_the_profile_and_else_msh_9(identifiers: tuple[str, ...], data: bytes, applied: bool, tmp_path: Path) -> None:
    folders = [
        written(tmp_path / str(at), PROFILE=PROFILE.replace("Pond", f"P{at}"), **({"CONSTRAINTS": named(one)} if one else {}))
        for at, one in enumerate(identifiers)
    ]
    report = judged(data, *folders)

    assert (("profile.not-supported", "PID-2") in of_profile(report)) is applied
    if not applied:
        assert of_profile(report) == []
        assert any(text in reasons(report) for text in ("is not loaded", "loaded profiles fit", "no loaded profile is for"))


@pytest.mark.parametrize(("declared", "applied"), [("FAMILY~POND", True), ("FAMILY", True), ("POND", True), ("FAMILY~LAKE", False), ("LAKE", False)])
def test_a_message_of_another_guide_of_the_family_is_not_judged(declared: str, applied: bool, tmp_path: Path) -> None:
    demanded = "".join(
        statement(f'<PlainText Path="21[{at}].1[1]" Text="{name}" IgnoreCase="false" NotPresentBehavior="PASS"/>', own="MSH_P")
        for at, name in enumerate(("FAMILY", "POND"), start=1)
    )
    data = edited(MSH=changed("MSH", 21, declared), PID=FAULT)
    report = judged(data, written(tmp_path, CONSTRAINTS=constraints(demanded)))

    assert (("profile.not-supported", "PID-2") in of_profile(report)) is applied
    assert applied or "is not loaded" in str(reasons(report))


def test_of_several_profiles_the_one_for_the_version_applies(tmp_path: Path) -> None:
    older = PROFILE.replace('Version="2.5.1"', 'Version="2.3.1"').replace("Pond", "Old")
    report = judged(declaring(""), written(tmp_path / "a"), written(tmp_path / "b", PROFILE=older))

    assert [one.message for one in report.findings if one.code == "profile.not-supported"] == ["Pond Guide 1.2 does not support Old id (usage X); leave it out"]


@pytest.mark.parametrize(
    "text", [b"MSH|", b"MSH|^~\\&|||||||ORU^R01", b"MSH|^~\\&|||||||ORU^R01\rOBX|" + b"~" * 5_000, b"MSH|^~\\&|||||||ORU^R01\r" + b"NK1|1\r" * 3_000]
)
def test_hostile_messages_are_judged_without_a_crash(text: bytes, tmp_path: Path) -> None:
    report = validate(text, profiles=Profiles(load_profiles([written(tmp_path)])))

    assert "structure.internal" not in {one.code for one in report.findings}


@pytest.mark.skipif(not (DATA / "nist-profiles").is_dir(), reason="TOUCHSTONE_DATA names no folder with clinical-dev/hl7v2/cdc/nist-profiles")
def test_official_profiles_load_and_judge_labelled_messages_as_their_names_say() -> None:
    loaded = load_profiles([DATA / "nist-profiles"])
    profiles = Profiles(loaded)
    files = sorted((DATA / "labelled-phlip").iterdir())

    assert [dict(one.unknown) for one in loaded] == [{}, {}]
    for path in files:
        report = validate(path.read_bytes(), profiles=profiles)
        assert "is not loaded" not in reasons(report), path.name
        broken = {one.path.split(".")[0] for one in report.findings if one.severity in {"critical", "major", "minor"}}
        field = next((word for word in path.stem.split("_") if word.startswith(("MSH", "PID5")) and word != "MSH"), "")
        if field:
            assert f"{field[:3]}-{field[3:]}" in broken, path.name
