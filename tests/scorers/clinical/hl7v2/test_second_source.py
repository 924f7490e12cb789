import csv
import importlib
import os
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import touchstone.ops.lab.build.tables.hl7v2.command as compiler
from tests.scorers.clinical.hl7v2.messages import OBR, PID, findings, result, told
from touchstone.ops.lab.build.tables.hl7v2.codes import CODE_CHARACTERS_MAX, cleaned, code_tables
from touchstone.ops.lab.build.tables.hl7v2.published import published_codes, read_published, without_zeros
from touchstone.scorers.clinical.formats.hl7v2 import tables
from touchstone.scorers.clinical.formats.hl7v2.tables import VERSIONS, Element, load

ROOT = Path(os.environ.get("TOUCHSTONE_DATA", "")) / "clinical-dev"
CORE = ROOT / "packages" / "hl7.fhir.r4.core-4.0.1.tgz"
MAPS = ROOT / "crossformat" / "v2-to-fhir-maps"
with_core = pytest.mark.skipif(not CORE.is_file(), reason="TOUCHSTONE_DATA names no folder with hl7.fhir.r4.core, whose code systems are the second source")
with_maps = pytest.mark.skipif(not MAPS.is_dir(), reason="TOUCHSTONE_DATA names no folder with the v2-to-FHIR maps, whose names are the second source")

#: Codes that R4's code systems lack and HL7's chapters have: looked at one by one. Tables that a version replaced whole are named by all their codes.
ONLY_HERE = {
    "HL70003": r"Z\d\d|varies",
    "HL70005": r"\d{4}-\d",
    "HL70070": ".*",
    "HL70191": "SGML",
    "HL70301": "[LMN]",
    "HL70354": "MFN_Znn|NUL",
    "HL70396": "99IHE|NABM",
    "HL70487": ".*",
}
#: Names that changed so much that no likeness is left; the field or component is the same.
RENAMED = {
    ("CNN", 4), ("CX", 1),
    ("EIP", 1), ("EIP", 2), ("FN", 1), ("MSH", 21), ("NK1", 15), ("NR", 2), ("OBR", 29), ("OBX", 8), ("OBX", 12), ("PID", 8), ("PID", 35),
    ("PRT", 5), ("PRT", 10), ("RXR", 2), ("SPS", 3), ("TS", 1), ("XCN", 1), ("XCN", 4), ("XPN", 3), ("XTN", 1),
}  # fmt: skip
#: Rows of R4's code systems that are no codes.
PROSE = re.compile(r".*[a-z] [a-z].*|<?null>?|.* or .*|L,M,N")


@lru_cache(maxsize=1)
def published() -> dict[str, set[str]]:
    return published_codes(CORE)


def word(name: str) -> str:
    return re.sub(r"[^A-Z0-9]", "", name.upper())


@pytest.mark.parametrize("version", VERSIONS)
def test_every_component_stands_where_its_own_number_says(version: str) -> None:
    source = importlib.import_module(f"hl7apy.v{version.replace('.', '_')}").DATATYPES_STRUCTS
    for name, components in source.items():
        compiled = load(version).datatypes[name]
        for place, definition, *_ in components:
            number = int(place.rpartition("_")[2])
            assert word(compiled[number - 1].name) == word(str(definition[3])), (name, number)


def test_a_component_that_the_source_leaves_out_is_noticed_when_the_tables_are_compiled() -> None:
    source = SimpleNamespace(DATATYPES_STRUCTS={"XX": (("XX_2", ["leaf", None, "ST", "SECOND", None, -1], (0, 1), "CMP"),)})

    with pytest.raises(ValueError, match=r"XX of 2\.5 has no component 1"):
        compiler.datatypes_of("2.5", source)


def test_no_data_type_moves_up_or_down_from_one_version_to_the_next() -> None:
    moved = []
    for name in sorted({name for version in VERSIONS for name in load(version).datatypes}):
        editions = [(version, [word(part.name) for part in load(version).datatypes[name]]) for version in VERSIONS if name in load(version).datatypes]
        for (_, before), (version, after) in pairwise(editions):
            stays = sum(one == other for one, other in zip(before, after, strict=False))
            moves = max(sum(one == other for one, other in zip(before[by:], after, strict=False)) for by in (1, 2))
            moves = max(moves, *(sum(one == other for one, other in zip(before, after[by:], strict=False)) for by in (1, 2)))
            if moves > stays:
                moved.append((name, version))
    assert moved == []


def test_no_code_is_written_with_leading_zeros_in_one_version_and_without_in_another() -> None:
    differing = []
    for number, table in tables.code_tables().items():
        numbers = [code for code in table.codes if re.fullmatch(r"\d+", code, re.ASCII)]
        padded = {int(code) for code in numbers if code.startswith("0") and code != "0"}
        differing += [(number, code) for code in numbers if int(code) in padded and not code.startswith("0")]
    assert differing == []


@pytest.mark.parametrize(
    ("table", "codes"),
    [("HL70062", ["01", "03"]), ("HL70232", ["02"]), ("HL70292", ["08"]), ("HL70344", ["09"]), ("HL70475", ["05"]), ("HL70496", ["001", "099"])],
)
@pytest.mark.parametrize("version", ["2.7", "2.8", "2.8.1", "2.8.2"])
def test_codes_that_a_spreadsheet_took_for_numbers_have_their_zeros(version: str, table: str, codes: list[str]) -> None:
    listed = load(version).codes(table)

    assert listed is not None
    assert set(codes) <= listed
    assert not {code.lstrip("0") for code in codes} & listed


@pytest.mark.parametrize("system", ["NCIT", "I10C", "HSLOC", "OBSMETHOD", "X12DE738"])
def test_coding_systems_that_hl7_has_added_to_table_0396_are_known(system: str) -> None:
    assert tables.code_tables()["HL70396"].matches(system)


def test_no_prose_and_no_character_of_another_encoding_is_a_code() -> None:
    odd = [(number, code) for number, table in tables.code_tables().items() for code in table.codes if re.search(r"[Â\xa0]|null|,", code)]
    assert odd == []


@pytest.mark.parametrize(("version", "telephone"), [("2.5.1", "^PRN^PH^^1^217^5550100"), ("2.6", "^PRN^PH^^1^217^5550100"), ("2.7", "^PRN^PH^^1^217^5550100")])
def test_a_telephone_number_is_read_alike_in_every_version(version: str, telephone: str) -> None:
    pid = PID.replace("^PRN^PH^^1^217^5550100", telephone)

    assert [found for found in told(result(version=version, pid=pid)) if "PID-13" in found[2]] == []


@pytest.mark.parametrize("kind", ["NA", "MA"])
def test_a_numeric_array_holds_as_many_values_as_there_are(kind: str) -> None:
    observation = f"OBX|1|{kind}|718-7^Hemoglobin^LN||{'^'.join('125' for _ in range(30))}||||||F"

    assert "data_types.extra-component" not in {found.code for found in findings(result(observation, obr=OBR))}


def test_the_age_of_the_tables_is_known() -> None:
    assert re.fullmatch(r"HL7 2\.8\.2 and HL7 Terminology \d+\.\d+\.\d+ of 20\d\d-\d\d-\d\d", tables.edition())


def test_a_lost_zero_is_restored_only_where_one_published_code_can_be_meant() -> None:
    assert without_zeros({"1", "2", "31", "7"}, {"01", "02", "002", "031", "8"}) == {"1": "01", "31": "031"}


@with_core
def test_every_code_of_r4s_code_systems_is_in_the_compiled_table() -> None:
    missing = []
    for number, codes in published().items():
        table = tables.code_tables().get(number)
        kept, _, _ = cleaned(tuple(code for code in codes if not PROSE.fullmatch(code)))
        missing += [(number, code) for code in sorted(kept) if table is not None and not table.matches(code)]
    assert missing == []


@with_core
def test_every_compiled_code_that_r4s_code_systems_lack_was_looked_at() -> None:
    bare = code_tables({version: importlib.import_module(f"hl7apy.v{version.replace('.', '_')}") for version in VERSIONS}, read_published())
    versions_only = (1 << len(VERSIONS)) - 1
    strange = []
    for number, codes in published().items():
        spelled = {code.casefold() for code in codes | cleaned(tuple(codes))[0]}
        for code, listed_by in bare.get(number, {"codes": {}})["codes"].items():
            known = code.casefold() in spelled or not listed_by & versions_only or len(code) > CODE_CHARACTERS_MAX
            if not known and not re.fullmatch(ONLY_HERE.get(number, r"(?!)"), code):
                strange.append((number, code))
    assert strange == []


def named_by_maps() -> Iterator[tuple[str, int, str, bool]]:
    """(segment or data type, number, name, is a component) of every row of the official maps."""
    for path in sorted([*MAPS.glob("datatypes/*.csv"), *MAPS.glob("segments/*.csv")]):
        with path.open(encoding="utf-8-sig", newline="") as file:
            for row in csv.reader(file):
                place = re.fullmatch(r"([A-Z][A-Z0-9]{1,2})([.-])(\d+)", row[1].strip()) if len(row) > 3 else None
                if place and row[2].strip():
                    yield place[1], int(place[3]), word(row[2]), place[2] == "."


@with_maps
def test_fields_and_components_have_the_names_that_the_official_maps_give_them() -> None:
    names: dict[tuple[str, int, bool], set[str]] = {}
    for owner, number, name, is_component in named_by_maps():
        names.setdefault((owner, number, is_component), set()).add(name)
    assert len(names) > 1_000
    unlike: list[Any] = []
    for (owner, number, is_component), given in names.items():
        for version in VERSIONS[3:]:
            rows: tuple[Element, ...] = (load(version).datatypes if is_component else load(version).segments).get(owner, ())
            of_number = [row for row in rows if row.position == number and row.most != 0 and (owner, number) not in RENAMED]
            unlike += [(owner, number, version) for row in of_number if max(SequenceMatcher(None, word(row.name), name).ratio() for name in given) < 0.5]
    assert unlike == []
