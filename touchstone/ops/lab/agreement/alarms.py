"""List every finding on documents that are valid: by code, how many, and in how many documents of which corpus.

Reads a folder laid out like the development data: R4's examples, Synthea's Bundles, the examples of each US Core package (against that package),
and messages of vendors, except those named for a fault. These documents are valid according to their publishers, so a finding graver than minor
is either a fault of the document (explained in JUSTIFIED, by code) or a false alarm.
"""

from __future__ import annotations

import json
import tarfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from touchstone.ops.lab.agreement.hl7v2 import message_files, read_name
from touchstone.ops.lab.command import Arguments
from touchstone.scorers.clinical.formats.fhir import Options
from touchstone.scorers.clinical.formats.fhir import validate as validate_fhir
from touchstone.scorers.clinical.formats.hl7v2 import validate as validate_hl7v2
from touchstone.scorers.clinical.report import Report

GRAVE = ("critical", "major")
SEVERITIES = (*GRAVE, "minor", "info")
#: Code → the real fault of the documents that have it. FHIR's were confirmed: the official validator calls the same documents invalid.
JUSTIFIED = {
    "data_types.coding-system": "a person's name in the place of the coding system (OBR-31.3)",
    "data_types.coding-system-missing": "a code without its system in OBX-3, OBX-5 or OBR-4",
    "data_types.cx-authority": "a patient's identifier without an authority (the specification asks for it, HL7 v2 does not; validity does not count it)",
    "data_types.datatype": "a time where a number or a day belongs, `11:30:05` in TM, `test` in NM",
    "data_types.xpn-name": "a patient's name without any part, not marked as withheld",
    "datetimes.calendar": "29 February of 2022",
    "datetimes.malformed": "thirteen digits, or separators, in a time stamp",
    "datetimes.zone-missing": "MSH-7 without an offset (major by the specification)",
    "fhir.bundle.full-url": "a relative fullUrl",
    "fhir.canonicals.fragment": "a fragment that names no contained resource",
    "fhir.canonicals.relative": "a relative canonical",
    "fhir.codings.map": "a code that the code system or value set of a map does not have",
    "fhir.codings.system": "a fragment, or a relative URL, as the system of an include or coding",
    "fhir.definitions.expression": "a search expression that begins with a type which is none of the bases",
    "fhir.definitions.library": "criteria in CQL, and no library",
    "fhir.definitions.search": "a search parameter under another type than its definition has",
    "fhir.definitions.system": "a version inside the URL of a code system",
    "fhir.extensions.context": "an extension where its definition does not allow it",
    "fhir.extensions.part": "a part that the definition of an extension does not have",
    "fhir.invariants.sdf-4": "a definition without its base",
    "fhir.invariants.txt-2": "an empty narrative",
    "fhir.narrative.link": "a link in the narrative without an anchor that it leads to",
    "fhir.primitives.blank": "a code of blanks",
    "fhir.primitives.form": "a hash that is not base64; codes with blanks around them, an OID, a UUID or an id that is none",
    "fhir.profiles.missing": "a body temperature without its time",
    "fhir.structure.missing": "a required element is absent",
    "identifiers.npi-check-digit": "an NPI made up for an example; its check digit is wrong",
    "identifiers.npi-form": "Synthea's NPIs have two to five digits",
    "identifiers.oid": "letters, or a name, as an ISO universal id (`2.16.840.1.114222.nnnn`)",
    "identifiers.universal-id": "a universal id type (HD.3) without an id (HD.2)",
    "identifiers.uri-scheme": "a bare OID as the value of an identifier that must be a URI",
    "observations.type-mismatch": "components in an OBX-5 that OBX-2 calls ST",
    "plausibility.critical": "simulated values that a laboratory would telephone: blood pressure of a small child, leukocytes of 0.5",
    "plausibility.impossible": "simulated total protein of 70 g/dL; g/L was meant",
    "plausibility.reference-range": "low and high of a reference range exchanged",
    "profile.coding-system": "a code without its system under a declared laboratory report profile",
    "profile.required-field": "a field that the declared profile requires is empty",
    "structure.encoding-characters": "the file is named for its bad delimiters",
    "structure.message-structure": "a structure that HL7 does not have (`ADT_A08`; the event uses ADT_A01)",
    "structure.missing-segment": "ORC or OBR missing in OML_O21; a scheduling message that calls itself ADT^A60",
    "structure.required-field": "MSH-11, PV1-2, MRG-1, OBX-3, OBX-11, AUT-13 or AL1-1 empty",
    "structure.unexpected-segment": "an order in a document message; a scheduling message that calls itself ADT^A60",
    "structure.unknown-segment": "a segment of no version",
    "terminology.form": "local codes that call themselves SNOMED CT, LOINC or NDC",
    "units.invalid": "mEq, ea, tbl, drop, mcg, ml/hr, (score) given as UCUM codes",
    "valuesets.code": "codes that are not in table 0119 or 0136; fields shifted by one",
}
#: The package of all of R4's examples (5,303 resources), if it is in the folder of packages.
R4_EXAMPLES = "hl7.fhir.r4.examples"
#: Documents named on one line.
NAMED_MAX = 5


@dataclass(slots=True)
class Alarms:
    """The findings in one corpus."""

    documents: int = 0
    invalid: int = 0
    findings: Counter[tuple[str, str]] = field(default_factory=Counter)
    where: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))

    def take(self, name: str, report: Report) -> None:
        """Count the findings of one document."""
        self.documents += 1
        counts = report.counts()
        self.invalid += any(severity in GRAVE for _, severity in counts)
        for key, times in counts.items():
            self.findings[key] += times
            self.where[key].append(name)


def corpora(folder: Path) -> Iterator[tuple[str, Iterator[tuple[str, Report]]]]:
    """Each corpus by name, with the report of each of its documents."""
    for name in ("r4-examples", "synthea"):
        if (folder / "fhir" / name).is_dir():
            yield name, ((path.name, validate_fhir(path.read_bytes())) for path in sorted((folder / "fhir" / name).glob("*.json")))
    for archive in sorted((folder / "packages").glob("*.tgz")):
        if "us_core" in archive.name or "us.core" in archive.name:
            options = Options(packages=(archive,), installed_packages=False)
            yield archive.stem, ((name, validate_fhir(data, options=options)) for name, data in examples_of(archive))
        elif archive.name.startswith(R4_EXAMPLES):
            # Thousands of files by many hands: FHIR's own rules only.
            options = Options(installed_packages=False, clinical=False, marks=False)
            yield archive.stem, ((name, validate_fhir(data, options=options)) for name, data in examples_of(archive, folder="package"))
    files = message_files(folder / "hl7v2") if (folder / "hl7v2").is_dir() else []
    for vendor in sorted({path.relative_to(folder / "hl7v2").parts[0] for path in files}):
        own = [path for path in files if path.relative_to(folder / "hl7v2").parts[0] == vendor and is_unblamed(path)]
        yield f"hl7v2 {vendor}", ((path.name, validate_hl7v2(path.read_bytes())) for path in own)


def is_unblamed(path: Path) -> bool:
    """True if the message's name does not promise a fault."""
    promise = read_name(path.stem)
    return promise is None or promise.valid


def examples_of(archive: Path, folder: str = "example") -> Iterator[tuple[str, bytes]]:
    """The examples in a folder of a package, by file name."""
    with tarfile.open(archive) as opened:
        for member in opened:
            parts = Path(member.name).parts
            file = opened.extractfile(member) if member.isfile() and folder in parts[:-1] and member.name.endswith(".json") else None
            if file is not None and not parts[-1].startswith("."):
                data = file.read()
                if b'"resourceType"' in data and parts[-1] != "package.json":
                    yield parts[-1], data


def measured(folder: Path) -> dict[str, Alarms]:
    """The findings of every corpus that the folder has."""
    found: dict[str, Alarms] = {}
    for name, reports in corpora(folder):
        found[name] = Alarms()
        for document, report in reports:
            found[name].take(document, report)
    return found


def as_json(found: dict[str, Alarms]) -> dict[str, Any]:
    """The figures as JSON types."""
    return {
        name: {
            "documents": one.documents,
            "invalid": one.invalid,
            "findings": [
                {"code": code, "severity": severity, "findings": times, "documents": one.where[code, severity]}
                for (code, severity), times in sorted(one.findings.items(), key=lambda item: (SEVERITIES.index(item[0][1]), item[0][0]))
            ],
        }
        for name, one in found.items()
    }


def as_text(found: dict[str, Alarms], severities: tuple[str, ...]) -> str:
    """A line per corpus, then a line per severity, code and corpus."""
    lines = [f"{name:24}{one.documents:>5} documents, {one.invalid} with a critical or major finding" for name, one in found.items()]
    lines.append("")
    rows = [
        (severities.index(severity), code, name, times, one.where[code, severity])
        for name, one in found.items()
        for (code, severity), times in one.findings.items()
        if severity in severities
    ]
    for rank, code, name, times, documents in sorted(rows):
        shown = ", ".join(documents[:NAMED_MAX]) + (", …" if len(documents) > NAMED_MAX else "")
        lines.append(f"{severities[rank]:9}{code:34}{name:18}{times:>6} in {len(documents):<4} {shown}")
    lines += ["", *(f"{code}: {JUSTIFIED.get(code, 'not looked at')}" for code in sorted({code for rank, code, *_ in rows if severities[rank] in GRAVE}))]
    return "\n".join(lines) + "\n"


def unjustified(found: dict[str, Alarms]) -> list[str]:
    """The grave codes that JUSTIFIED does not explain."""
    return sorted({code for one in found.values() for code, severity in one.findings if severity in GRAVE and code not in JUSTIFIED})


def main(arguments: Sequence[str]) -> None:
    """Print the findings."""
    parser = Arguments("alarms", __doc__)
    parser.add_argument("data", type=Path, metavar="DIR", help="a folder laid out like clinical-dev")
    parser.add_argument("--all", action="store_true", help="minor findings and information, too")
    parser.json()
    asked = parser.parse_args(arguments)
    found = measured(asked.data)
    if asked.json:
        print(json.dumps(as_json(found), indent=2))
    else:
        print(as_text(found, SEVERITIES if asked.all else GRAVE), end="")
