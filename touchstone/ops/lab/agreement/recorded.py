"""How far the FHIR validator agrees with the recorded verdicts of the official one, and with the labels of other corpora.

`measure(DIR)` expects a folder laid out like `fhir/` of the development data: `fhir-test-cases/validator/manifest.json` with its outcomes,
`r4-examples/`, `synthea/`, `us-core-invariants/`, `primitives/`, `../packages/`. Absent parts are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from touchstone.ops.lab.agreement.official import official_cases
from touchstone.ops.lab.agreement.tally import Tally
from touchstone.ops.lab.build.tables.fhir_package import read_package
from touchstone.scorers.clinical.formats.fhir import Options, validate
from touchstone.scorers.clinical.formats.fhir.profiles.us_core import profiles_stating

#: Tally → its name in the report, if that differs.
NAMES = {"all": "official, all", "profiles": "official, against profiles"}
NPI = re.compile(rb'"system"\s*:\s*"http://hl7.org/fhir/sid/us-npi"\s*,\s*"value"\s*:\s*"([^"]*)"')
NPI_MAJOR = frozenset({"identifiers.npi-form", "identifiers.npi-check-digit"})


def examples(folder: Path) -> Tally:
    """Return the agreement over files that are all valid."""
    tally = Tally()
    for path in sorted(folder.glob("*.json")):
        tally.count(path.name, True, validate(path.read_bytes(), options=Options(clinical=False)))
    return tally


def primitives(folder: Path) -> Tally:
    """Return the agreement over single primitive values: TYPE.valid.ndjson and TYPE.invalid.ndjson."""
    tally = Tally()
    for path in sorted(folder.glob("*.ndjson")):
        words = path.name.split(".")[0].split("_")
        kind = words[0].capitalize() + "".join(word.capitalize() for word in words[1:])
        for number, line in enumerate(path.read_text().splitlines()):
            if line.strip():
                # The corpus writes "no value" as null: in FHIR's JSON that is an absent value with an extension in its place.
                absent = "_value" + kind + '":{"extension":[{"url":"http://example.org/y","valueCode":"unknown"}]}'
                member = absent if line.strip() == "null" else "value" + kind + '":' + line
                if kind == "Xhtml":
                    # No element may be of this type but the text of a narrative.
                    text = '{"resourceType":"Basic","code":{"text":"x"},"text":{"status":"generated","div":' + line + "}}"
                    tally.count(f"{path.name}:{number + 1}", ".valid." in path.name, validate(text.encode(), options=Options(clinical=False)))
                    continue
                text = '{"resourceType":"Basic","code":{"text":"x"},"extension":[{"url":"http://example.org/x","' + member + "}]}"
                tally.count(f"{path.name}:{number + 1}", ".valid." in path.name, validate(text.encode(), options=Options(clinical=False)))
    return tally


def us_core(folder: Path, package: Path) -> Tally:
    """Return the agreement over files named KEY-NUMBER-fail.yml or -pass.yml: whether we say that the invariant KEY is broken.

    Each is validated against the profiles of the package, for its type, that state the invariant, or where this version of the package does not
    have it against those that state it in another version; files about an invariant that is not known are left out.
    """
    import yaml  # a development dependency; the caller looks for it

    profiles = read_package(package)["StructureDefinition"]
    tally = Tally()
    for path in sorted(folder.glob("*.yml")):
        key, expected = re.sub(r"-[fp]\d+-(fail|pass)$", "", path.stem), path.stem.endswith("-pass")
        resource = yaml.safe_load(path.read_text())
        kind = resource.get("resourceType")
        stating = tuple(str(one["url"]) for one in profiles if one["type"] == kind and key in _keys(one))
        stating = stating or tuple(url for of, url in profiles_stating(key) if of == kind)
        if not stating:
            continue
        options = Options(clinical=False, packages=(package,), installed_packages=False, profiles=stating)
        report = validate(json.dumps(resource, default=str).encode(), options=options)
        broken = any(finding.code == f"fhir.invariants.{key}" for finding in report.findings)
        tally.count(path.name, expected, report, ours=not broken)
    return tally


def _keys(definition: dict[str, Any]) -> set[str]:
    return {one["key"] for element in definition["snapshot"]["element"] for one in element.get("constraint", [])}


def npis(folder: Path) -> dict[str, Any]:
    """Return in how many files with NPIs the malformed ones are reported. Synthea's are too short or fail their check digit."""
    found: dict[str, Any] = {"files": 0, "flagged": 0, "identifiers": 0, "malformed": 0, "unflagged": []}
    for path in sorted(folder.glob("*.json")):
        numbers = NPI.findall(path.read_bytes())
        malformed = sum(is_malformed_npi(number.decode("utf-8", "replace")) for number in numbers)
        if not malformed:
            continue
        is_flagged = any(finding.code in NPI_MAJOR for finding in validate(path.read_bytes()).findings)
        found["files"] += 1
        found["flagged"] += is_flagged
        found["identifiers"] += len(numbers)
        found["malformed"] += malformed
        found["unflagged"] += [] if is_flagged else [path.name]
    return found


def is_malformed_npi(number: str) -> bool:
    """Return whether a number is not an NPI: ten digits whose Luhn sum, with 80840 before them, ends in 0. Written apart from the check that it judges."""
    if re.fullmatch(r"[0-9]{10}", number) is None:
        return True
    digits = [int(digit) for digit in reversed("80840" + number)]
    return (sum(digits[::2]) + sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2])) % 10 != 0


def us_core_package(folder: Path) -> Path | None:
    """Return the newest US Core package below a folder: us_core_610.tgz, hl7.fhir.us.core-6.1.0.tgz."""
    found = [path for path in folder.glob("*.tgz") if "us_core" in path.name or "us.core" in path.name]
    return max(found, key=lambda path: re.sub(r"\D", "", path.stem), default=None)


def measure(folder: Path, say: Callable[[str], None] = lambda _: None, *, list_unseen: bool = False) -> dict[str, Any]:
    """Return every tally that the folder has data for. `say` gets the name of each part. `list_unseen`: list the unseen cases that differ."""
    found: dict[str, Any] = {}
    official = folder / "fhir-test-cases" / "validator"
    if (official / "manifest.json").is_file():
        say("fhir: official cases")
        looked_at, unseen = official_cases(official, folder.parent / "packages")
        found = looked_at.own.as_json() | {"all": looked_at.every.as_json(), "profiles": looked_at.against.as_json()}
        found["left_out"] = looked_at.left_out + unseen.left_out
        if unseen.every.cases or unseen.against.cases:
            # Those that differ are listed only on request, because after that they are no longer unseen.
            tallies = {"own": unseen.own, "all": unseen.every, "profiles": unseen.against}
            found["unseen"] = {name: one.as_json() if list_unseen else one.counts() for name, one in tallies.items()}
    for name in ("r4-examples", "synthea"):
        if (folder / name).is_dir():
            say(f"fhir: {name}")
            found[name] = examples(folder / name).as_json()
    if "synthea" in found:
        found["synthea"]["npis"] = npis(folder / "synthea")
    if (folder / "primitives").is_dir():
        say("fhir: primitives")
        found["primitives"] = primitives(folder / "primitives").as_json()
    package = us_core_package(folder.parent / "packages")
    if (folder / "us-core-invariants").is_dir() and package is not None and find_spec("yaml") is not None:
        say("fhir: us-core-invariants")
        found["us-core-invariants"] = us_core(folder / "us-core-invariants", package).as_json()
    return found
