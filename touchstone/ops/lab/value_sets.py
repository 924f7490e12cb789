"""Count how far the membership in the value sets of FHIR packages and of C-CDA's rules is decided.

Counted are value sets that a package's own definitions bind as required or extensible. A set is decided by list (all its codes are known), by rule (the form
of a code, or a registry), by system (a code of another system is refused; of the system's codes only the form is checked), or not: then codes of the systems
that are at hand are still decided, and a code that is not decided is reported as not checked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from touchstone.ops.lab.bench.output import table
from touchstone.ops.lab.build.tables.fhir_package import read_package
from touchstone.ops.lab.command import Arguments, show
from touchstone.scorers.clinical.checks.json_access import Json, objects
from touchstone.scorers.clinical.formats.fhir.profiles.members import Members, Rule
from touchstone.scorers.clinical.formats.fhir.profiles.packages import Packages
from touchstone.scorers.clinical.formats.fhir.profiles.value_sets import ValueSets

_STRENGTHS: Final = {"required", "extensible"}
_IN_RULES: Final = re.compile(r"voc:system\[@valueSetOid='([0-9.]+)'\]")
_IN_VOCABULARY: Final = re.compile(r'<system [^>]*valueSetOid="([0-9.]+)"')
_HOST: Final = re.compile(r"https?://([^/\s]+)/")
CLASSES: Final = ("by list", "by rule", "by system", "not")


def bound_sets(package: dict[str, list[Json]]) -> Iterator[str]:
    """The canonical URLs of the value sets that a package's definitions bind."""
    for definition in package["StructureDefinition"]:
        for element in objects((definition.get("differential") or definition.get("snapshot") or {}).get("element")):
            binding = element.get("binding")
            if isinstance(binding, dict) and binding.get("strength") in _STRENGTHS and isinstance(binding.get("valueSet"), str):
                yield binding["valueSet"]


def decision(members: Members) -> str:
    """How membership in a value set is decided: one of CLASSES."""
    parts = list(members.parts())
    codes = [held for part in parts for held in part.systems.values()]
    if any(part.lacking for part in parts):
        return "not"
    return "by system" if None in codes else "by rule" if any(isinstance(held, Rule) for held in codes) else "by list"


def of_package(source: Path, beside: Sequence[Path]) -> dict[str, Any]:
    """Counts of one package, and system → value sets that lack it."""
    values = ValueSets(Packages((source, *beside)))
    counts, lacking = Counter[str](), Counter[str]()
    for url in sorted({one.partition("|")[0] for one in bound_sets(read_package(source))}):
        members = values.members(url)
        kind = decision(members)
        counts[kind] += 1
        if kind == "not":
            lacking.update({system or _absent(reason) for part in members.parts() for system, reason in part.lacking.items()})
        elif kind == "by system":
            lacking.update({f"{system} (its form only)" for part in members.parts() for system, codes in part.systems.items() if codes is None})
    return {"bound": counts.total(), **{kind: counts[kind] for kind in CLASSES}, "lacking": dict(lacking.most_common())}


def _absent(reason: str) -> str:
    """What lacks where no system is named: a value set, by the host of its URL."""
    host = _HOST.match(reason)
    return f"value sets of {host[1]} that no package at hand has" if host is not None else reason


def of_rules(rules: Path, vocabulary: Path) -> dict[str, Any]:
    """Counts of the value sets that a Schematron file of C-CDA asks for, which its vocabulary file lists or does not."""
    bound = set(_IN_RULES.findall(rules.read_text("utf-8")))
    listed = bound & set(_IN_VOCABULARY.findall(vocabulary.read_text("utf-8")))
    missing = {f"value set {oid}, which {vocabulary.name} does not list": 1 for oid in sorted(bound - listed)}
    return {"bound": len(bound), "by list": len(listed), "by rule": 0, "by system": 0, "not": len(missing), "lacking": missing}


def measure(packages: Sequence[Path], beside: Sequence[Path], rules: Path | None, vocabulary: Path | None) -> dict[str, Any]:
    """Name → counts, for every package and the rules."""
    found = {_name(one): of_package(one, beside) for one in packages}
    if rules is not None and vocabulary is not None:
        found[f"C-CDA ({rules.name})"] = of_rules(rules, vocabulary)
    return found


def _name(source: Path) -> str:
    return source.name.removesuffix(".tgz")


def as_text(found: dict[str, Any]) -> str:
    """The counts, and the systems that are lacking, most value sets first."""
    rows = [(name, *(str(one[key]) for key in ("bound", *CLASSES))) for name, one in found.items()]
    total = Counter[str]()
    for one in found.values():
        total.update(one["lacking"])
    lacking = [(system, str(times)) for system, times in total.most_common()]
    return "\n".join([*table(("", "bound", *CLASSES), rows), "", *table(("lacking", "value sets"), lacking), ""])


def main(arguments: Sequence[str]) -> None:
    """Print the tables, or JSON."""
    parser = Arguments("value-sets", __doc__)
    parser.add_argument("packages", type=Path, nargs="+", metavar="PACKAGE", help="a FHIR package: a .tgz file or a folder")
    parser.add_argument("--with", type=Path, action="append", default=[], dest="beside", metavar="PACKAGE", help="a package that these depend on")
    parser.add_argument("--rules", type=Path, metavar="FILE", help="a Schematron file of C-CDA, with --vocabulary")
    parser.add_argument("--vocabulary", type=Path, metavar="FILE", help="its voc.xml")
    parser.json()
    options = parser.parse_args(arguments)
    for path in (*options.packages, *options.beside, *filter(None, (options.rules, options.vocabulary))):
        if not path.exists():
            parser.error(f"{path} does not exist; give a package or file that is on this machine")
    if (options.rules is None) is not (options.vocabulary is None):
        parser.error("--rules and --vocabulary belong together")
    show(measure(options.packages, options.beside, options.rules, options.vocabulary), as_text, as_json=options.json)
