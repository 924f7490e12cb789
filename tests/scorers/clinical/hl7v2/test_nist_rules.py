"""Profiles in NIST's XML: conformance statements with every expression, and predicates."""

from pathlib import Path

import pytest

from tests.scorers.clinical.hl7v2.nist_profile import (
    LINES,
    TITLE,
    changed,
    constraints,
    edited,
    judged,
    of_profile,
    predicate,
    reasons,
    statement,
    with_field,
    written,
)

F, M, NONE = (with_field("PID", 8, text) for text in ("F", "M", ""))
NAME = 'Path="8[1]"'
RACES = tuple(with_field("PID", 10, text) for text in ("a^^L~a^^L", "a^^L~b^^L", "b^^L~b^^L", ""))
AA, AB, BB, NO_RACE = RACES
BORN, DIED = with_field("PID", 7, "20260101"), with_field("PID", 7, "20270101")


def nickname(text: str) -> bytes:
    return with_field("PID", 11, text)


def two(left: str, right: str) -> bytes:
    """A patient with texts in the alternate identifier (PID-4.1) and the nickname (PID-11)."""
    return edited(PID=changed("PID", 11, right, changed("PID", 4, left)))


def orders(*numbers: str) -> bytes:
    return edited(OBX=LINES["OBX"], more="\n".join(changed("OBX", 1, number) for number in numbers))


#: Assertion about PID → messages for which it holds, and for which it does not.
CASES = {
    f"<Presence {NAME}/>": ([F, M], [NONE]),
    '<Presence Path="10[2]"/>': ([AA, AB], [NO_RACE, edited()]),
    f'<PlainText {NAME} Text="F" IgnoreCase="false"/>': ([F, NONE], [M, with_field("PID", 8, "f")]),
    f'<PlainText {NAME} Text="f" IgnoreCase="true" NotPresentBehavior="FAIL"/>': ([F], [M, NONE]),
    '<PlainText Path="11[1]" Text="A&amp;B" IgnoreCase="false"/>': ([nickname("A\\T\\B")], [nickname("A&B2"), nickname("AB")]),
    '<PlainText Path="10[*].1[1]" Text="a" IgnoreCase="false" AtLeastOnce="true"/>': ([AA, AB], [BB]),
    '<PlainText Path="10[*].1[1]" Text="a" IgnoreCase="false" AtLeastOnce="false"/>': ([AA, NO_RACE], [AB, BB]),
    '<PlainText Path="10[*].1[1]" Text="a" IgnoreCase="false" Min="1" Max="1"/>': ([AB], [AA, BB]),
    '<Format Path="11[1]" Regex="^\\d{2,3}$"/>': ([nickname("12"), nickname("123")], [nickname("1234"), nickname("ab")]),
    '<Format Path="11[1]" Regex="^(?!\\s*$).+" NotPresentBehavior="FAIL"/>': ([nickname("12")], [nickname(""), nickname("  ")]),
    '<Format Path="11[1]" Regex="(a)\\1" NotPresentBehavior="FAIL"/>': ([nickname("aa")], [nickname("ab"), nickname("")]),
    '<Format Path="11[1]" Regex="^(?!666|000)\\d{3}-(?!00)\\d{2}(?=.*[0-9(+])-\\d{4}$"/>': ([nickname("123-45-6789")], [nickname("666-45-6789")]),
    f'<StringList {NAME} CSV="F,O" IgnoreCase="false"/>': ([F, NONE], [M, with_field("PID", 8, "F,O")]),
    f'<StringList {NAME} CSV="f, o" IgnoreCase="true"/>': ([F, with_field("PID", 8, "O")], [M]),
    '<NumberList Path="11[1]" CSV="1,2.5"/>': ([nickname("1.0"), nickname("2.50")], [nickname("3"), nickname("x")]),
    '<SimpleValue Path="11[1]" Operator="GT" Value="9" Type="Number"/>': ([nickname("10"), nickname("9.5")], [nickname("9"), nickname("-1")]),
    '<SimpleValue Path="7[1].1[1]" Operator="LT" Value="20260601"/>': ([BORN, edited()], [DIED]),
    '<StringFormat Path="11[1]" Format="LOINC"/>': ([nickname("718-7")], [nickname("7187"), nickname("x-7")]),
    '<PathValue Path1="4[1].1[1]" Operator="EQ" Path2="11[1]" NotPresentBehavior="FAIL"/>': ([two("ab", "ab")], [two("ab", "ba"), two("ab", ""), two("", "")]),
    '<PathValue Path1="4[1].1[1]" Operator="NE" Path2="11[1]"/>': ([two("ab", "ba"), two("", "")], [two("ab", "ab")]),
    '<PathValue Path1="10[*].1[1]" Operator="EQ" Path2="11[1]" Path1Mode="AtLeastOne"/>': (
        [edited(PID=changed("PID", 11, "a", changed("PID", 10, "a^^L~b^^L")))],
        [edited(PID=changed("PID", 11, "c", changed("PID", 10, "a^^L~b^^L")))],
    ),
    '<ComplexPathValue Path1="5[1]" Operator="EQ" Path2="9[1]" Strict="true"/>': (
        [with_field("PID", 9, "Winter^Ada")],
        [edited(), with_field("PID", 9, "Winter")],
    ),
    '<ComplexPathValue Path1="5[1]" Operator="EQ" Path2="9[1]" Strict="false"/>': ([edited(), with_field("PID", 9, "Winter")], [with_field("PID", 9, "Frost")]),
    f'<AND><Presence {NAME}/><Presence Path="7[1]"/></AND>': ([F], [NONE, with_field("PID", 7, "")]),
    f'<OR><PlainText {NAME} Text="F"/><PlainText {NAME} Text="M"/></OR>': ([F, M], [with_field("PID", 8, "O")]),
    f'<XOR><Presence {NAME}/><Presence Path="11[1]"/></XOR>': ([F], [two("a", "ab"), edited(PID="|".join(LINES["PID"].split("|")[:8]))]),
    f'<NOT><PlainText {NAME} Text="M" NotPresentBehavior="FAIL"/></NOT>': ([F, NONE], [M]),
    f'<IMPLY><PlainText {NAME} Text="M" NotPresentBehavior="FAIL"/><Presence Path="11[1]"/></IMPLY>': ([F, NONE], [M]),
    f'<FORALL><Presence {NAME}/><Presence Path="5[1]"/><Presence Path="3[1]"/></FORALL>': ([F], [NONE]),
    f'<EXIST><Presence {NAME}/><Presence Path="11[1]"/></EXIST>': ([F, nickname("ab")], [with_field("PID", 8, "")]),
    '<SubContext Path="10[*]" AtLeastOnce="true"><PlainText Path="1[1]" Text="a" IgnoreCase="false"/></SubContext>': ([AA, AB], [BB]),
    '<SubContext Path="10[*]" MinOccurrence="2" MaxOccurrence="*"><PlainText Path="1[1]" Text="a" IgnoreCase="false"/></SubContext>': ([AA], [AB, BB]),
    '<isNULL Path="8[1]"/>': ([with_field("PID", 8, '""')], [F, NONE]),
}
EACH = [(assertion, data, held) for assertion, pair in CASES.items() for held, messages in ((True, pair[0]), (False, pair[1])) for data in messages]


@pytest.mark.parametrize(("assertion", "data", "held"), EACH)
def test_an_assertion_holds_or_fails(assertion: str, data: bytes, held: bool, tmp_path: Path) -> None:
    report = judged(data, written(tmp_path, CONSTRAINTS=constraints(statement(assertion))))

    assert [code for code, _ in of_profile(report) if code == "profile.statement"] == ([] if held else ["profile.statement"])
    assert "not be decided" not in reasons(report)
    assert "does not know" not in reasons(report)


@pytest.mark.parametrize(
    ("assertion", "named"),
    [
        ('<Plugin QualifiedClassName="org.pond.Check"/>', "constructs that this reader does not know: Plugin"),
        ("<AND><Presence Path='8[1]'/></AND>", "AND of 1 parts"),
        ('<Format Path="8[1]" Regex="("/>', "a pattern of Format that is not tried (it cannot be read)"),
        ('<Format Path="8[1]" Regex="(?=.)(a+)+b"/>', "a pattern of Format that is not tried (it may take too long)"),
        ('<Format Path="8[1]" Regex="(?!x)((?:a|ab)c?)*d"/>', "a pattern of Format that is not tried (it may take too long)"),
        ('<Format Path="8[1]" Regex="(?!x).*.*.*.*y"/>', "a pattern of Format that is not tried (it may take too long)"),
        ('<Presence Path="eight"/>', "a Presence that cannot be read"),
        ('<PlainText Path="5[1]" Text="x"/>', "rules that could not be decided on this message: S-1"),  # a name has components
        (f'<PlainText {NAME} Text="x" NotPresentBehavior="INCONCLUSIVE"/>', "S-1"),
    ],
)
def test_what_is_not_known_or_not_decided_is_named_and_condemns_nothing(assertion: str, named: str, tmp_path: Path) -> None:
    report = judged(with_field("PID", 8, ""), written(tmp_path, CONSTRAINTS=constraints(statement(assertion))))

    assert named in reasons(report)
    assert of_profile(report, "critical", "major", "minor", "info") == []


def test_an_undecided_part_leaves_open_only_what_depends_on_it(tmp_path: Path) -> None:
    plugin = '<Plugin QualifiedClassName="org.pond.Check"/>'
    folder = written(tmp_path, CONSTRAINTS=constraints(statement(f'<AND><PlainText {NAME} Text="F"/>{plugin}</AND>')))

    assert of_profile(judged(M, folder)) == [("profile.statement", "PID-8")]
    assert of_profile(judged(F, folder)) == []


@pytest.mark.parametrize(
    ("strength", "severity"),
    [("", "major"), ('Strength="SHALL"', "major"), ('Strength="SHOULD"', "minor"), ('Classification="W"', "minor"), ('Classification="A"', "info")],
)
def test_the_strength_decides_the_severity(strength: str, severity: str, tmp_path: Path) -> None:
    report = judged(M, written(tmp_path, CONSTRAINTS=constraints(statement(f'<PlainText {NAME} Text="F"/>', strength=strength))))

    assert of_profile(report, severity) == [("profile.statement", "PID-8")]


def test_a_finding_gives_the_statement_with_its_section_and_the_profile(tmp_path: Path) -> None:
    said = statement(f'<PlainText {NAME} Text="F"/>', reference='<Reference Source="Guide" Chapter="4" Section="4.2" Page="17"/>')
    report = judged(M, written(tmp_path, CONSTRAINTS=constraints(said)))

    (found,) = [one for one in report.findings if one.code == "profile.statement"]
    assert found.message == f"{TITLE}, statement S-1 (Guide, chapter 4, section 4.2, page 17): As it is said."


@pytest.mark.parametrize(
    ("kind", "own", "assertion", "good", "bad", "path"),
    [
        ("Datatype", "XPN", '<PlainText Path="1[1]" Text="Winter"/>', edited(), with_field("PID", 5, "Frost"), "PID-5.1"),
        ("Datatype", "DTM", '<Format Path="." Regex="\\d{8}.*"/>', edited(), with_field("PID", 7, "1961"), "PID-7.1"),
        ("Group", "g.order", '<PlainText Path="2[*].1[1].3[1].1[1]" Text="718-7"/>', edited(), with_field("OBX", 3, "1-8^x^LN"), "OBX[1]-3.1"),
        ("Group", "g.result", '<SetID Path="1[1].1[1]"/>', orders("2", "3"), orders("2", "2"), "OBX[3]-1"),
        ("Message", "m1", '<Presence Path="2[1].3[1].3[1].1[1]"/>', edited(more="SPM|1|||x"), edited(), "SPM"),
        ("Message", "m1", '<IZSetID Parent="2[*].3[*].2[*]" Element="1[1].1[1]"/>', orders("2", "3"), orders("3", "2"), "RESULT"),
    ],
)
def test_a_statement_is_about_a_data_type_a_group_or_the_message(
    kind: str, own: str, assertion: str, good: bytes, bad: bytes, path: str, tmp_path: Path
) -> None:
    folder = written(tmp_path, CONSTRAINTS=constraints(statement(assertion, kind, own)))

    assert of_profile(judged(good, folder)) == []
    assert [code for code, _ in of_profile(judged(bad, folder))] == ["profile.statement"]
    assert of_profile(judged(bad, folder))[0][1] == path


VALUED, VOID = edited(), with_field("OBX", 5, "")
CANCELLED = edited(OBX=changed("OBX", 11, "X", changed("OBX", 5, "")))
IF_DONE = '<NOT><PlainText Path="11[1]" Text="X" IgnoreCase="false" NotPresentBehavior="FAIL"/></NOT>'


@pytest.mark.parametrize(
    ("rule", "data", "expected"),
    [
        (predicate("5[1]", "R", "RE", IF_DONE), VALUED, []),
        (predicate("5[1]", "R", "RE", IF_DONE), CANCELLED, []),
        (predicate("5[1]", "R", "RE", IF_DONE), VOID, [("profile.conditional", "OBX[1]-5")]),
        (predicate("5[1]", "R", "X", IF_DONE), CANCELLED, []),
        (predicate("5[1]", "R", "X", IF_DONE), edited(OBX=changed("OBX", 11, "X")), [("profile.conditional", "OBX[1]-5")]),
        (predicate("5[1]", "O", "X", IF_DONE), VOID, []),
        (predicate("5[1]", "R", "X", '<Plugin QualifiedClassName="x"/>'), VOID, []),
        (predicate("3[1].6[1]", "R", "O", '<Presence Path="3[1].4[1]"/>'), with_field("OBX", 3, "1^a^L^2"), [("profile.conditional", "OBX[1]-3.6")]),
        (predicate("3[1].6[1]", "R", "O", '<Presence Path="3[1].4[1]"/>'), with_field("OBX", 3, "1^a^L^2^b^L"), []),
        (predicate("3[1].6[1]", "R", "O", '<Presence Path="3[1].4[1]"/>'), with_field("OBX", 3, "1^a^L"), []),
        (predicate("5[1]", "R", "O", '<Presence Path="4[1]"/>', "Datatype", "CX"), with_field("PID", 3, "1"), []),
        (predicate("5[1]", "R", "O", '<Presence Path="1[1]"/>', "Datatype", "CX"), with_field("PID", 3, "1"), [("profile.conditional", "PID-3.5")]),
        (predicate("5[1]", "R", "O", '<Presence Path="1[1]"/>', "Datatype", "CX"), with_field("PID", 3, "1^^^^MR"), []),
        (predicate("3[1]", "R", "O", '<Presence Path="2[1]"/>', "Group", "g.order"), edited(), [("profile.conditional", "SPECIMEN")]),
        (predicate("3[1]", "R", "O", '<Presence Path="2[1]"/>', "Group", "g.order"), edited(more="SPM|1|||x"), []),
        (predicate("3[1].1[1].2[1]", "R", "O", '<Presence Path="2[1]"/>', "Group", "g.order"), edited(), []),  # no parent, no fault
    ],
)
def test_a_predicate_decides_a_conditional_element(rule: str, data: bytes, expected: list[tuple[str, str]], tmp_path: Path) -> None:
    assert of_profile(judged(data, written(tmp_path, CONSTRAINTS=constraints(predicates=rule)))) == expected


def test_conditional_elements_without_a_predicate_are_counted(tmp_path: Path) -> None:
    bare = judged(edited(), written(tmp_path / "bare"))
    one_less = judged(edited(), written(tmp_path / "ruled", CONSTRAINTS=constraints(predicates=predicate("5[1]", "R", "RE", IF_DONE))))

    # OBX-5 and OBX-6 of two flavors, and CX.5
    assert "conditional elements without a predicate: 5" in reasons(bare)
    assert "conditional elements without a predicate: 4" in reasons(one_less)


def test_a_missing_element_is_reported_once(tmp_path: Path) -> None:
    said = statement('<PlainText Path="3[1].2[1]" Text="1.2" NotPresentBehavior="FAIL"/>', own="MSH_P")
    folder = written(tmp_path, CONSTRAINTS=constraints(said))

    assert of_profile(judged(with_field("MSH", 3, "LIS^^ISO"), folder)) == [("profile.required-component", "MSH-3.2")]


def test_co_constraints_of_the_older_form_are_applied(tmp_path: Path) -> None:
    pair = '<PlainCoConstraint KeyPath="3[1].1[1]" KeyValue="718-7"><PlainText Path="2[1]" Text="NM" IgnoreCase="false"/></PlainCoConstraint>'
    inner = f"<Description>Hemoglobin is a number</Description><Assertion>{pair}</Assertion>"
    bound = f'<Segment><ByID ID="OBX_P"><CoConstraint>{inner}</CoConstraint></ByID></Segment>'
    text = f'<ConformanceContext UUID="c"><CoConstraints>{bound}</CoConstraints></ConformanceContext>'
    folder = written(tmp_path, CONSTRAINTS=text)

    assert of_profile(judged(edited(), folder)) == []
    assert ("profile.statement", "OBX[1]-2") in of_profile(judged(edited(OBX=changed("OBX", 5, "a^b^L", changed("OBX", 2, "CWE"))), folder))
