"""A generated Schematron file in the shape of HL7's, documents that use its templates, and mutants of documents."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

CDA: Final = "urn:hl7-org:v3"
#: Templates of the generated rule file, those that a generated document uses, and how many times each.
TEMPLATES: Final = 200
CARRIED: Final = 25
TIMES: Final = 3


def generated(folder: Path) -> tuple[Path, list[tuple[str, Any]]]:
    """A rule file, its codes beside it, and two documents."""
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
    namespaces = f'<sch:ns prefix="cda" uri="{CDA}"/><sch:ns prefix="voc" uri="http://www.lantanagroup.com/voc"/>'
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
    return f'<ClinicalDocument xmlns="{CDA}"><component><structuredBody>{body}</structuredBody></component></ClinicalDocument>'


def mutants(root: Any, number: int, rng: random.Random) -> Iterator[tuple[str, Any]]:
    """Mutated copies of a document, of each kind in turn."""
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
    candidates = list(root.iter(f"{{{CDA}}}templateId"))
    if len(candidates) > 1:
        one, other = rng.sample(candidates, 2)
        first, second = dict(one.attrib), dict(other.attrib)
        for element, attributes in ((one, second), (other, first)):
            element.attrib.clear()
            element.attrib.update(attributes)
    return len(candidates) > 1
