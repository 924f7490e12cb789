"""Measures how far Touchstone's verdicts agree with labelled files: a folder of recorded verdicts and labels, format by format.

The folder is laid out as `fhir/{fhir-test-cases/validator, r4-examples, synthea, us-core-invariants, primitives}`, `hl7v2/` and `packages/`
(docs/agreement.md); parts that are absent are left out, and named.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from touchstone.ops.lab.agreement import hl7v2 as agreement_hl7v2
from touchstone.ops.lab.agreement import recorded as fhir_agreement
from touchstone.scorers.base import ConfigError
from touchstone.scorers.reporting.words import visible

#: Tables that there are for unseen cases, too.
_UNSEEN = {"fhir: official, self-contained": "own", "fhir: official, all": "all", "fhir: official, against profiles": "profiles"}
FHIR_PARTS = {
    "official cases": "fhir/fhir-test-cases/validator/manifest.json",
    "r4-examples": "fhir/r4-examples",
    "synthea": "fhir/synthea",
    "primitives": "fhir/primitives",
    "us-core-invariants": "fhir/us-core-invariants",
}


def measured(data: Path, say: Callable[[str], None] = lambda _: None, *, list_unseen: bool = False) -> dict[str, Any]:
    """Every table that the folder has data for, as JSON types. `list_unseen`: list the unseen cases that differ.

    Raises `ConfigError` for a folder that has none, or whose files cannot be read.
    """
    if not data.is_dir():
        raise ConfigError(f"{data}: {'not a folder' if data.exists() else 'no such folder'}; --data wants one with fhir/ or hl7v2/ in it")
    found: dict[str, Any] = {}
    try:
        if (data / "fhir").is_dir() and (fhir := fhir_agreement.measure(data / "fhir", say, list_unseen=list_unseen)):
            found["fhir"] = fhir
        if (data / "hl7v2").is_dir() and (hl7v2 := agreement_hl7v2.measure(data / "hl7v2", say)):
            found["hl7v2"] = hl7v2
    except OSError as error:
        raise ConfigError(f"{error.filename or data}: cannot be read ({error.strerror})") from None
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{data}: the labels (manifest, outcomes, package) are not of the known layout ({type(error).__name__})") from None
    if not found:
        raise ConfigError(f"{data}: neither FHIR nor HL7 v2 files are in it; it must hold fhir/{{{', '.join(FHIR_PARTS)}}} or hl7v2/")
    return found | {"absent": absent_parts(data, found)}


def absent_parts(data: Path, found: dict[str, Any]) -> list[str]:
    """The parts that were not measured because their data is missing."""
    missing = [f"fhir: {name}" for name, path in FHIR_PARTS.items() if not (data / path).exists()]
    if "us-core-invariants" not in found.get("fhir", {}) and (data / FHIR_PARTS["us-core-invariants"]).exists():
        missing.append("fhir: us-core-invariants (they need a US Core package below packages/, and PyYAML)")
    if "hl7v2" not in found:
        missing.append("hl7v2")
    elif "cases" not in found["hl7v2"]:
        missing.append("hl7v2: labelled files")
    return missing


def rows_of(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Table name → its figures, in the order in which they are shown."""
    rows: dict[str, dict[str, Any]] = {}
    for form, main in (("fhir", "fhir: official, self-contained"), ("hl7v2", "hl7v2: named by their file")):
        part = found.get(form, {})
        if "cases" in part:
            rows[main] = part
        for name, one in part.items():
            if isinstance(one, dict) and "cases" in one:
                rows[f"{form}: {fhir_agreement.NAMES.get(name, name)}"] = one
    return rows


def _figures(one: dict[str, Any]) -> str:
    """The cells of one tally."""
    rate = "–" if one["agreement"] is None else f"{one['agreement']:.1%}"
    alarms = f"{one['false_alarms']} of {one['valid']}"
    return f"{one['cases']:>7}{one['agree']:>7}{rate:>9}{alarms:>16}{one['missed']:>8}"


def as_text(found: dict[str, Any]) -> str:
    """The table, each disagreement, and the absent parts."""
    rows = rows_of(found)
    unseen = found.get("fhir", {}).get("unseen", {})
    head = f"{'cases':>7}{'agree':>7}{'rate':>9}{'false alarms':>16}{'missed':>8}"
    lines = [f"{'':34}{'development':>47}   {'never looked at':>47}"] if unseen else []
    lines.append(f"{'set':34}{head}{f'   {head}' if unseen else ''}")
    for name, one in rows.items():
        other = unseen.get(_UNSEEN.get(name, ""))
        lines.append(f"{name:34}{_figures(one)}{f'   {_figures(other)}' if other else ''}")
    if left_out := found.get("fhir", {}).get("left_out"):
        lines.append(f"official cases that are no FHIR R4 resource, left out: {len(left_out)}")
    npis = found.get("fhir", {}).get("synthea", {}).get("npis")
    if npis is not None:
        lines.append(f"Synthea's NPIs: {npis['malformed']} of {npis['identifiers']} malformed; flagged in {npis['flagged']} of {npis['files']} files")
    if unread := found.get("hl7v2", {}).get("unread"):
        lines.append(f"names that say no verdict: {', '.join(unread)}")
    if found["absent"]:
        lines.append(f"absent: {'; '.join(found['absent'])}")
    listed: set[str] = set()
    for name, one in (*rows.items(), *((f"never looked at, {name}", one) for name, one in unseen.items())):
        heading = f"{name}:"
        for each in one.get("disagreements", ()):
            ours = ", ".join(each["ours"]) or "nothing grave"
            official = f"; official: {each['official'][:110]!r}" if each.get("official") else ""
            line = f"  {each['case']}: {each['expected']}; ours: {ours}{official}"
            if line not in listed:  # a self-contained case is one of all cases, too
                listed.add(line)
                lines += [heading, line] if heading else [line]
                heading = ""
    return "\n".join(visible(line) for text in lines for line in text.split("\n")) + "\n"
