import random

import pytest

from tests.scorers.clinical.hl7v2.messages import OBR, OBX, PID, PV1, header, message
from touchstone.scorers.clinical.formats.hl7v2 import read
from touchstone.scorers.clinical.formats.hl7v2.field_patterns import parts_of
from touchstone.scorers.clinical.formats.hl7v2.fields import Checker
from touchstone.scorers.clinical.formats.hl7v2.findings import Findings
from touchstone.scorers.clinical.formats.hl7v2.lexer import Segment
from touchstone.scorers.clinical.formats.hl7v2.observations import value_accepts
from touchstone.scorers.clinical.formats.hl7v2.pattern_learner import LEARN_AFTER, Learner
from touchstone.scorers.clinical.formats.hl7v2.tables import load
from touchstone.scorers.clinical.report import Context, Report

ROWS = (
    PID,
    PV1,
    OBR,
    OBX,
    "ORC|RE|1^A&2.16.840.1.113883.3.1&ISO|2^B|||||||||5^Low^Ann^^^Dr^^^AUTH&1.2.3&ISO^L",
    "OBX|2|CWE|94500-6^RNA^LN||260415000^Not detected^SCT^N^Neg^99LAB||||||F|||20260211083000-0600",
    "DG1|1||I10^Essential hypertension^I10|||A",
    "NTE|1|L|first~second",
)
#: What fields and components are overwritten with.
WRONG = ("", "|", "^", "&", "~", "\\", '""', "X", "0", "20261301", "\\E\\", "^^^", "~~", "&&", "a" * 250, "\x01", "é", "LN", "HL70001", "99X", "1.2.3", "~a")


def checker_of(version: str, row: str) -> Checker:
    """A checker that has learnt from many segments like this one."""
    checker = Checker(load(version), row[:3])
    for _ in range(LEARN_AFTER):
        checker.check(segment(row), Findings(Context(), Report()))
    return checker


def learner_of(checker: Checker, row: str) -> Learner:
    return checker.learners.get(row.split("|")[2], checker.learner) if row.startswith("OBX") else checker.learner


def segment(row: str) -> Segment:
    return read(message(header(), row).decode()).messages[0].segments[1]


def findings(checker: Checker, row: Segment) -> int:
    report = Report()
    checker._check_fields(row, Findings(Context(), report))
    return len(report.findings)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[:6])
@pytest.mark.parametrize("version", ["2.3.1", "2.5.1", "2.8"])
def test_what_a_pattern_accepts_the_careful_look_finds_nothing_in(version: str, row: str) -> None:
    checker = checker_of(version, row)
    whole = learner_of(checker, row).whole
    if whole is None:
        assert findings(checker, segment(row)) > 0
        return
    assert whole.fullmatch(row)
    rng = random.Random(f"{version} {row}")
    accepted = 0
    for _ in range(600):
        text = row
        for _ in range(rng.choice((1, 1, 2, 3))):
            places = [index for index, sign in enumerate(text) if sign in "|^~&" and index > 2]
            start = rng.choice(places)
            end = min([place for place in places if place > start], default=len(text))
            text = rng.choice((text[: start + 1] + rng.choice(WRONG) + text[end:], text[:start] + text[end:], text[:start] + rng.choice("|^~&") + text[start:]))
        changed = segment(text)
        # A segment with a null is never accepted by its pattern alone.
        if changed.name == row[:3] and whole.fullmatch(changed.raw) and '""' not in changed.raw:
            accepted += 1
            assert findings(checker, changed) == 0, text
            value_type, value = changed.field(2), changed.field(5)
            if row.startswith("OBX") and value_type == row.split("|")[2] and value not in {"", '""'}:
                assert value_accepts(version, value_type)(value), text
    assert accepted


def test_a_pattern_is_made_once_enough_good_segments_were_seen() -> None:
    checker = Checker(load("2.5.1"), "OBX")
    for _ in range(LEARN_AFTER - 1):
        checker.check(segment(OBX), Findings(Context(), Report()))
    before = learner_of(checker, OBX).whole
    checker.check(segment(OBX), Findings(Context(), Report()))

    assert before is None
    assert learner_of(checker, OBX).whole is not None


def test_bad_segments_teach_nothing() -> None:
    checker = Checker(load("2.5.1"), "OBX")
    for _ in range(LEARN_AFTER * 2):
        checker.check(segment("OBX|one|NM|718-7^Hemoglobin^LN||13.4||||||F"), Findings(Context(), Report()))

    assert learner_of(checker, OBX).whole is None
    assert learner_of(checker, OBX).used == {}


def test_a_type_that_does_not_exist_has_no_learner_of_its_own() -> None:
    checker = Checker(load("2.5.1"), "OBX")
    for number in range(500):
        checker.check(segment(OBX.replace("|NM|", f"|T{number}|")), Findings(Context(), Report()))

    assert checker.learners == {}


def test_a_learner_keeps_places_and_nothing_of_what_stood_there() -> None:
    checker = checker_of("2.5.1", PID)

    assert {type(part) for parts in checker.learner.used.values() for part in parts} == {int}
    assert "Winter" not in (checker.learner.whole.pattern if checker.learner.whole else "Winter")


def test_other_delimiters_go_the_long_way() -> None:
    checker = checker_of("2.5.1", OBX)
    odd = read("MSH|*~\\&|A|B|C|D|20260211||ORU*R01|1|P|2.5.1\r" + OBX + "\r").messages[0].segments[1]
    report = Report()
    checker.check(odd, Findings(Context(), report))

    assert odd.raw == ""
    assert report.findings


@pytest.mark.parametrize(("value", "parts"), [("a", {1}), ("a^^b", {1, 3}), ("^x~y", {0, 1, 2}), ("~", {0})])
def test_parts_are_the_components_that_hold_something(value: str, parts: set[int]) -> None:
    assert parts_of(value) == parts
