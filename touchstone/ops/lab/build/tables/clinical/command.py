"""Write the shipped tables of the shared clinical checks again, from their sources."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from touchstone.ops.lab.build.tables.clinical.displays import compile_displays
from touchstone.ops.lab.build.tables.clinical.icd10cm import compile_table
from touchstone.ops.lab.build.tables.clinical.registries import compile_registries
from touchstone.ops.lab.build.tables.clinical.units import compile_units
from touchstone.ops.lab.build.tables.clinical.value_sets import compile_value_sets
from touchstone.ops.lab.command import Arguments

TABLES = Path(__file__).resolve().parents[5] / "scorers" / "clinical" / "tables"


def main(arguments: Sequence[str]) -> None:
    """Compile the tables whose sources were given; ICD-10-CM and units need only Python packages."""
    parser = Arguments("build tables clinical", __doc__)
    parser.add_argument("--core", type=Path, help="hl7.fhir.r4.core 4.0.1: a folder or a .tgz")
    parser.add_argument("--us-core", type=Path, help="hl7.fhir.us.core 3.1.1: a folder or a .tgz")
    parser.add_argument("--registries", type=Path, metavar="US_CORE", help="hl7.fhir.us.core 4.0.0, with the packages language-tags and iso4217 installed")
    options = parser.parse_args(arguments)
    (TABLES / "icd10cm.txt.xz").write_bytes(compile_table())
    (TABLES / "units_read.json").write_text(compile_units(), encoding="utf-8")
    if options.core is not None and options.us_core is not None:
        (TABLES / "value_sets.json").write_text(compile_value_sets(options.core, options.us_core), encoding="utf-8")
        (TABLES / "displays.json.xz").write_bytes(compile_displays(options.core, options.us_core))
    if options.registries is not None:
        (TABLES / "registries.json.xz").write_bytes(compile_registries(options.registries))
