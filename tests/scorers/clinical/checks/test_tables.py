import json
import os
from importlib import resources
from pathlib import Path

import pytest

from touchstone.ops.lab.build.tables.clinical.icd10cm import compile_table, read_codes
from touchstone.ops.lab.build.tables.clinical.value_sets import compile_value_sets
from touchstone.scorers.clinical.checks.terminology import in_icd10cm

TABLES = resources.files("touchstone.scorers.clinical.tables")


def test_the_icd_table_is_the_one_its_script_compiles() -> None:
    assert TABLES.joinpath("icd10cm.txt.xz").read_bytes() == compile_table()


def test_the_icd_table_holds_exactly_the_codes_of_its_source() -> None:
    codes = read_codes()[1]
    assert len(codes) > 90_000
    assert all(in_icd10cm(code) for code in codes)
    assert not in_icd10cm("A00-A09")
    assert not in_icd10cm("1")


def test_the_value_sets_are_those_of_the_published_packages() -> None:
    root = os.environ.get("TOUCHSTONE_DATA")
    if not root:
        pytest.skip("TOUCHSTONE_DATA names no folder with the FHIR packages")
    packages = Path(root) / "clinical-dev" / "packages"
    compiled = compile_value_sets(packages / "hl7.fhir.r4.core-4.0.1.tgz", packages / "us_core_311.tgz")
    assert json.loads(TABLES.joinpath("value_sets.json").read_text("utf-8")) == json.loads(compiled)


def test_every_table_is_named_in_the_notice() -> None:
    notice = TABLES.joinpath("NOTICE.md").read_text("utf-8")
    names = [entry.name for entry in TABLES.iterdir() if entry.name.endswith((".toml", ".json", ".xz"))]
    assert [name for name in names if f"`{name}`" not in notice] == []
