"""`python -m touchstone.ops.lab.bench.ccda`: compares the native Schematron engine with lxml's XSLT route on the same documents: results and speed.

Without `--rules` and `--data` it makes a rule file in the shape of HL7's (a pattern of errors and one of warnings per template) and documents that carry
its templates; the published rule files are never shipped. Mutants are documents with an element removed, a code changed, children in another order, or
a template id swapped. Equality is of whole lists: every rule that fired, every assertion that failed, with its element and text, in order.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from touchstone.scorers.clinical.formats.ccda.document import Document
from touchstone.scorers.clinical.formats.ccda.options import Options
from touchstone.scorers.clinical.formats.ccda.schematron.engine import Engine, load
from touchstone.scorers.clinical.report import Context, Report

_SCH: Final = "{http://purl.oclc.org/dsdl/schematron}"
_SVRL: Final = "{http://purl.oclc.org/dsdl/svrl}"
_CDA: Final = "urn:hl7-org:v3"
#: Templates of the generated rule file, those that a generated document carries, and how many times each.
TEMPLATES: Final = 200
CARRIED: Final = 25
TIMES: Final = 3
ROUNDS: Final = 5

#: One rule that fired: pattern, context, and what failed: test, place (an element, or @ and an attribute's name), text.
Fired = tuple[str, str, list[tuple[str, Any, str]]]


class Oracle:
    """The XSLT that the ISO skeleton makes of a rule file. `keep`: only these patterns."""

    def __init__(self, path: Path, keep: frozenset[str] | None = None) -> None:
        from lxml import etree, isoschematron

        folder = Path(isoschematron.__file__).parent / "resources" / "xsl" / "iso-schematron-xslt1"
        schema = etree.parse(str(path))
        root = schema.getroot()
        if keep is not None:
            self._keep(root, keep)
        left = {pattern.get("id") for pattern in root.findall(_SCH + "pattern")}
        # The skeleton refuses phases that name patterns which are not there.
        for active in list(root.iter(_SCH + "active")):
            if active.get("pattern") not in left:
                active.getparent().remove(active)
        made = schema
        for name in ("iso_dsdl_include", "iso_abstract_expand", "iso_svrl_for_xslt1"):
            made = etree.XSLT(etree.parse(str(folder / f"{name}.xsl")))(made)
        # document('voc.xml') is looked for beside the stylesheet.
        self._xslt = etree.XSLT(etree.fromstring(etree.tostring(made), base_url=str(path.parent / "compiled.xsl")))

    @staticmethod
    def _keep(root: Any, keep: frozenset[str]) -> None:
        """Leave some patterns alone, and of others the abstract rules that those extend: each pattern costs the XSLT a walk over the document."""
        patterns = root.findall(_SCH + "pattern")
        abstract: dict[str | None, list[Any]] = {}
        for rule in root.iter(_SCH + "rule"):
            if rule.get("abstract") == "true":
                abstract.setdefault(rule.get("id"), []).append(rule)
        needed: set[Any] = set()
        left = [one for one in patterns if one.get("id") in keep or one.get("abstract") == "true"]
        while left:
            for extends in left.pop().iter(_SCH + "extends"):
                fresh = [one for one in abstract.get(extends.get("rule"), ()) if one not in needed]
                needed.update(fresh)
                left += fresh
        for pattern in patterns:
            if pattern.get("id") in keep or pattern.get("abstract") == "true":
                continue
            for rule in [one for one in pattern if one not in needed]:
                pattern.remove(rule)
            if not len(pattern):
                root.remove(pattern)

    def fired(self, root: Any) -> list[Fired]:
        """What fires on a document, in the order of the SVRL."""
        found: list[Fired] = []
        pattern, places = "", dict[str, Any]()
        for one in self._xslt(root).getroot():
            if one.tag == _SVRL + "active-pattern":
                pattern = one.get("id", "")
            elif one.tag == _SVRL + "fired-rule":
                found.append((pattern, one.get("context"), []))
            elif one.tag in {_SVRL + "failed-assert", _SVRL + "successful-report"}:
                at = one.get("location")
                if at not in places:  # of an attribute it gives the name alone
                    places[at] = at[1:] if at.startswith("/@") else root.xpath(at)[0]
                found[-1][2].append((_words(one.get("test", "")), places[at], _words("".join(one.itertext()))))
        return found


def _words(text: str) -> str:
    """A text without spaces: XSLT writes line ends in attributes as spaces, and drops those between two values that a text quotes."""
    return "".join(text.split())


def ours(engine: Engine, root: Any) -> list[Fired]:
    """What fires on a document by the native engine, in the same form."""
    return [
        (
            one.pattern.id,
            one.rule.context,
            [
                (_words(it.test), f"@{one.attribute}" if one.attribute else one.element, _words(engine.text(it, one.element, one.attribute)))
                for it in one.failed
            ],
        )
        for one in engine.fired(_of(root))
    ]


def evaluated(engine: Engine, root: Any) -> int:
    """Evaluate all rules as the validator does; how many assertions failed."""
    return sum(len(one.failed) for one in engine.fired(_of(root)))


def mutants(root: Any, number: int, rng: random.Random) -> Iterator[tuple[str, Any]]:
    """Mutated copies of a document, by turns of each kind."""
    kinds: tuple[Callable[[Any, random.Random], bool], ...] = (_removed, _recoded, _reordered, _swapped)
    for count in range(number):
        copied, mutate = copy.deepcopy(root), kinds[count % len(kinds)]
        if mutate(copied, rng):
            yield mutate.__name__.strip("_"), copied


def _removed(root: Any, rng: random.Random) -> bool:
    candidates = [one for one in root.iter("*") if one.getparent() is not None]
    one = rng.choice(candidates)
    one.getparent().remove(one)
    return True


def _recoded(root: Any, rng: random.Random) -> bool:
    candidates = [one for one in root.iter("*") if one.get("code") is not None]
    if candidates:
        rng.choice(candidates).set("code", "X-1")
    return bool(candidates)


def _reordered(root: Any, rng: random.Random) -> bool:
    candidates = [one for one in root.iter("*") if len(one) > 1]
    if candidates:
        one = rng.choice(candidates)
        one.insert(0, one[-1])
    return bool(candidates)


def _swapped(root: Any, rng: random.Random) -> bool:
    candidates = list(root.iter(f"{{{_CDA}}}templateId"))
    if len(candidates) > 1:
        one, other = rng.sample(candidates, 2)
        first, second = dict(one.attrib), dict(other.attrib)
        for element, attributes in ((one, second), (other, first)):
            element.attrib.clear()
            element.attrib.update(attributes)
    return len(candidates) > 1


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
            part = Oracle(rules, engine.patterns(_of(root)))
            for kind, one in (*([("", root)] if oracle is None else []), *mutants(root, mutants_each, rng)):
                found.add(f"{name} {kind}".strip(), part.fired(one), ours(engine, one))
    return found


def _of(root: Any) -> Document:
    return Document(Report(), Context(), Options(seconds_max=3_600), root=root)


def _timed(engine: Engine, root: Any) -> float:
    begun = time.process_time()
    evaluated(engine, root)
    return time.process_time() - begun


def documents_of(folder: Path, number: int) -> list[tuple[str, Any]]:
    """Whole C-CDA documents below a folder, the first of each content."""
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
        if root.tag == f"{{{_CDA}}}ClinicalDocument":
            found.setdefault(data, (path.name, root))
    return list(found.values())[:number]


def generated(folder: Path) -> tuple[Path, list[tuple[str, Any]]]:
    """A rule file in the shape of HL7's, its codes beside it, and documents that carry its templates."""
    from lxml import etree

    codes = "".join(f'<code value="C{number}"/>' for number in range(50))
    (folder / "voc.xml").write_text(f'<systems xmlns="http://www.lantanagroup.com/voc"><system valueSetOid="1.2.3">{codes}</system></systems>')
    rules = folder / "generated.sch"
    rules.write_text(_rule_file(), encoding="utf-8")
    rng = random.Random(5)
    return rules, [(f"generated-{number}", etree.fromstring(_document(rng))) for number in range(2)]


def _rule_file() -> str:
    active: dict[str, list[str]] = {"errors": [], "warnings": []}
    patterns = []
    for number in range(TEMPLATES):
        root = f"2.16.840.1.113883.10.20.22.4.{1_000 + number}"
        for phase, named in active.items():
            name = f"p-{number}-{phase}"
            named.append(f'<sch:active pattern="{name}"/>')
            tests = [
                "count(cda:id) &gt; 0",
                "count(cda:code)=1",
                "count(cda:statusCode)=1",
                f"count(cda:templateId[@root='{root}'][@extension='2015-08-01'])=1",
                "not(cda:effectiveTime) or cda:effectiveTime[count(cda:low)=1]",
                "cda:code[@code=document('voc.xml')/voc:systems/voc:system[@valueSetOid='1.2.3']/voc:code/@value]",
                "count(cda:entryRelationship[@typeCode='SUBJ'][count(cda:observation)=1]) &gt; 0" if phase == "warnings" else "@classCode='OBS'",
            ]
            asserts = "".join(f'<sch:assert id="a-{number}-{place}" test="{test}">SHALL {place}</sch:assert>' for place, test in enumerate(tests))
            patterns.append(
                f'<sch:pattern id="{name}"><sch:rule id="{name}-abstract" abstract="true">{asserts}</sch:rule>'
                f"<sch:rule context=\"cda:observation[cda:templateId[@root='{root}' and @extension='2015-08-01']]\">"
                f'<sch:extends rule="{name}-abstract"/></sch:rule></sch:pattern>'
            )
    phases = "".join(f'<sch:phase id="{phase}">{"".join(every)}</sch:phase>' for phase, every in active.items())
    namespaces = f'<sch:ns prefix="cda" uri="{_CDA}"/><sch:ns prefix="voc" uri="http://www.lantanagroup.com/voc"/>'
    return f'<sch:schema xmlns:sch="http://purl.oclc.org/dsdl/schematron">{namespaces}{phases}{"".join(patterns)}</sch:schema>'


def _document(rng: random.Random) -> str:
    entries = []
    for number in rng.sample(range(TEMPLATES), CARRIED):
        for _ in range(TIMES):
            low = "<low value='2020'/>" if rng.random() < 0.8 else ""
            entries.append(
                f'<entry><observation classCode="OBS" moodCode="EVN"><templateId root="2.16.840.1.113883.10.20.22.4.{1_000 + number}" extension="2015-08-01"/>'
                f'<id root="1.2.3"/><code code="C{rng.randint(0, 60)}"/><text>{"<content>Words of a narrative.</content>" * 5}</text>'
                f"<effectiveTime>{low}</effectiveTime><author><time/><assignedAuthor><id/><addr/><telecom/></assignedAuthor></author></observation></entry>"
            )
    body = f"<component><section>{''.join(entries)}</section></component>"
    return f'<ClinicalDocument xmlns="{_CDA}"><component><structuredBody>{body}</structuredBody></component></ClinicalDocument>'


def measure(rules: Path | None = None, data: Path | None = None, number: int = 1_000, mutants_each: int = 0, *, whole: bool = True) -> Measured:
    """The comparison on given files, or on generated ones."""
    if rules is not None and data is not None:
        return compare(rules, documents_of(data, number), mutants_each, whole=whole)
    with tempfile.TemporaryDirectory() as folder:
        made, documents = generated(Path(folder))
        return compare(made, documents, mutants_each)


def main(arguments: list[str] | None = None) -> int:
    """Print the figures; 1 where a result differs."""
    parser = argparse.ArgumentParser(prog="python -m touchstone.ops.lab.bench.ccda", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rules", type=Path, help="a Schematron file of C-CDA")
    parser.add_argument("--data", type=Path, help="a folder with C-CDA documents")
    parser.add_argument("--documents", type=int, default=1_000, help="at most so many")
    parser.add_argument("--mutants", type=int, default=2, help="of each document")
    parser.add_argument("--quick", action="store_true", help="compare on the patterns whose templates occur, and time nothing")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    if (options.rules is None) != (options.data is None):
        parser.error("give --rules and --data, or neither")
    found = measure(options.rules, options.data, options.documents, options.mutants, whole=not options.quick)
    if options.json:
        sys.stdout.write(json.dumps({"compared": found.compared, "different": found.different, "per_s": found.per_s, "over_xslt": found.over_xslt}) + "\n")
    else:
        sys.stdout.write(
            f"{found.compared - len(found.different)} of {found.compared} documents and mutants with identical results "
            f"({found.fired:,} rules fired, {found.failed:,} assertions failed)\n"
        )
        if found.ours_s:
            sys.stdout.write(f"native {found.per_s:,.0f} documents/s, {found.over_xslt:,.0f} times lxml's XSLT route\n")
        for name in found.different:
            sys.stdout.write(f"different: {name}\n")
    return 1 if found.different else 0


if __name__ == "__main__":
    raise SystemExit(main())
