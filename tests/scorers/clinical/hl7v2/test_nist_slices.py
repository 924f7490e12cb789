"""Profiles in NIST's XML: slices, and co-constraints."""

from pathlib import Path

import pytest

from tests.scorers.clinical.hl7v2.nist_profile import LINES, changed, edited, judged, of_profile, reasons, with_field, written


def segments(slices: str, kind: str = "AssertionSlicing") -> str:
    inner = f'<Message ID="m1"><GroupContext ID="g.result"><{kind} Position="1">{slices}</{kind}></GroupContext></Message>'
    return f'<ProfileSlicing ID="s"><SegmentSlicing>{inner}</SegmentSlicing></ProfileSlicing>'


def fields(slices: str, kind: str = "OccurrenceSlicing") -> str:
    inner = f'<SegmentContext ID="PID_P"><{kind} Position="3">{slices}</{kind}></SegmentContext>'
    return f'<ProfileSlicing ID="s"><FieldSlicing>{inner}</FieldSlicing></ProfileSlicing>'


def sliced_by(assertion: str, flavor: str) -> str:
    return f'<Slice Ref="{flavor}"><Description>it is so</Description><Assertion>{assertion}</Assertion></Slice>'


NUMBERS = segments(sliced_by('<PlainText Path="2[1]" Text="NM" IgnoreCase="false"/>', "OBX_L"))
SECOND = fields('<Slice Ref="CX_SSN" Occurrence="2"/>')
BY_TYPE = fields(sliced_by('<PlainText Path="5[1]" Text="SS" IgnoreCase="false" NotPresentBehavior="FAIL"/>', "CX_SSN"), "AssertionSlicing")


def typed(value_type: str, code: str) -> bytes:
    return edited(OBX=changed("OBX", 5, "4", changed("OBX", 2, value_type, changed("OBX", 3, code))))


@pytest.mark.parametrize(
    ("slicing", "data", "expected"),
    [
        (NUMBERS, typed("NM", "718-7^Hemoglobin^LN"), []),
        (NUMBERS, typed("ST", "1^x^L"), []),  # no slice: the flavor of the structure
        (NUMBERS, typed("NM", "1^x^L"), [("profile.constant", "OBX[1]-3.3")]),
        (NUMBERS, typed("NM", "^x^LN"), [("profile.required-component", "OBX[1]-3.1")]),
        (NUMBERS, typed("NM", "1^x"), [("profile.required-component", "OBX[1]-3.3")]),
        (SECOND, with_field("PID", 3, "4711~123456789"), []),
        (SECOND, with_field("PID", 3, "4711"), []),
        (SECOND, with_field("PID", 3, "4711~123456789^1"), []),  # X in the flavor of the other repetitions only
        (SECOND, with_field("PID", 3, "4711^1~123456789"), [("profile.not-supported", "PID-3[1].2")]),
        (SECOND, with_field("PID", 3, "1~^1"), [("profile.required-component", "PID-3[2].1")]),
        (BY_TYPE, with_field("PID", 3, "4711^^^^MR"), []),
        (BY_TYPE, with_field("PID", 3, "123456789^1^^^SS"), []),
        (BY_TYPE, with_field("PID", 3, "123456789^1^^^MR"), [("profile.not-supported", "PID-3.2")]),
    ],
)
def test_a_slice_gives_an_occurrence_its_flavor(slicing: str, data: bytes, expected: list[tuple[str, str]], tmp_path: Path) -> None:
    assert of_profile(judged(data, written(tmp_path, SLICINGS=slicing))) == expected


@pytest.mark.parametrize("slicing", [fields('<Slice Ref="NONE" Occurrence="1"/>'), fields("<Slice Ref='CX'/>"), NUMBERS.replace("AssertionS", "OtherS")])
def test_a_slicing_that_cannot_be_read_is_named(slicing: str, tmp_path: Path) -> None:
    report = judged(edited(), written(tmp_path, SLICINGS=slicing))

    assert "Slicing that cannot be read" in reasons(report)
    assert of_profile(report) == []


def test_a_slice_that_is_not_decided_is_named(tmp_path: Path) -> None:
    report = judged(edited(), written(tmp_path, SLICINGS=segments(sliced_by('<Plugin QualifiedClassName="x"/>', "OBX_L"))))

    assert "the slice OBX_L" in reasons(report)


def code(own: str) -> str:
    return f'<Code Path="3[1]" Name="OBX-3" Code="{own}" CodeSystem="LN"><BindingLocation Position="1" CodePath="1[1]" CodeSystemPath="3[1]"/></Code>'


def row(selector: str, constraint: str = "", usage: str = "O", times: str = "0..*", name: str = "CoConstraint") -> str:
    least, most = times.split("..")
    inner = f"<Selectors>{selector}</Selectors><Constraints>{constraint}</Constraints>"
    return f'<{name} Usage="{usage}" Min="{least}" Max="{most}">{inner}</{name}>'


def tables(text: str, kind: str = "SimpleTable") -> str:
    inner = f'<Context Name="ORDER" Path="2[1].3[*]"><Segment Name="OBX" Path="2[*].1[1]"><{kind}>{text}</{kind}></Segment></Context>'
    return f'<CoConstraintContext ID="c"><ByMessage ID="m1">{inner}</ByMessage></CoConstraintContext>'


def observation(own: str, value_type: str = "NM", sub: str = "", value: str = "4", number: str = "1") -> str:
    return f"OBX|{number}|{value_type}|{own}^x^LN|{sub}|{value}||||||F"


def results(*lines: str) -> bytes:
    return edited(OBX=lines[0], more="\n".join(lines[1:]))


IS_NUMBER = '<PlainText Path="2[1]" Name="OBX-2" Value="NM"/>'
PLACES = '<BindingLocations><SimpleBindingLocation CodeLocation="1[1]"/></BindingLocations><Bindings><Binding BindingIdentifier="GENES"/></Bindings>'
IN_SET = f'<ValueSet Path="5[1]" Name="OBX-5"><ValueSetBinding Target="." BindingStrength="R">{PLACES}</ValueSetBinding></ValueSet>'
GENES = """<ValueSetLibrary ValueSetLibraryIdentifier="l"><ValueSetDefinitions><ValueSetDefinition BindingIdentifier="GENES" Name="g">
<ValueElement Value="A" DisplayName="" CodeSystem="L"/></ValueSetDefinition></ValueSetDefinitions></ValueSetLibrary>"""
NUMERIC = tables(row(code("718-7"), IS_NUMBER))
REQUIRED = tables(row(code("718-7"), usage="R", times="1..2"))
CONDITION = '<Condition><Description>d</Description><Assertion><PlainText Path="1[1].4[1].1[1]" Text="PANEL"/></Assertion></Condition>'
IF_PANEL = tables(CONDITION + row(code("718-7"), usage="R", times="1..1"), "ConditionalTable")
BY_SUB_ID = '<CoConstraintGroupId><IdPath Priority="1" Path="4[1]" Name="OBX-4"/></CoConstraintGroupId>'
MEMBERS = row(code("1-1"), usage="R", times="1..1", name="Primary") + row(code("2-2"), IS_NUMBER, usage="R", times="1..1")
GROUPED = tables(f'{BY_SUB_ID}<CoConstraintGroup Name="PAIR" Usage="R" Min="1" Max="2">{MEMBERS}</CoConstraintGroup>')
AT = "profile.co-constraint"


@pytest.mark.parametrize(
    ("table", "data", "expected"),
    [
        (NUMERIC, results(observation("718-7")), []),
        (NUMERIC, results(observation("719-8", "ST")), []),
        (NUMERIC, results(observation("718-7", "")), []),  # what is missing breaks no co-constraint
        (NUMERIC, results(observation("718-7", "ST")), [(AT, "OBX[1]-2")]),
        (NUMERIC, results(observation("719-8"), observation("718-7", "ST", number="2")), [(AT, "OBX[2]-2")]),
        (tables(row(code("718-7"), IN_SET)), results(observation("718-7", "CWE", value="A^a^L")), []),
        (tables(row(code("718-7"), IN_SET)), results(observation("718-7", "CWE", value="B^b^L")), [(AT, "OBX[1]-5")]),
        (tables(row(code("718-7"), IN_SET.replace("GENES", "OTHERS"))), results(observation("718-7", "CWE", value="B^b^L")), []),
        (REQUIRED, results(observation("718-7")), []),
        (REQUIRED, results(observation("719-8")), [(AT, "OBX")]),
        (REQUIRED, results(*[observation("718-7", number=str(at), sub=str(at)) for at in (1, 2, 3)]), [(AT, "OBX")]),
        (IF_PANEL, results(observation("719-8")), []),
        (IF_PANEL, edited(OBR=changed("OBR", 4, "PANEL^p^L")), []),
        (IF_PANEL, edited(OBR=changed("OBR", 4, "PANEL^p^L"), OBX=observation("719-8")), [(AT, "OBX")]),
        (GROUPED, results(observation("1-1", sub="1"), observation("2-2", sub="1", number="2")), []),
        (GROUPED, results(observation("3-3")), [(AT, "OBX")]),
        (GROUPED, results(observation("1-1", sub="1"), observation("2-2", sub="2", number="2")), [(AT, "OBX[1]")]),
        (GROUPED, results(observation("1-1", sub="1"), observation("2-2", "ST", sub="1", number="2")), [(AT, "OBX[2]-2")]),
    ],
)
def test_co_constraints(table: str, data: bytes, expected: list[tuple[str, str]], tmp_path: Path) -> None:
    report = judged(data, written(tmp_path, COCONSTRAINTS=table, VALUESETS=GENES))

    assert of_profile(report) == expected
    assert "does not know" not in reasons(report)


@pytest.mark.parametrize("table", [NUMERIC.replace("Code Path", "Code Way"), NUMERIC.replace("SimpleTable", "OtherTable"), tables("<CoConstraint/>")])
def test_a_table_that_cannot_be_read_is_named(table: str, tmp_path: Path) -> None:
    report = judged(results(observation("718-7", "ST")), written(tmp_path, COCONSTRAINTS=table))

    assert "of co-constraints that cannot be read" in reasons(report)
    assert of_profile(report) == []


def test_a_condition_that_is_not_decided_is_named(tmp_path: Path) -> None:
    table = IF_PANEL.replace('<PlainText Path="1[1].4[1].1[1]" Text="PANEL"/>', '<Plugin QualifiedClassName="x"/>')
    report = judged(edited(OBX=LINES["OBX"]), written(tmp_path, COCONSTRAINTS=table))

    assert "the condition of a table of co-constraints" in reasons(report)
