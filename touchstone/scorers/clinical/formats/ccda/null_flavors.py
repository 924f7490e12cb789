"""nullFlavor: known codes, no value beside one, and no empty codes."""

from __future__ import annotations

from typing import Any, Final

from touchstone.scorers.clinical.formats.ccda.document import Document
from touchstone.scorers.clinical.formats.ccda.elements import child, is_null, kind, local

#: HL7 v3 NullFlavor. CDA's schema lists those of 2005; the last three are newer.
NULL_FLAVORS: Final = frozenset({"NI", "INV", "DER", "OTH", "NINF", "PINF", "UNC", "MSK", "NA", "UNK", "ASKU", "NAV", "NASK", "NAVU", "QS", "TRC", "NP"})
#: Elements whose code C-CDA requires, and elements that have nothing but a code.
_GRAVE: Final = frozenset({"statusCode", "administrativeGenderCode"})
_CODES: Final = frozenset({"code", "raceCode", "ethnicGroupCode", "maritalStatusCode", "languageCode", "confidentialityCode", "realmCode"}) | _GRAVE
#: The value of an observation may hold a code too, by its type.
_MAY_BE_EMPTY: Final = _CODES | {"value"}
_CODED: Final = frozenset({"CD", "CE", "CV", "CS", "CO"})


def check_nulls(document: Document) -> None:
    """Check every nullFlavor, and every code without content."""
    report = document.report
    if document.root.get("nullFlavor") is not None:
        document.add("major", "ccda.nulls.document", document.root, "a document that is there cannot be null", at="nullFlavor")
    time = child(document.root, "effectiveTime")
    if time is not None and is_null(time):
        document.add("minor", "ccda.nulls.document", time, "when a document was written is known: it cannot be null", at="nullFlavor")
    for element, name in document.select(_MAY_BE_EMPTY, "nullFlavor"):
        flavor = element.get("nullFlavor")
        if flavor is not None:
            report.fired("nulls")
            if flavor not in NULL_FLAVORS:
                listed = "NI, UNK, NA, ASKU, NAV, NASK, MSK, OTH, ..."
                document.add("major", "ccda.nulls.code", element, f"no nullFlavor of HL7 v3 ({listed})", value=flavor, at="nullFlavor")
            elif (held := _contradicts(element.get("code"), element.get("value"))) and not _may_hold_both(element, flavor):
                document.add("minor", "ccda.nulls.contradiction", element, f"has {held} and says by nullFlavor that it has none", suggestion="Keep one of both")
        elif (name in _CODES or kind(element) in _CODED) and not len(element) and not _says(element.attrib):
            report.fired("nulls")
            document.add(
                "major" if name in _GRAVE else "minor",
                "ccda.nulls.empty",
                element,
                "says nothing: no code, no original text, no nullFlavor",
                suggestion='Add a code, or nullFlavor="UNK"',
            )


def _may_hold_both(element: Any, flavor: str) -> bool:
    """True for a reference to something without a value, and for a translation with a unit that UCUM does not have."""
    name = local(element)
    return name == "reference" or (name == "translation" and flavor == "OTH")


def _contradicts(code: str | None, value: str | None) -> str:
    return "a code" if code is not None else "a value" if value is not None else ""


def _says(attributes: object) -> bool:
    get = getattr(attributes, "get", None)
    return get is not None and any(get(name) for name in ("code", "displayName", "nullFlavor", "valueSet"))
