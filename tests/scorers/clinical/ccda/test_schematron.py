from __future__ import annotations

import os
import random
import threading
from pathlib import Path

import pytest
from lxml import etree

from tests.scorers.clinical.ccda.documents import CANARY, PROBLEM, both, ccd, codes, section, validated, vital, vitals
from touchstone.ops.lab.bench.clinical.made_ccda import generated, mutants
from touchstone.ops.lab.bench.clinical.schematron import compare, documents_of, ours
from touchstone.ops.lab.bench.clinical.xslt_route import Oracle
from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.checkup import doctor
from touchstone.scorers.clinical.documents import DocumentValidator
from touchstone.scorers.clinical.formats import ccda
from touchstone.scorers.clinical.formats.ccda.schematron.engine import load
from touchstone.scorers.clinical.settings import CcdaSettings, ClinicalSettings

T = "2.16.840.1.113883.10.20.22."
MANY = "".join(f'<code value="c{number}"/>' for number in range(100))
VOC = (
    '<systems xmlns="http://www.lantanagroup.com/voc"><system valueSetOid="1.1"><code value="completed"/><code value="active"/></system>'
    f'<system valueSetOid="1.2">{MANY}</system></systems>'
)


def rule_file(patterns: str, *, lets: str = "", phases: str = "", namespace: str = "http://purl.oclc.org/dsdl/schematron") -> str:
    return (
        f'<sch:schema xmlns:sch="{namespace}"><sch:ns prefix="cda" uri="urn:hl7-org:v3"/><sch:ns prefix="sdtc" uri="urn:hl7-org:sdtc"/>'
        '<sch:ns prefix="xsi" uri="http://www.w3.org/2001/XMLSchema-instance"/><sch:ns prefix="voc" uri="http://www.lantanagroup.com/voc"/>'
        f"{phases}{lets}{patterns}</sch:schema>"
    )


def rule(context: str, *assertions: str, name: str = "p") -> str:
    """A pattern of one rule. `assertions`: their ids; each always fails."""
    every = "".join(one if one.startswith("<") else f'<sch:assert id="{one}" test="false()">{one}</sch:assert>' for one in assertions)
    return f'<sch:pattern id="{name}"><sch:rule context="{context}">{every}</sch:rule></sch:pattern>'


def observation(number: str, extension: str | None = None) -> str:
    dated = f" and @extension='{extension}'" if extension else ""
    return f"cda:observation[cda:templateId[@root='{T}{number}'{dated}]]"


PATTERNS = {
    "extends": f"""<sch:pattern id="extends"><sch:rule id="a" abstract="true">
        <sch:assert id="a-1" test="count(cda:id)=2">Two ids (CONF:1-11).</sch:assert>
        <sch:assert id="a-2" test="@classCode='OBS'">An observation</sch:assert></sch:rule>
        <sch:rule id="r" context="{observation("4.27", "2014-06-09")}"><sch:assert test="cda:nothing">first</sch:assert><sch:extends rule="a"/>
        <sch:report test="cda:code">has a code</sch:report></sch:rule></sch:pattern>""",
    # The XSLT writes one blank for several.
    "blanks": f"""<sch:pattern id="blanks"><sch:rule context="{observation("4.4")}"><sch:assert test="(cda:id)  and&#10;  not(cda:id)">
        several   blanks, <sch:value-of select="@classCode"/> <sch:value-of select="@moodCode"/></sch:assert></sch:rule></sch:pattern>""",
    "first rule wins": f"""<sch:pattern id="first"><sch:rule context="{observation("4.27")}/cda:value[@unit='mm[Hg]']">
        <sch:assert test="@value &lt; 100">low</sch:assert></sch:rule>
        <sch:rule context="{observation("4.27")}/cda:value"><sch:assert test="false()">any other</sch:assert></sch:rule>
        <sch:rule context="cda:value"><sch:assert test="false()">all that is left</sch:assert></sch:rule></sch:pattern>""",
    "union": f"""<sch:pattern id="union"><sch:rule context="{observation("4.4")}/cda:effectiveTime/cda:low | cda:act[cda:templateId[@root='{T}4.3']]/cda:id |
        cda:patient/cda:name[@use='L']"><sch:assert test="false()">each</sch:assert></sch:rule></sch:pattern>""",
    "nested": """<sch:pattern id="nested"><sch:rule context="cda:act[cda:templateId]//cda:templateId | cda:entryRelationship//cda:templateId">
        <sch:assert test="@extension">dated</sch:assert></sch:rule></sch:pattern>""",
    "own children of nested acts": f"""<sch:pattern id="own"><sch:rule context="cda:act[cda:templateId[@root='{T}4.3']]/cda:code">
        <sch:assert test="false()">of <sch:value-of select="../cda:id/@extension"/></sch:assert></sch:rule></sch:pattern>""",
    "codes": f"""<sch:pattern id="codes"><sch:rule context="cda:act[cda:templateId[@root='{T}4.3']]">
        <sch:assert test="cda:statusCode[@code and @code=document('voc.xml')/voc:systems/voc:system[@valueSetOid='1.1']/voc:code/@value]">status</sch:assert>
        <sch:assert test="cda:code/@code=document('voc.xml')/voc:systems/voc:system[@valueSetOid='1.2']/voc:code/@value">of many</sch:assert>
        <sch:assert test="count(document('voc.xml')//voc:code) = 102">all codes</sch:assert>
        <sch:assert test="count(document('voc.xml')/voc:systems) = 2">two</sch:assert></sch:rule></sch:pattern>""",
    "current": """<sch:pattern id="current"><sch:rule context="cda:id[@extension]">
        <sch:assert
        test="count(//cda:id[@root=current()/@root and @extension=current()/@extension])=1">unique, not 'current()'</sch:assert></sch:rule></sch:pattern>""",
    "lets": f"""<sch:pattern id="lets"><sch:rule context="//cda:templateId[contains(' {T}4.27:2014-06-09 ', concat(' ', @root, ':', @extension, ' '))]">
        <sch:let name="root" value="@root"/><sch:let name="above" value=".."/>
        <sch:assert test="../cda:templateId[@root=$root and not(@extension)] and count($above/cda:code)=1">compatible</sch:assert>
        <sch:assert test="contains($known, @root)">known <sch:value-of select="@root"/> of <sch:name path=".."/></sch:assert></sch:rule></sch:pattern>""",
    "attributes": f"""<sch:pattern id="attributes"><sch:rule context="{observation("4.27")}/cda:value/@unit">
        <sch:assert test="contains(' /min ', .)">per minute</sch:assert>
        <sch:assert test="string-length(.) &lt; 3">short: <sch:value-of select="."/></sch:assert></sch:rule></sch:pattern>""",
    "absolute": """<sch:pattern id="absolute"><sch:rule context="/cda:ClinicalDocument/cda:recordTarget">
        <sch:assert test="../cda:author/nothing">x</sch:assert></sch:rule>
        <sch:rule context="/cda:ClinicalDocument"><sch:assert test="false()">x</sch:assert></sch:rule></sch:pattern>""",
    "positions": f"""<sch:pattern id="positions"><sch:rule context="{observation("4.4")}/cda:templateId[2]">
        <sch:assert test="false()">the second</sch:assert></sch:rule>
        <sch:rule context="cda:organizer[cda:templateId[@root='{T}4.26']][cda:component]/cda:component[last()]">
        <sch:assert test="false()">the last</sch:assert></sch:rule>
        </sch:pattern>""",
    "variables of the document": f"""<sch:pattern id="variables"><sch:let name="relative" value="cda:ClinicalDocument/cda:recordTarget"/>
        <sch:let name="sum" value="2 * count(*) + count(.//cda:author[cda:time]) * 2 - 1"/>
        <sch:let name="or" value="node()[self::cda:x] | descendant::cda:title"/>
        <sch:rule context="{observation("4.4")}"><sch:report test="$relative">there</sch:report><sch:report test="$sum = 3">sum</sch:report>
        <sch:report test="$or or $or">title</sch:report><sch:report test="$held/cda:id">of the file</sch:report></sch:rule></sch:pattern>""",
    "no version": f"""<sch:pattern id="plain"><sch:rule context="cda:section[cda:templateId[@root='{T}2.17' and not(@extension)]]">
        <sch:assert test="false()">x</sch:assert>
        </sch:rule></sch:pattern>""",
    "abstract pattern": f"""<sch:pattern abstract="true" id="shape"><sch:rule context="$where">
        <sch:assert test="count($what)=0">none</sch:assert></sch:rule></sch:pattern>
        <sch:pattern id="made" is-a="shape"><sch:param name="where" value="{observation("4.27")}"/><sch:param name="what" value="cda:value"/></sch:pattern>""",
}
LETS = f"""<sch:let name="known" value="'{T}4.4 {T}4.3'"/><sch:let name="held" value="cda:ClinicalDocument"/>"""
DOCUMENTS = [
    ccd(),
    ccd(problem=PROBLEM * 3),
    ccd(vital_signs=vitals(vital("8867-4", "72", "/min"), vital("8480-6", "120", "mm[Hg]")) * 2, problem=""),
    ccd(leave_out="Problems"),
    # An act within another, whose own children stand behind it.
    ccd(
        problem=PROBLEM.replace("<id root", f"<entryRelationship typeCode='SUBJ'>{PROBLEM[7:-8]}</entryRelationship><id root", 1).replace("'c1'", "'outer'", 2)
    ),
    # An act whose template ids stand behind an act that it holds: the outer one comes first all the same.
    ccd(problem=PROBLEM.replace(f"{both('4.3')}", f"<entryRelationship typeCode='SUBJ'>{PROBLEM[7:-8]}</entryRelationship><!-- late -->{both('4.3')}", 1)),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "voc.xml").write_text(VOC, encoding="utf-8")
    return tmp_path


def written(folder: Path, text: str, name: str = "rules.sch") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", PATTERNS)
def test_what_fires_and_fails_is_what_the_xslt_says(folder: Path, name: str) -> None:
    path = written(folder, rule_file(PATTERNS[name], lets=LETS))
    engine, oracle, rng = load(path), Oracle(path), random.Random(3)
    fired = 0
    for text in DOCUMENTS:
        root = etree.fromstring(text.encode())
        for one in (root, *(mutant for _, mutant in mutants(root, 12, rng))):
            wanted = oracle.fired(one)
            assert ours(engine, one) == wanted
            fired += sum(len(failed) for _, _, failed in wanted)
    assert fired
    assert engine.left_out == {}


def test_all_patterns_together_give_the_same_list_in_the_same_order(folder: Path) -> None:
    path = written(folder, rule_file("".join(PATTERNS.values()), lets=LETS))
    engine, oracle = load(path), Oracle(path)
    for text in DOCUMENTS:
        root = etree.fromstring(text.encode())
        assert ours(engine, root) == oracle.fired(root)


def test_a_generated_rule_file_gives_the_same_on_documents_and_mutants(tmp_path: Path) -> None:
    path, documents = generated(tmp_path)
    found = compare(path, documents[:1], mutants_each=4, whole=False)
    assert (found.compared, found.different) == (5, [])
    assert found.fired > 100


def data_folder() -> Path | None:
    root = os.environ.get("TOUCHSTONE_DATA")
    folder = Path(root) / "clinical-dev" if root else None
    return folder if folder is not None and (folder / "ccda").is_dir() and (folder / "packages" / "ccda-schema").is_dir() else None


@pytest.mark.skipif(data_folder() is None, reason="TOUCHSTONE_DATA names no folder with clinical-dev/ccda and clinical-dev/packages/ccda-schema")
@pytest.mark.parametrize("rules", ["HL7-ccda-2.1-2025-07.sch", "ccda-3-0.sch"])
def test_published_rules_give_the_same_on_a_real_document_and_mutants(rules: str) -> None:
    data = data_folder()
    assert data is not None
    smallest = sorted(documents_of(data / "ccda", 1_000), key=lambda one: len(one[1].xpath("//*")))[10:11]
    found = compare(data / "packages" / "ccda-schema" / rules, smallest, mutants_each=2, whole=False)
    assert (found.different, found.failed > 0) == ([], True)


def test_a_should_is_information_and_a_shall_makes_a_document_invalid(folder: Path) -> None:
    phases = '<sch:phase id="errors"><sch:active pattern="e"/></sch:phase><sch:phase id="warnings"><sch:active pattern="w"/></sch:phase>'
    failing = '<sch:assert test="false()">SHALL be so (CONF:1098-{}).</sch:assert>'
    patterns = "".join(rule(observation("4.27"), failing.format(number), name=name) for name, number in (("e", 1), ("w", 2), ("never", 3)))
    report = validated(ccd(), rules=(written(folder, rule_file(patterns, phases=phases)),))
    assert {one.code: one.severity for one in report.findings if ".rules." in one.code or ".rec" in one.code} == {
        "ccda.rules.1098-1": "major",
        "ccda.recommendations.1098-2": "info",
    }
    assert (report.rules_fired["rules"], report.rules_fired["recommendations"], ccda.is_valid(report)) == (3, 3, False)
    assert report.findings[0].path == "ClinicalDocument/component/structuredBody/component[6]/section/entry/organizer/component[1]/observation"


def test_words_that_quote_the_document_are_withheld_unless_asked_for(folder: Path) -> None:
    quoting = '<sch:assert test="false()">not <sch:value-of select="cda:family"/></sch:assert>'
    path = written(folder, rule_file(rule("cda:patient/cda:name", quoting)))
    assert [one.message for one in validated(ccd(), rules=(path,)).findings if one.code.startswith("ccda.rules")] == ["not …"]
    assert [one.message for one in validated(ccd(), rules=(path,), quote=True).findings if one.code.startswith("ccda.rules")] == [f"not {CANARY}"]


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        ("cda:code/@code=document('absent.xml')//voc:code/@value", "not beside the rule file"),
        ("cda:code/@code=document('../voc.xml')//voc:code/@value", "a file elsewhere"),
        ("cda:code/@code=document('file:///etc/hostname')/a", "a file elsewhere"),
        ("document(@root)/a", "anything but the name of a file"),
        ("matches(@root, 'a')", "XPath 1.0"),
        ("every $x in cda:id satisfies $x", "not XPath 1.0"),
        ("//a[//b[//c]]", "walks over the document"),
        ("count(//a//b//c) = 0", "walks over the document"),
        ("(//a)[preceding::b[following::c]]", "walks over the document"),
        ("not(" * 70 + "true()" + ")" * 70, "nested more than"),
        ("true() and " * 6_000 + "true()", "more than 65,536 characters"),
        ("unknown:a", "a prefix that the file does not declare"),
        ("$unknown", "cannot be evaluated"),
    ],
    ids=["absent", "elsewhere", "url", "computed", "matches", "every", "predicates", "steps", "axes", "nesting", "length", "prefix", "variable"],
)
def test_a_test_that_cannot_be_evaluated_or_is_beyond_the_bounds_is_named_and_its_siblings_still_run(folder: Path, test: str, reason: str) -> None:
    path = written(folder, rule_file(rule(observation("4.4"), "one", f'<sch:assert id="two" test="{test}">b</sch:assert>', "three")))
    report = validated(ccd(), rules=(path,))
    assert {code for code in codes(report) if code.startswith("ccda.rules")} == {"ccda.rules.one", "ccda.rules.three"}
    assert any(skipped.check == "ccda.rules" and reason in skipped.reason for skipped in report.not_checked)


@pytest.mark.parametrize("value", ["matches(., 'a')", "every $x in a satisfies $x", "document('absent.xml')/a", "$none", "none:a", "//a[//b[//c]]"])
@pytest.mark.parametrize("place", ["file", "pattern", "rule"])
def test_a_variable_without_a_value_costs_only_the_tests_that_use_it(folder: Path, value: str, place: str) -> None:
    let = {place: f'<sch:let name="x" value="{value}"/>'}
    using = '<sch:assert id="using" test="$x">a</sch:assert><sch:assert id="other" test="false()">b</sch:assert>'
    pattern = f'<sch:pattern id="p">{let.get("pattern", "")}<sch:rule context="{observation("4.4")}">{let.get("rule", "")}{using}</sch:rule></sch:pattern>'
    report = validated(ccd(), rules=(written(folder, rule_file(pattern, lets=let.get("file", ""))),))
    assert codes(report, "critical", "major") == {"ccda.rules.other"}
    assert any(skipped.check == "ccda.rules" and "(using)" in skipped.reason for skipped in report.not_checked)


@pytest.mark.parametrize(
    "context", [" ", "/", "cda:id/@*", "unknown:observation", "cda:observation[matches(., 1)]", "cda:observation[", "cda:a[//cda:b[//cda:c]]"]
)
def test_a_context_that_cannot_be_evaluated_is_named_and_other_rules_still_run(folder: Path, context: str) -> None:
    path = written(folder, rule_file(rule(context, "one") + rule(observation("4.4"), "two", name="q")))
    report = validated(ccd(), rules=(path,))
    assert codes(report, "critical", "major") == {"ccda.rules.two"}
    assert any(skipped.check == "ccda.rules" and "(one)" in skipped.reason for skipped in report.not_checked)


def test_what_is_not_checked_of_a_document_does_not_depend_on_those_before_it(folder: Path) -> None:
    path = written(folder, rule_file(rule(observation("4.4"), '<sch:assert id="never" test="matches(., 1)">x</sch:assert>')))
    without = ccd(problem="")
    alone = validated(without, rules=(path,)).not_checked
    assert any("(never)" in skipped.reason for skipped in validated(ccd(), rules=(path,)).not_checked)
    assert validated(without, rules=(path,)).not_checked == alone


def test_rules_of_its_release_are_chosen_for_a_document(folder: Path) -> None:
    def of(version: str, name: str) -> Path:
        context = f"cda:ClinicalDocument[cda:templateId[@root='{T}1.1' and @extension='{version}']]"
        return written(folder, rule_file(rule(context, name)), f"{name}.sch")

    rules = (of("2015-08-01", "r21"), of("2024-05-01", "r30"))
    assert "ccda.rules.r21" in codes(validated(ccd(), rules=rules))
    newer = ccd().replace("2015-08-01", "2024-05-01")
    found = codes(validated(newer, rules=rules))
    assert ("ccda.rules.r30" in found, "ccda.rules.r21" in found) == (True, False)


def test_versions_of_templates_that_no_rule_is_for_are_named(folder: Path) -> None:
    path = written(folder, rule_file(rule(observation("4.4", "2015-08-01"), "one")))
    older = ccd(problem=PROBLEM.replace('4.4" extension="2015-08-01"', '4.4" extension="2014-06-09"'))
    reasons = [skipped.reason for skipped in validated(older, rules=(path,)).not_checked if skipped.check == "ccda.rules"]
    assert reasons == [f"rules.sch: no rule for version 2014-06-09 of 1 template ({T}4.4)"]
    named = ccd(problem=PROBLEM.replace('4.4" extension="2015-08-01"', f'4.4" extension="{CANARY}"'))
    assert CANARY not in str(validated(named, rules=(path,)).not_checked)
    assert not any("no rule for" in skipped.reason for skipped in validated(ccd(), rules=(path,)).not_checked)


def test_a_document_of_r1_1_is_unvalidated_although_shared_rules_fire(folder: Path) -> None:
    path = written(folder, rule_file(rule("cda:section[cda:templateId]", "fails")))
    older = ccd().replace(' extension="2015-08-01"', "").replace(' extension="2014-06-09"', "")
    settings = ClinicalSettings(ccda=CcdaSettings(rules=(path,), installed_rules=False))
    found = DocumentValidator(settings).validate(older)
    assert (found.format, found.scores.label, found.valid, found.scores.values) == ("ccda", "unscored", None, {})
    assert any("R1.1" in skipped.reason for skipped in found.report.not_checked)
    assert found.report.rules_fired["other-release"] == 6


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("absent.sch", None, "does not exist"),
        ("words.sch", "words", "not well-formed XML"),
        ("other.sch", "<a/>", "no Schematron schema"),
    ],
)
def test_a_rule_file_that_cannot_be_used_is_refused_at_the_start(tmp_path: Path, name: str, text: str | None, what: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match=rf"ccda\.rules: .*{what}"):
        DocumentValidator(ClinicalSettings(ccda=CcdaSettings(rules=(tmp_path / name,))))


def test_rule_files_of_the_package_cache_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / ".fhir" / "packages" / "hl7.cda.us.ccda#2.1" / "package"
    folder.mkdir(parents=True)
    written(
        folder,
        rule_file(
            f'<sch:pattern id="p"><sch:rule context="{observation("4.4")}"><sch:assert id="cached" test="false()">x</sch:assert></sch:rule></sch:pattern>'
        ),
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    found = DocumentValidator(ClinicalSettings()).validate(ccd())
    assert "ccda.rules.cached" in codes(found.report)


def test_doctor_names_each_rule_file_and_its_release(folder: Path) -> None:
    context = f"cda:ClinicalDocument[cda:templateId[@root='{T}1.1' and @extension='2015-08-01']]"
    path = written(folder, rule_file(rule(context, "one")))
    told = [check for check in doctor(ClinicalSettings(ccda=CcdaSettings(rules=(path,), installed_rules=False))) if check.area == "ccda rules"]
    assert [(check.state, check.what) for check in told] == [("good", "rules.sch, for C-CDA R2.1")]


def test_one_call_that_would_overrun_is_given_up_and_keeps_no_other_document_waiting(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchstone.scorers.clinical.formats.ccda.validator.GRACE_S", 0.05)
    # One call that visits every element from every element, and asks for the time at no moment.
    slow = '<sch:assert id="slow" test="count(//cda:item[count(//cda:item) > 0]) > 0">x</sch:assert>'
    path = written(folder, rule_file(rule("cda:ClinicalDocument[cda:templateId]", slow, "two")))
    many = ccd().replace("<list>", f"<list>{'<item>x</item>' * 6_000}</list><list>")
    report = validated(many, rules=(path,), seconds_max=0.1)
    still = [one for one in threading.enumerate() if one.name == "ccda"]
    assert still  # or the call ended by itself, and nothing was shown
    assert "ccda.internal.time" in codes(report, "critical")
    assert any(skipped.check == "ccda" and "0.1 s" in skipped.reason for skipped in report.not_checked)
    assert (ccda.was_validated(report), ccda.is_valid(report)) == (False, False)
    assert codes(validated(ccd(), rules=(path,)), "critical", "major") == {"ccda.rules.two"}
    for one in still:
        one.join(60)


def test_a_document_without_time_left_is_undecided(folder: Path) -> None:
    path = written(folder, rule_file(rule("cda:templateId", "fails")))
    settings = ClinicalSettings(ccda=CcdaSettings(rules=(path,), installed_rules=False, time_max_s=0.01))
    found = DocumentValidator(settings).validate(ccd(extra=section("2.17", "29762-2", "More", "<id/>" * 20_000)))
    assert "ccda.internal.time" in codes(found.report, "critical")
    assert (found.valid, found.scores.label in {"unscored", "Fail"}) == (None, True)


def test_a_rule_that_costs_more_than_the_document_s_time_is_stopped(folder: Path) -> None:
    slow = "count(//cda:item[count(//cda:item) > 0]) > 0"
    path = written(
        folder,
        rule_file(f'<sch:pattern id="p"><sch:rule context="cda:item"><sch:assert test="{slow.replace(">", "&gt;")}">x</sch:assert></sch:rule></sch:pattern>'),
    )
    many = f"<list>{'<item>x</item>' * 1_000}</list>"
    report = validated(ccd().replace("<list>", many + "<list>"), rules=(path,), seconds_max=0.2)
    assert "ccda.internal.time" in codes(report, "critical")
