import importlib
import random
import re
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from touchstone.scorers.clinical.formats.hl7v2.grammar import ANYWHERE, NEVER_REQUIRED, Fault, Structure, build
from touchstone.scorers.clinical.formats.hl7v2.header import structure
from touchstone.scorers.clinical.formats.hl7v2.tables import VERSIONS, load

COMMON = ("ORU_R01", "ADT_A01", "ORM_O01", "ADT_A06", "SIU_S12", "MDM_T02", "VXU_V04", "OML_O21", "RDE_O11", "BAR_P01")


#: Structures whose grammar is mended where the tables are compiled.
MENDED = {("2.1", "ORM_O01"), ("2.1", "ORR_O02")}


@lru_cache
def source(version: str) -> Any:
    """hl7apy's own tables of a version: the test reads them apart from our compiled ones."""
    return importlib.import_module(f"hl7apy.v{version.replace('.', '_')}")


def derive(version: str, grammar: Any, rng: random.Random, depth: int = 0) -> list[str]:
    kind, rows = grammar[0], grammar[1]
    names: list[str] = []
    for row in [rng.choice(rows)] if kind == "choice" else rows:
        name, (least, most), what = row[0], row[2], row[3]
        times = max(least, rng.choice([0, 1, 1, 2] if depth < 3 else [0, 1]))
        for _ in range(times if most == -1 else min(times, most)):
            names += derive(version, source(version).GROUPS[name], rng, depth + 1) if what == "GRP" else [name]
    return names


def as_pattern(version: str, grammar: Any) -> str:
    """The grammar as a regular expression over names followed by blanks: the oracle for sequences that it does not derive."""
    kind, rows = grammar[0], grammar[1]
    parts = []
    for name, _, (least, most), what in rows:
        inner = as_pattern(version, source(version).GROUPS[name]) if what == "GRP" else re.escape(name) + " "
        least = 0 if name in NEVER_REQUIRED else least
        many = {(1, 1): "", (0, 1): "?", (0, -1): "*", (1, -1): "+"}[least, most]
        parts.append(f"(?:{inner}){many}")
    return f"(?:{'|'.join(parts)})" if kind == "choice" else "".join(parts)


def of(version: str, name: str) -> Structure:
    return structure(load(version), name)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_grammar_derives_is_accepted(version: str) -> None:
    rng = random.Random(version)
    for name, grammar in source(version).MESSAGES.items():
        if (version, name) in MENDED:
            continue
        for _ in range(3):
            names = derive(version, grammar, rng)
            if names and len(names) < 400 and not any(part.upper().startswith("ANY") for part in names):
                assert of(version, name).faults(names) == [], (name, names)


@pytest.mark.parametrize("version", ["2.3.1", "2.5.1", "2.8.2"])
@pytest.mark.parametrize("name", COMMON)
@settings(deadline=None)
@given(data=st.data())
def test_a_changed_sequence_is_accepted_exactly_where_the_grammar_allows_it(version: str, name: str, data: st.DataObject) -> None:
    grammar = source(version).MESSAGES.get(name)
    if grammar is None:
        return
    names = derive(version, grammar, random.Random(data.draw(st.integers(0, 10_000))))[:14]
    where = data.draw(st.integers(0, max(0, len(names) - 1)))
    change = data.draw(st.sampled_from(["drop", "swap", "double", "keep"]))
    if names and change == "drop":
        del names[where]
    elif names and change == "double":
        names.insert(where, names[where])
    elif names and change == "swap":
        names[where], names[0] = names[0], names[where]
    if any(part.upper().startswith("ANY") or part in ANYWHERE for part in names):
        return

    allowed = re.fullmatch(as_pattern(version, grammar), "".join(f"{part} " for part in names)) is not None

    assert (of(version, name).faults(names) == []) == allowed, names


def test_a_missing_segment_is_named_with_its_group() -> None:
    assert of("2.5.1", "ORU_R01").faults(["MSH", "PID", "OBX", "SPM"]) == [Fault("missing", 2, "OBR", "ORU_R01_ORDER_OBSERVATION")]


def test_a_missing_segment_at_the_end_is_named() -> None:
    assert of("2.5.1", "ADT_A01").faults(["MSH", "EVN", "PID"]) == [Fault("missing", 3, "PV1", "ADT_A01")]


def test_a_segment_that_the_structure_does_not_have_is_named_where_it_stands() -> None:
    assert of("2.5.1", "ORU_R01").faults(["MSH", "PID", "OBR", "DG1", "OBX"]) == [Fault("unexpected", 3, "DG1", "")]


def test_a_segment_out_of_order_is_named() -> None:
    assert of("2.5.1", "ADT_A01").faults(["MSH", "EVN", "PV1", "PID"]) == [Fault("missing", 2, "PID", "ADT_A01"), Fault("misplaced", 3, "PID", "")]


def test_local_segments_may_stand_anywhere() -> None:
    assert of("2.5.1", "ORU_R01").faults(["MSH", "ZAA", "PID", "ZBB", "OBR", "OBX", "ZCC"]) == []


def test_a_message_may_be_continued_after_any_segment() -> None:
    assert of("2.5.1", "ADT_A01").faults(["MSH", "EVN", "PID", "ADD", "PV1", "DSC"]) == []


def test_an_empty_message_lacks_what_is_required() -> None:
    assert [fault.segment for fault in of("2.5.1", "ADT_A01").faults([])] == ["MSH", "EVN", "PID", "PV1"]


def test_names_of_the_payload_are_not_remembered() -> None:
    subject = build("T", ["sequence", [["MSH", 1, 1, 0], ["OBX", 0, -1, 0]]], {})
    subject.faults(["MSH", *[f"{first}{second}X" for first in "ABCDEFGH" for second in "0123456789"]])

    assert {name for _, name in subject.remembered} <= {"MSH", "OBX"}


def test_a_long_message_takes_time_by_its_length() -> None:
    assert of("2.5.1", "ORU_R01").faults(["MSH", "PID", "OBR", *["OBX", "NTE"] * 50_000]) == []


@pytest.mark.parametrize("detail", ["OBR", "ORO", "RX1"])
def test_an_order_of_the_earliest_version_is_for_one_thing(detail: str) -> None:
    assert of("2.1", "ORM_O01").faults(["MSH", "PID", "ORC", detail, "NTE"]) == []


def test_no_note_is_ever_required() -> None:
    assert of("2.5.1", "RDS_O13").faults(["MSH", "PID", "ORC", "RXO", "RXR", "RXD", "RXR"]) == []
    assert of("2.2", "ORM_O01").faults(["MSH", "PID", "ORC", "OBR", "OBX"]) == []
