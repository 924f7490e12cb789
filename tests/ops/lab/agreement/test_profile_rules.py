"""Rules of a conformance profile are broken one by one, each at a place where it asks for something, and each breach is found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.ops.lab.laboratory import Laboratory
from tests.scorers.clinical.hl7v2.nist_profile import edited, written
from tests.scorers.clinical.hl7v2.test_nist_slices import IS_NUMBER, code, observation, row, tables
from touchstone.ops.lab.agreement.profile_mutations import Breaking, Spot
from touchstone.ops.lab.agreement.profile_mutations import written as put
from touchstone.scorers.clinical.formats.hl7v2 import load_profiles, read
from touchstone.scorers.clinical.formats.hl7v2.findings import Findings
from touchstone.scorers.clinical.formats.hl7v2.nist.selection import Profiles
from touchstone.scorers.clinical.report import Context, Report


@pytest.mark.parametrize(
    ("spot", "line"),
    [
        (Spot(1, 3), "PID|1||x|Z"),
        (Spot(1, 3, 2), "PID|1||A^B~x|Z"),
        (Spot(1, 3, 1, 2), "PID|1||A^x~C&D^E|Z"),
        (Spot(1, 3, 2, 1, 2), "PID|1||A^B~C&x^E|Z"),
        (Spot(1, 6), "PID|1||A^B~C&D^E|Z||x"),
    ],
)
def test_a_text_is_written_at_its_place_alone(spot: Spot, line: str) -> None:
    lines = ("MSH|^~\\&|A", "PID|1||A^B~C&D^E|Z")
    assert put(lines, spot, "x") == (lines[0], line)
    assert put(lines, Spot(0, 3), "x") == ("MSH|^~\\&|x", lines[1])


def broken(folder: Path, data: bytes) -> dict[str, int]:
    profiles = Profiles(load_profiles([folder]))
    message = read(data.decode()).messages[0]
    candidate = profiles.choose(message.segments[0], Findings(Context(), Report()))
    assert candidate is not None
    lines = tuple(segment.raw for segment in message.segments)
    found: dict[str, int] = {}
    for one in Breaking(candidate, message, lines).mutations():
        assert one.lines != lines
        found[one.operator] = found.get(one.operator, 0) + 1
    return found


def test_every_kind_of_rule_is_broken_where_it_asks_for_something(tmp_path: Path) -> None:
    found = broken(written(tmp_path), edited())
    assert {"field-gone", "field-null", "component-gone"} <= found.keys()


def test_co_constraints_are_broken_in_their_values_and_numbers(tmp_path: Path) -> None:
    table = tables(row(code("718-7"), IS_NUMBER, usage="R", times="1..1"))
    found = broken(written(tmp_path, COCONSTRAINTS=table), edited(OBX=observation("718-7")))
    assert {"co-constraint-value", "co-constraint-row-gone", "co-constraint-row-once-more"} <= found.keys()


def test_the_command_counts_breaches_and_those_found(tmp_path: Path, run: Laboratory) -> None:
    written(tmp_path / "hl7v2" / "pond")
    (tmp_path / "hl7v2" / "good.hl7").write_bytes(edited())
    ran = run("hl7v2-profiles", "--data", tmp_path, "--json")
    found = json.loads(ran.out)
    assert ran.code == 0
    assert found["made"] == found["found"] > 20
    assert found["missed"] == []


def test_a_folder_without_a_profile_is_told(tmp_path: Path, run: Laboratory) -> None:
    ran = run("hl7v2-profiles", "--data", tmp_path)
    assert (ran.code, ran.out) == (3, "")
    assert "no PROFILE.xml below it" in ran.one_line
