"""The Schematron route of lxml: the XSLT that the ISO skeleton makes of a rule file, and what fires on a document by it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

_SCH: Final = "{http://purl.oclc.org/dsdl/schematron}"
_SVRL: Final = "{http://purl.oclc.org/dsdl/svrl}"

#: One rule that fired: pattern, context, and the failed assertions: test, place (an element, or @ and an attribute's name), text.
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
        """Keep only some patterns, and the abstract rules that they extend: each pattern costs the XSLT a walk over the document."""
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
        """The rules that fire on a document, in the order of the SVRL."""
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
                found[-1][2].append((without_spaces(one.get("test", "")), places[at], without_spaces("".join(one.itertext()))))
        return found


def without_spaces(text: str) -> str:
    """A text without spaces: XSLT writes line ends in attributes as spaces, and drops those between two values that a text quotes."""
    return "".join(text.split())
