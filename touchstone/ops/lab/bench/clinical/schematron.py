"""The native Schematron engine beside lxml's XSLT route on the same documents: results and speed.

Without --rules and --data it uses a generated rule file in the shape of HL7's (a pattern of errors and one of warnings per template) and generated
documents; the published rule files are never shipped. Mutants are documents with an element removed, a code changed, children in another
order, or a template id swapped. Results are equal if every rule that fired and every failed assertion are, with element and text, in order.
Exits with 1 if a result differs.
"""

from __future__ import annotations

import json
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from touchstone.ops.lab.bench.clinical.made_ccda import CDA, generated, mutants
from touchstone.ops.lab.bench.clinical.xslt_route import Fired, Oracle, without_spaces
from touchstone.ops.lab.command import Arguments
from touchstone.scorers.clinical.formats.ccda.document import Document
from touchstone.scorers.clinical.formats.ccda.options import Options
from touchstone.scorers.clinical.formats.ccda.schematron.engine import Engine, load
from touchstone.scorers.clinical.report import Context, Report

ROUNDS: Final = 5


def ours(engine: Engine, root: Any) -> list[Fired]:
    """The rules that fire on a document by the native engine, in the same form."""
    return [
        (
            one.pattern.id,
            one.rule.context,
            [
                (without_spaces(it.test), f"@{one.attribute}" if one.attribute else one.element, without_spaces(engine.text(it, one.element, one.attribute)))
                for it in one.failed
            ],
        )
        for one in engine.fired(_document(root))
    ]


@dataclass(slots=True)
class Measured:
    """Documents and mutants compared, those that differed, and seconds of CPU time by both routes."""

    compared: int = 0
    different: list[str] = field(default_factory=list)
    fired: int = 0
    failed: int = 0
    xslt_s: list[float] = field(default_factory=list)
    ours_s: list[float] = field(default_factory=list)

    def add(self, name: str, wanted: list[Fired], got: list[Fired]) -> None:
        """Count one comparison."""
        self.compared += 1
        self.fired += len(wanted)
        self.failed += sum(len(failed) for _, _, failed in wanted)
        if got != wanted:
            self.different.append(name)

    @property
    def per_s(self) -> float:
        """Documents per second of the native engine."""
        return len(self.ours_s) / sum(self.ours_s) if self.ours_s else 0.0

    @property
    def over_xslt(self) -> float:
        """How many times as fast as XSLT."""
        return sum(self.xslt_s) / sum(self.ours_s) if self.ours_s else 0.0


def compare(rules: Path, documents: list[tuple[str, Any]], mutants_each: int, rounds: int = ROUNDS, *, whole: bool = True) -> Measured:
    """Compare both routes on documents and mutants of them; the documents themselves are timed.

    For mutants the XSLT is made of the patterns alone whose templates occur in the document: it takes seconds for each document otherwise. `whole`: False
    does the same for the documents themselves, which are then not timed.
    """
    engine, found, rng = load(rules), Measured(), random.Random(11)
    oracle = Oracle(rules) if whole else None
    for name, root in documents:
        if oracle is not None:
            begun = time.process_time()
            wanted = oracle.fired(root)
            found.xslt_s.append(time.process_time() - begun)
            found.add(name, wanted, ours(engine, root))
            found.ours_s.append(statistics.median(_timed(engine, root) for _ in range(rounds)))
        if mutants_each or oracle is None:
            part = Oracle(rules, engine.patterns(_document(root)))
            for kind, one in (*([("", root)] if oracle is None else []), *mutants(root, mutants_each, rng)):
                found.add(f"{name} {kind}".strip(), part.fired(one), ours(engine, one))
    return found


def _document(root: Any) -> Document:
    return Document(Report(), Context(), Options(seconds_max=3_600), root=root)


def _timed(engine: Engine, root: Any) -> float:
    begun = time.process_time()
    for _ in engine.fired(_document(root)):
        pass
    return time.process_time() - begun


def documents_of(folder: Path, number: int) -> list[tuple[str, Any]]:
    """Whole C-CDA documents below a folder, each content once."""
    from lxml import etree

    found: dict[bytes, tuple[str, Any]] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        data = path.read_bytes()
        if b"ClinicalDocument" not in data[:8_192]:
            continue
        try:
            root = etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True))
        except etree.XMLSyntaxError:
            continue
        if root.tag == f"{{{CDA}}}ClinicalDocument":
            found.setdefault(data, (path.name, root))
    return list(found.values())[:number]


def measure(rules: Path | None = None, data: Path | None = None, number: int = 1_000, mutants_each: int = 0, *, whole: bool = True) -> Measured:
    """The comparison on given files, or on generated ones."""
    if rules is not None and data is not None:
        return compare(rules, documents_of(data, number), mutants_each, whole=whole)
    with tempfile.TemporaryDirectory() as folder:
        made, documents = generated(Path(folder))
        return compare(made, documents, mutants_each)


def main(arguments: Sequence[str]) -> int:
    """Print the figures."""
    parser = Arguments("bench schematron", __doc__)
    parser.add_argument("--rules", type=Path, metavar="FILE", help="a Schematron file of C-CDA")
    parser.data("folder with C-CDA documents")
    parser.add_argument("--documents", type=int, default=1_000, help="at most this many documents (default 1,000)")
    parser.add_argument("--mutants", type=int, default=2, help="mutants of each document (default 2)")
    parser.add_argument("--quick", action="store_true", help="compare on the patterns whose templates occur, and time nothing")
    parser.json()
    asked = parser.parse_args(arguments)
    if (asked.rules is None) != (asked.data is None):
        parser.error("give --rules and --data, or neither")
    found = measure(asked.rules, asked.data, asked.documents, asked.mutants, whole=not asked.quick)
    if asked.json:
        print(json.dumps({"compared": found.compared, "different": found.different, "per_s": found.per_s, "over_xslt": found.over_xslt}))
        return 1 if found.different else 0
    equal = f"{found.compared - len(found.different)} of {found.compared} documents and mutants with identical results"
    print(f"{equal} ({found.fired:,} rules fired, {found.failed:,} assertions failed)")
    if found.ours_s:
        print(f"native {found.per_s:,.0f} documents/s, {found.over_xslt:,.0f} times lxml's XSLT route")
    for name in found.different:
        print(f"different: {name}")
    return 1 if found.different else 0
