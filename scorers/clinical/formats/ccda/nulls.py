"""nullFlavor: known codes, and no value beside one; codes that say nothing at all."""

from __future__ import annotations

from typing import Final

from touchstone.scorers.clinical.formats.ccda.document import Document
from touchstone.scorers.clinical.formats.ccda.tree import kind, local

#: HL7 v3 NullFlavor. CDA's schema lists those of 2005; the last three are later.
NULL_FLAVORS: Final = frozenset({"NI", "INV", "DER", "OTH", "NINF", "PINF", "UNC", "MSK", "NA", "UNK", "ASKU", "NAV", "NASK", "NAVU", "QS", "TRC", "NP"})
_CODED: Final = frozenset({"CD", "CE", "CV", "CS", "CO"})


def check_nulls(document: Document) -> None:
    """Every nullFlavor, and every code without content."""
    report = document.report
    for element in document.elements:
        flavor = element.get("nullFlavor")
        if flavor is not None:
            report.fired("nulls")
            if flavor not in NULL_FLAVORS:
                listed = "NI, UNK, NA, ASKU, NAV, NASK, MSK, OTH, ..."
                document.say("major", "ccda.nulls.code", element, f"no nullFlavor of HL7 v3 ({listed})", value=flavor, at="nullFlavor")
            elif (name := _contradicts(element.get("code"), element.get("value"))) and local(element) != "reference":
                document.say("minor", "ccda.nulls.contradiction", element, f"has {name} and says by nullFlavor that it has none", suggestion="Keep one of both")
        elif (local(element) == "code" or (local(element) == "value" and kind(element) in _CODED)) and not len(element) and not _says(element.attrib):
            report.fired("nulls")
            document.say(
                "minor", "ccda.nulls.empty", element, "says nothing: no code, no original text, no nullFlavor", suggestion='Add a code, or nullFlavor="UNK"'
            )


def _contradicts(code: str | None, value: str | None) -> str:
    return "a code" if code is not None else "a value" if value is not None else ""


def _says(attributes: object) -> bool:
    get = getattr(attributes, "get", None)
    return get is not None and any(get(name) for name in ("code", "displayName", "nullFlavor", "valueSet"))
