import zlib
from pathlib import Path

import orjson
import pytest

import touchstone.ops.lab.build.tables.hl7v2.command as compiler
from touchstone.scorers.clinical.formats.hl7v2.code_membership import coding_system_fault, membership
from touchstone.scorers.clinical.formats.hl7v2.tables import VERSIONS, code_tables, load, nearest

SHIPPED = Path(compiler.__file__).parents[6] / compiler.FOLDER
BYTES_MAX = 2 * 1024 * 1024


def test_the_script_makes_exactly_the_shipped_tables(tmp_path: Path) -> None:
    compiler.main([str(tmp_path)])

    made = {path.name: path for path in tmp_path.iterdir()}
    assert set(made) == {path.name for path in SHIPPED.iterdir()}
    for name, path in made.items():
        shipped = (SHIPPED / name).read_bytes()
        if name.endswith(".z"):  # zlib's own versions may pack alike content differently
            assert orjson.loads(zlib.decompress(path.read_bytes())) == orjson.loads(zlib.decompress(shipped)), name
        else:
            assert path.read_bytes() == shipped


def test_the_tables_are_small_and_carry_their_licence() -> None:
    assert sum(path.stat().st_size for path in SHIPPED.iterdir()) < BYTES_MAX
    assert "Permission is hereby granted" in (SHIPPED / "NOTICE").read_text()


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_has_its_header_and_its_structures(version: str) -> None:
    tables = load(version)

    assert [element.position for element in tables.segments["MSH"]][:2] == [1, 2]
    assert "ORU_R01" in tables.messages
    assert "ADT_A01" in tables.messages


@pytest.mark.parametrize(
    ("written", "used"),
    [("2.5.1", "2.5.1"), ("2.3.z", "2.3"), ("2.3.1x", "2.3.1"), ("2.9", "2.8.2"), ("2.9.1", "2.8.2"), ("3.0", "2.5.1"), ("", "2.5.1"), ("x" * 5000, "2.5.1")],
)
def test_an_unknown_version_is_read_as_the_nearest(written: str, used: str) -> None:
    assert nearest(written) == used


def test_membership_has_three_answers() -> None:
    tables = load("2.5.1")

    assert membership(tables, "HL70136", "Y") == "member"
    assert membership(tables, "HL70136", "YES") == "other"
    assert membership(tables, "HL70361", "LAB") == "not-checked"
    assert membership(load("2.3"), "HL70136", "YES") == "not-checked"
    assert membership(tables, None, "x") == "not-checked"


def test_prose_and_spans_of_the_source_are_no_codes() -> None:
    tables = code_tables()

    assert {f"E{digit}" for digit in range(1, 10)} <= set(tables["HL70141"].codes)
    assert not any("..." in code or "…" in code for table in tables.values() for code in table.codes)
    assert tables["HL70396"].matches("HL70189")
    assert tables["HL70396"].matches("99LAB")


@pytest.mark.parametrize("system", ["LN", "SCT", "L", "99ELR", "HL70078", "ISO3166_1", "2.16.840.1.113883.6.96", "CDCREC", "UCUM", "CVX"])
def test_coding_systems_of_any_version_and_oids_pass(system: str) -> None:
    assert coding_system_fault(system) is None


@pytest.mark.parametrize(("system", "severity"), [("SNOMED", "minor"), ("MYLAB", "minor"), ("not a system", "major"), ("(x)", "major"), ("y" * 99, "major")])
def test_what_is_no_coding_system_is_told_by_its_form(system: str, severity: str) -> None:
    fault = coding_system_fault(system)

    assert fault is not None
    assert fault[0] == severity
