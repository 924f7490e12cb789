"""Compile the FHIR R4 tables from HL7's packages.

The source is hl7.fhir.r4.core 4.0.1 (HL7, CC0-1.0). --extensions adds the extension definitions of hl7.fhir.uv.extensions.r4 (HL7, CC0-1.0), which
replaced those of the core package, --terminology the code systems of hl7.terminology.r4, --cross-version the elements of other versions. The
tables keep the version and day of both, because they cannot know what HL7 has published since. The same packages give the same bytes.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from touchstone.ops.lab.build.tables.fhir.cross import cross_table
from touchstone.ops.lab.build.tables.fhir.definitions import definitions_table, profiles_table
from touchstone.ops.lab.build.tables.fhir.terminology import codes_table, grown, hierarchy_table, later_sets, later_table, listed_table
from touchstone.ops.lab.build.tables.fhir_package import edition, read_package
from touchstone.ops.lab.command import Arguments

OUT = Path(__file__).resolve().parents[5] / "scorers/clinical/formats/fhir/tables"
NOTICE = "Compiled from hl7.fhir.r4.core 4.0.1 and hl7.fhir.uv.extensions.r4 5.3.0 (HL7 International, CC0-1.0)."


def write_table(path: Path, table: dict[str, Any]) -> int:
    """Write one table as compressed JSON and return its size in bytes."""
    text = json.dumps({"notice": NOTICE, **table}, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    path.write_bytes(lzma.compress(text.encode(), preset=9))
    return path.stat().st_size


def main(arguments: Sequence[str]) -> None:
    """Compile the tables."""
    parser = Arguments("build tables fhir", __doc__)
    parser.add_argument("package", type=Path, help="the package: a .tgz file or a folder")
    parser.add_argument("--extensions", type=Path, help="hl7.fhir.uv.extensions.r4: a .tgz file or a folder")
    parser.add_argument("--terminology", type=Path, help="hl7.terminology.r4: a .tgz file or a folder")
    parser.add_argument("--cross-version", type=Path, help="hl7.fhir.xver-extensions: an unpacked folder")
    parser.add_argument("--out", type=Path, default=OUT, help="where the tables go")
    options = parser.parse_args(arguments)
    if not options.package.exists():
        parser.error(f"{options.package} does not exist; give the hl7.fhir.r4.core package")
    package = read_package(options.package)
    if len(package["StructureDefinition"]) < 200:
        parser.error(f"{options.package} holds too few StructureDefinitions to be hl7.fhir.r4.core")
    options.out.mkdir(parents=True, exist_ok=True)
    later_packages = [read_package(one) for one in (options.extensions, options.terminology) if one is not None]
    structures = definitions_table(package, later_packages[0] if options.extensions else None)
    if options.extensions:
        structures["edition"] = edition(options.extensions)
    codes = codes_table(package)
    tables = {"definitions": structures, "codes": codes, "profiles": profiles_table(package), "valuesets": listed_table(package, structures["values"])}
    undecided = {url for url, sets in structures["values"].items() if sets is None} - set(tables["valuesets"]["composed"])
    tables["valuesets"]["sets"] |= later_sets(later_packages, undecided)
    if options.terminology:
        later = later_table(later_packages[-1], codes)
        tables["hierarchy"] = hierarchy_table([package, later_packages[-1]])
        structures["grown"] = grown(structures["values"], codes, later)
        tables["terminology"] = later | {"edition": edition(options.terminology)}
    if options.cross_version:
        tables["cross"] = cross_table(options.cross_version)
    for name, table in tables.items():
        size = write_table(options.out / f"{name}.json.xz", table)
        print(f"{name}: {size:,} bytes")
